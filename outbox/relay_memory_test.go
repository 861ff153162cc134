package outbox_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/outbox/outboxtest"
)

// givingUp is a sender that gives up its first delivery when its time is over,
// and is not quite out of it: it keeps the batch.
type givingUp struct {
	*outboxtest.Sender
	kept []event.Event
}

func (s *givingUp) Send(ctx context.Context, batch []event.Event) []outbox.Answer {
	if s.kept == nil {
		s.kept = batch
		<-ctx.Done()
		return []outbox.Answer{{Err: context.Cause(ctx)}}
	}
	return s.Sender.Send(ctx, batch)
}

func TestALateDeliveryFindsNoOtherEvents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var r running
		r.put(outboxtest.NewEvent("a0", "a"), outboxtest.NewEvent("b0", "b"), outboxtest.NewEvent("c0", "c"))
		sender := &givingUp{Sender: &r.sender}
		r.start(t, outbox.RelayConfig{Concurrency: 1, Sender: sender})
		pass(outbox.DefaultAttemptTimeout)
		r.wantAttempts(t, "b0 1", "c0 1")
		if got := sender.kept[0].Key.ID; got != "a0" {
			t.Errorf("the delivery that was given up has the event %q in its batch now, want a0 still", got)
		}
		r.finish(t)
	})
}
