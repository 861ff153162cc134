package settlehttp_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"testing"

	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/outbox/outboxtest"
	"github.com/settleonce/settleonce/receipt"
	"github.com/settleonce/settleonce/settle"
	"github.com/settleonce/settleonce/settle/settlehttp"
)

func TestSenderKeepsTheContract(t *testing.T) {
	t.Parallel()
	outboxtest.TestSender(t, func(tb testing.TB) outboxtest.SenderSubject {
		tb.Helper()
		lobby := &lobby{refusals: make(map[event.Key]string), failing: make(map[event.Key]bool)}
		rig := newRig(tb, settlehttp.HandlerConfig{
			Authenticate: func(*http.Request, []byte) (string, error) { return outboxtest.NewEvent("any", "").Key.Tenant, nil },
			Settle:       lobby.settle,
		})
		return outboxtest.SenderSubject{
			Sender: newSender(tb, rig.server.URL),
			Proof:  outbox.AckReceipt,
			Taken:  lobby.events,
			Refuse: func(key event.Key, reason string) { lobby.set(func() { lobby.refusals[key] = reason }) },
			Fail:   func(key event.Key, failing bool) { lobby.set(func() { lobby.failing[key] = failing }) },
			Break:  func() { lobby.set(func() { lobby.broken = true }) },
		}
	})
}

// lobby takes each event once a key.
type lobby struct {
	mu       sync.Mutex
	taken    []event.Event
	refusals map[event.Key]string
	failing  map[event.Key]bool
	broken   bool
}

func (l *lobby) set(change func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change()
}

func (l *lobby) events() []event.Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.taken)
}

func (l *lobby) settle(ctx context.Context, e event.Event) (receipt.Receipt, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.broken:
		<-ctx.Done()
		return receipt.Receipt{}, ctx.Err()
	case l.failing[e.Key]:
		return receipt.Receipt{}, errors.New("the disk is full")
	case l.refusals[e.Key] != "":
		return receipt.Receipt{}, settle.Refuse("unknown-room", "%s", l.refusals[e.Key])
	}
	if !slices.ContainsFunc(l.taken, func(taken event.Event) bool { return taken.Key == e.Key }) {
		l.taken = append(l.taken, e)
	}
	return settled(e), nil
}
