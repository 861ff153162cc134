package webhook_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/settleonce/settleonce/fingerprint"
	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/outbox/webhook"
	"github.com/settleonce/settleonce/receipt"
	"github.com/settleonce/settleonce/receipt/receipttest"
	"github.com/settleonce/settleonce/settle"
	"github.com/settleonce/settleonce/settle/settlehttp"
)

type acceptedBet struct {
	Wallet string `json:"wallet"`
	Stake  int    `json:"stake"`
}

func betSchema() fingerprint.Schema { return fingerprint.Schema{Name: "bet.accepted", Version: 1} }

// newProjection returns the receiver's end: it adds each bet's stake to its
// wallet's turnover, once. In production the store is a pgstore.Store and not
// the fake.
func newProjection(turnover *receipttest.Memory[int], key webhook.SignatureKey) (*settlehttp.Handler, error) {
	store, err := receipttest.New(receipttest.Config[*receipttest.MemoryTx[int]]{World: turnover})
	if err != nil {
		return nil, err
	}
	runner, err := settle.New(settle.Config[*receipttest.MemoryTx[int]]{Store: store})
	if err != nil {
		return nil, err
	}
	verifier, err := webhook.NewVerifier(webhook.VerifierConfig{
		Keys: []webhook.VerifierKey{{Tenant: "book", Key: key}},
	})
	if err != nil {
		return nil, err
	}
	return settlehttp.NewHandler(settlehttp.HandlerConfig{
		Authenticate: verifier.Authenticate,
		Settle: func(ctx context.Context, e event.Event) (receipt.Receipt, error) {
			var bet acceptedBet
			if err := json.Unmarshal(e.Data, &bet); err != nil {
				return receipt.Receipt{}, settle.Refuse("malformed-bet", "data is no bet: %v", err)
			}
			if e.Fingerprint.Schema() != betSchema() {
				return receipt.Receipt{}, receipt.ErrSchemaVersion // A newer build may know it.
			}
			sum, err := fingerprint.Of(betSchema(), bet)
			if err != nil {
				return receipt.Receipt{}, err
			}
			if sum != e.Fingerprint {
				return receipt.Receipt{}, settle.Refuse("fingerprint", "the fingerprint is not the data's")
			}
			request := settle.Request{Key: e.Key, Kind: settle.Settled, Fingerprint: sum}
			decided, err := settle.Do(ctx, runner, request,
				func(_ context.Context, a *settle.Attempt[*receipttest.MemoryTx[int]]) (int, error) {
					before, _, err := a.Tx().Get(bet.Wallet)
					if err != nil {
						return 0, err
					}
					return before + bet.Stake, a.Tx().Set(bet.Wallet, before+bet.Stake)
				})
			return decided.Receipt, err
		},
	})
}

func accepted(tenant, id string, bet acceptedBet) event.Event {
	data, err := json.Marshal(bet)
	if err != nil {
		panic(err)
	}
	sum, err := fingerprint.Of(betSchema(), bet)
	if err != nil {
		panic(err)
	}
	return event.Event{
		ID: receipt.NewID(), Source: "/sportsbook", Type: "bet.accepted", Data: data, Fingerprint: sum,
		Key:         receipt.Key{Tenant: tenant, Scope: "turnover", Operation: "count", ID: id},
		OrderingKey: bet.Wallet,
	}
}

// Between services of one's own, a webhook carries the receiver's receipt back:
// the record leaves the outbox only once the receiver's effect is committed.
func ExampleSender() {
	key, err := webhook.ParseSignatureKey("whsec_c2V0dGxlb25jZS10ZXN0LXNlY3JldC0zMi1ieXRlcy4=")
	if err != nil {
		panic(err)
	}
	var turnover receipttest.Memory[int]
	projection, err := newProjection(&turnover, key)
	if err != nil {
		panic(err)
	}
	server := httptest.NewTLSServer(projection)
	defer server.Close()

	sender, err := webhook.NewSender(webhook.Config{
		Endpoints: []webhook.Endpoint{{
			Name:                 "projection",
			URL:                  server.URL,
			AllowPrivateNetworks: true, // The server is on this host.
			Keys:                 []webhook.SignatureKey{key},
			Proof:                webhook.ProofReceipt,
		}},
		TLS: trusting(server),
	})
	if err != nil {
		panic(err)
	}

	for _, e := range []event.Event{
		accepted("book", "bet-7", acceptedBet{Wallet: "alice", Stake: 25}),
		accepted("book", "bet-7", acceptedBet{Wallet: "alice", Stake: 25}),
		accepted("book", "bet-7", acceptedBet{Wallet: "alice", Stake: 99}),
		accepted("other", "bet-8", acceptedBet{Wallet: "alice", Stake: 25}),
	} {
		// A relay makes this call, and takes the record out of its source.
		answer := sender.Send(context.Background(), []event.Event{e})[0]
		switch described, ok := errors.AsType[*settlehttp.AnswerError](answer.Err); {
		case ok:
			fmt.Println("kept:", described.Problem.Title)
		case answer.Err != nil:
			fmt.Println("kept:", answer.Err)
		case answer.Ack.Kind == outbox.AckReceipt:
			fmt.Println("receipt for", answer.Ack.Key)
		case answer.Ack.Kind == outbox.AckRefusal:
			fmt.Printf("set aside: %.20s\n", answer.Ack.Reason)
		}
	}
	staked, _ := turnover.Get("alice")
	fmt.Println("turnover of alice:", staked)
	// Output:
	// receipt for book/turnover/count/bet-7
	// receipt for book/turnover/count/bet-7
	// set aside: fingerprint-mismatch
	// kept: The key is not the authenticated tenant's
	// turnover of alice: 25
}

func trusting(server *httptest.Server) *tls.Config {
	return server.Client().Transport.(*http.Transport).TLSClientConfig
}
