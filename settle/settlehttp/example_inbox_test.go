package settlehttp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"sync"

	"github.com/settleonce/settleonce/fingerprint"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/receipt"
	"github.com/settleonce/settleonce/receipt/receipttest"
	"github.com/settleonce/settleonce/settle"
	"github.com/settleonce/settleonce/settle/settlehttp"
)

// order is what a shop tells of an order.
type order struct {
	Customer string `json:"customer"`
	State    string `json:"state"`
	Total    int    `json:"total"`
}

func orderSchema() fingerprint.Schema { return fingerprint.Schema{Name: "shop.order", Version: 1} }

// statistics consumes what shops tell. It is a settle.Runner in a database of its
// own, and beside that a cache, in which no receipt can be written.
type statistics struct {
	runner *settle.Runner[*receipttest.MemoryTx[int]]
	mu     sync.Mutex
	cache  map[string]cached
}

// show keeps a customer's newest state.
func (s *statistics) show(customer string, newest cached) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if newest.position > s.cache[customer].position {
		s.cache[customer] = newest
	}
}

// cached is the newest state of a customer's orders, and the position of the event
// that told it.
type cached struct {
	state    string
	position int64
}

// take is for HandlerConfig.Settle.
func (s *statistics) take(ctx context.Context, e event.Event) (receipt.Receipt, error) {
	var told order
	if err := json.Unmarshal(e.Data, &told); err != nil {
		return receipt.Receipt{}, settle.Refuse("malformed-order", "data is no order: %v", err)
	}
	if e.Fingerprint.Schema() != orderSchema() {
		return receipt.Receipt{}, receipt.ErrSchemaVersion // A newer build may know it.
	}
	sum, err := fingerprint.Of(orderSchema(), told)
	if err != nil {
		return receipt.Receipt{}, err
	}
	if sum != e.Fingerprint {
		return receipt.Receipt{}, settle.Refuse("fingerprint", "the fingerprint is not the data's")
	}
	request := settle.Request{Key: e.Key, Kind: settle.Settled, Fingerprint: sum, OrderingKey: e.OrderingKey}
	taken, err := settle.Do(ctx, s.runner, request,
		func(_ context.Context, a *settle.Attempt[*receipttest.MemoryTx[int]]) (int, error) {
			sum, _, err := a.Tx().Get(told.Customer)
			if err != nil {
				return 0, err
			}
			return sum + told.Total, a.Tx().Set(told.Customer, sum+told.Total)
		})
	if err != nil {
		return taken.Receipt, err
	}
	s.show(told.Customer, cached{told.State, e.Position}) // at replays too: a crash may have come between
	return taken.Receipt, nil
}

// tells returns what a shop's outbox hands out. Each fact has a key of its own:
// the order's, and what is said of it.
func tells(id string, position int64, told order) event.Event {
	data, err := json.Marshal(told)
	if err != nil {
		panic(err)
	}
	sum, err := fingerprint.Of(orderSchema(), told)
	if err != nil {
		panic(err)
	}
	return event.Event{
		ID: receipt.NewID(), Source: "/shop", Type: "shop.order." + told.State, Data: data, Fingerprint: sum,
		Key:         receipt.Key{Tenant: "shop", Scope: "order", Operation: told.State, ID: id},
		OrderingKey: told.Customer, Position: position,
	}
}

// A consumer of events takes each once, however often and however late it comes.
func ExampleHandler_inbox() {
	sums := new(receipttest.Memory[int])
	store, err := receipttest.New(receipttest.Config[*receipttest.MemoryTx[int]]{World: sums}) // in production a pgstore.Store
	if err != nil {
		panic(err)
	}
	runner, err := settle.New(settle.Config[*receipttest.MemoryTx[int]]{Store: store})
	if err != nil {
		panic(err)
	}
	consumer := &statistics{runner: runner, cache: make(map[string]cached)}
	secret := bytes.Repeat([]byte("s"), settlehttp.MinHMACSecret) // from your secret store
	authenticate, err := settlehttp.NewHMACAuthenticate(settlehttp.HMACAuthenticateConfig{
		Keys: []settlehttp.HMACKey{{ID: "shop-relay", Tenant: "shop", Secret: secret}},
	})
	if err != nil {
		panic(err)
	}
	inbox, err := settlehttp.NewHandler(settlehttp.HandlerConfig{Authenticate: authenticate, Settle: consumer.take})
	if err != nil {
		panic(err)
	}
	server := httptest.NewServer(inbox)
	defer server.Close()
	sign, err := settlehttp.NewHMACSign(settlehttp.HMACSignConfig{KeyID: "shop-relay", Secret: secret})
	if err != nil {
		panic(err)
	}
	sender, err := settlehttp.NewSender(settlehttp.SenderConfig{URL: server.URL, Sign: sign}) // an outbox.Relay calls it
	if err != nil {
		panic(err)
	}

	placed := tells("1", 7, order{"alice", "placed", 30})
	shipped := tells("1", 9, order{"alice", "shipped", 0})
	for _, e := range []event.Event{placed, shipped, placed} { // the last from a relay that was stopped for a while
		answer := sender.Send(context.Background(), []event.Event{e})[0]
		fmt.Println("receipt for", answer.Ack.Key, answer.Err)
	}
	sum, _ := sums.Get("alice")
	fmt.Println("alice:", sum, consumer.cache["alice"].state)
	// Output:
	// receipt for shop/order/placed/1 <nil>
	// receipt for shop/order/shipped/1 <nil>
	// receipt for shop/order/placed/1 <nil>
	// alice: 30 shipped
}
