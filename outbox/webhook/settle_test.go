package webhook_test

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/outbox/webhook"
	"github.com/settleonce/settleonce/receipt/receipttest"
)

// TestIntoSettle delivers bets many times, at the same time and with lost
// answers: each takes effect once, and each has its proof in the end.
func TestIntoSettle(t *testing.T) {
	t.Parallel()
	var turnover receipttest.Memory[int]
	projection, err := newProjection(&turnover, parseKey(t, secret))
	if err != nil {
		t.Fatal(err)
	}
	var lost atomic.Int32
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if lost.Add(1)%2 == 1 { // The effect happens, and the answer gets lost.
			projection.ServeHTTP(httptest.NewRecorder(), r)
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		projection.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	sender := newSender(t, webhook.Config{
		Endpoints: []webhook.Endpoint{{
			Name: "projection", URL: server.URL, AllowPrivateNetworks: true,
			Keys: []webhook.SignatureKey{parseKey(t, secret)},
		}},
		TLS: trusting(server),
	})

	bets := []event.Event{
		accepted("book", "1", acceptedBet{Wallet: "alice", Stake: 1}),
		accepted("book", "2", acceptedBet{Wallet: "alice", Stake: 10}),
		accepted("book", "3", acceptedBet{Wallet: "alice", Stake: 100}),
	}
	var group sync.WaitGroup
	for _, bet := range bets {
		for range 4 {
			group.Go(func() {
				for proven := false; !proven && t.Context().Err() == nil; {
					answer := sender.Send(t.Context(), []event.Event{bet})[0]
					proven = answer.Err == nil
					if proven && (answer.Ack.Kind != outbox.AckReceipt || answer.Ack.Key != bet.Key || !answer.Ack.Fingerprint.Equal(bet.Fingerprint)) {
						t.Errorf("bet %s: proof %+v", bet.Key, answer.Ack)
					}
				}
			})
		}
	}
	group.Wait()
	if staked, _ := turnover.Get("alice"); staked != 111 {
		t.Errorf("turnover %d, want 111", staked)
	}
	if lost.Load() < 2 {
		t.Error("no answer was lost")
	}
}

// TestForgedIntoSettle has a sender whose key the receiver doesn't know.
func TestForgedIntoSettle(t *testing.T) {
	t.Parallel()
	var turnover receipttest.Memory[int]
	projection, err := newProjection(&turnover, parseKey(t, secret))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewTLSServer(projection)
	t.Cleanup(server.Close)
	for name, keys := range map[string][]webhook.SignatureKey{"none": nil, "another": {parseKey(t, vectorSecret)}} {
		sender := newSender(t, webhook.Config{
			Endpoints: []webhook.Endpoint{{Name: "projection", URL: server.URL, AllowPrivateNetworks: true, Keys: keys}},
			TLS:       trusting(server),
		})
		answer := sender.Send(t.Context(), []event.Event{accepted("book", "1", acceptedBet{Wallet: "alice", Stake: 1})})[0]
		if answer.Err == nil || answer.EventAlone {
			t.Errorf("key %s: answer %+v", name, answer)
		}
	}
	if all := turnover.All(); len(all) != 0 {
		t.Errorf("effects %v", all)
	}
}
