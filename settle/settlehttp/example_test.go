package settlehttp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"

	"github.com/settleonce/settleonce/fingerprint"
	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/receipt"
	"github.com/settleonce/settleonce/receipt/receipttest"
	"github.com/settleonce/settleonce/settle"
	"github.com/settleonce/settleonce/settle/settlehttp"
)

type result struct {
	Winner string `json:"winner"`
}

func resultSchema() fingerprint.Schema { return fingerprint.Schema{Name: "match.result", Version: 1} }

// newReceiver returns the receiver's end: a handler around settle.Do. In
// production the store is a pgstore.Store and not the fake.
func newReceiver(ratings *receipttest.Memory[int], secret []byte) (*settlehttp.Handler, error) {
	store, err := receipttest.New(receipttest.Config[*receipttest.MemoryTx[int]]{World: ratings})
	if err != nil {
		return nil, err
	}
	runner, err := settle.New(settle.Config[*receipttest.MemoryTx[int]]{Store: store})
	if err != nil {
		return nil, err
	}
	authenticate, err := settlehttp.NewHMACAuthenticate(settlehttp.HMACAuthenticateConfig{
		Keys: []settlehttp.HMACKey{{ID: "battle-7", Tenant: "arena", Secret: secret}},
	})
	if err != nil {
		return nil, err
	}
	return settlehttp.NewHandler(settlehttp.HandlerConfig{
		Authenticate: authenticate,
		Settle: func(ctx context.Context, e event.Event) (receipt.Receipt, error) {
			var finished result
			if err := json.Unmarshal(e.Data, &finished); err != nil {
				return receipt.Receipt{}, settle.Refuse("malformed-result", "data is no result: %v", err)
			}
			if e.Fingerprint.Schema() != resultSchema() {
				return receipt.Receipt{}, receipt.ErrSchemaVersion // A newer build may know it.
			}
			sum, err := fingerprint.Of(resultSchema(), finished)
			if err != nil {
				return receipt.Receipt{}, err
			}
			if sum != e.Fingerprint {
				return receipt.Receipt{}, settle.Refuse("fingerprint", "the fingerprint is not the data's")
			}
			request := settle.Request{Key: e.Key, Kind: settle.Settled, Fingerprint: sum}
			decided, err := settle.Do(ctx, runner, request,
				func(_ context.Context, a *settle.Attempt[*receipttest.MemoryTx[int]]) (int, error) {
					rating, known, err := a.Tx().Get(finished.Winner)
					if err != nil {
						return 0, err
					}
					if !known {
						return 0, settle.Refuse("unknown-player", "no player %s is known here", finished.Winner)
					}
					return rating + 16, a.Tx().Set(finished.Winner, rating+16)
				})
			return decided.Receipt, err
		},
	})
}

// newBattleNode returns the sender's end. An outbox's relay calls it.
func newBattleNode(url string, secret []byte) (*settlehttp.Sender, error) {
	sign, err := settlehttp.NewHMACSign(settlehttp.HMACSignConfig{KeyID: "battle-7", Secret: secret})
	if err != nil {
		return nil, err
	}
	return settlehttp.NewSender(settlehttp.SenderConfig{URL: url, Sign: sign})
}

func finished(tenant, match, winner string) event.Event {
	r := result{winner}
	data, err := json.Marshal(r)
	if err != nil {
		panic(err)
	}
	sum, err := fingerprint.Of(resultSchema(), r)
	if err != nil {
		panic(err)
	}
	return event.Event{
		ID: receipt.NewID(), Source: "/battle-7", Type: "match.finished", Data: data, Fingerprint: sum,
		Key: receipt.Key{Tenant: tenant, Scope: "match", Operation: "settle", ID: match},
	}
}

func enrol(ratings *receipttest.Memory[int], players ...string) {
	tx := ratings.Begin()
	for _, player := range players {
		if err := tx.Set(player, 1500); err != nil {
			panic(err)
		}
	}
	if err := ratings.Commit(tx); err != nil {
		panic(err)
	}
}

// Both ends of a delivery: the same event twice, other content under its key,
// a player nobody knows, and a key of another tenant.
func Example() {
	secret := bytes.Repeat([]byte("s"), settlehttp.MinHMACSecret) // from your secret store
	ratings := new(receipttest.Memory[int])
	enrol(ratings, "alice", "bob")
	handler, err := newReceiver(ratings, secret)
	if err != nil {
		panic(err)
	}
	server := httptest.NewServer(handler)
	defer server.Close()
	sender, err := newBattleNode(server.URL, secret)
	if err != nil {
		panic(err)
	}

	for _, e := range []event.Event{
		finished("arena", "1", "alice"),
		finished("arena", "1", "alice"),
		finished("arena", "1", "bob"),
		finished("arena", "2", "zoe"),
		finished("shop", "3", "alice"),
	} {
		answer := sender.Send(context.Background(), []event.Event{e})[0]
		switch described, ok := errors.AsType[*settlehttp.AnswerError](answer.Err); {
		case ok:
			fmt.Println("kept:", described.Problem.Title)
		case answer.Err != nil:
			fmt.Println("kept:", answer.Err)
		case answer.Ack.Kind == outbox.AckReceipt:
			fmt.Println("receipt for", answer.Ack.Key)
		case answer.Ack.Kind == outbox.AckRefusal:
			fmt.Printf("set aside: %.60s\n", answer.Ack.Reason)
		}
	}
	rating, _ := ratings.Get("alice")
	fmt.Println("alice:", rating)
	// Output:
	// receipt for arena/match/settle/1
	// receipt for arena/match/settle/1
	// set aside: fingerprint-mismatch: receipt: conflict on key arena/match/s
	// set aside: unknown-player: no player zoe is known here
	// kept: The key is not the authenticated tenant's
	// alice: 1516
}
