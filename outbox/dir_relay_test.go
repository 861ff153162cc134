package outbox_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/outbox/outboxtest"
)

// TestARelayKeepsToTheDirectorysPolicy refuses the first of an ordering key when
// the relay has the rest at hand, and requeues it later.
func TestARelayKeepsToTheDirectorysPolicy(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		policy outbox.DeadLetterPolicy
		before int      // taken while a is a dead letter
		after  []string // taken in the end, of a's ordering key
	}{
		"goes on":    {outbox.GoOn, 3, []string{"b", "c", "a"}},
		"holds back": {outbox.HoldBack, 1, []string{"a", "b", "c"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := openDirWith(t, outbox.DirConfig{Path: t.TempDir(), DeadLetterPolicy: c.policy})
			for _, id := range []string{"a", "b", "c"} {
				put(t, dir, outboxtest.NewEvent(id, "x"))
			}
			sender := &outboxtest.Sender{Fault: func(e event.Event, n int) outboxtest.Fault {
				if e.Key.ID == "a" && n == 1 {
					return outboxtest.Fault{Refuse: "unknown room"}
				}
				return outboxtest.Fault{}
			}}
			relay, err := outbox.NewRelay(outbox.RelayConfig{
				Source: dir, Sender: sender, MinBackoff: time.Millisecond, Logger: slog.New(slog.DiscardHandler),
			})
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- relay.Run(ctx) }()
			eventually(t, "a is a dead letter", func() bool { return stats(t, dir).DeadLetters == 1 })
			put(t, dir, outboxtest.NewEvent("d", "y"))
			eventually(t, "d and what goes on are taken", func() bool { return len(sender.Taken()) >= c.before })
			if err := dir.Requeue(t.Context(), deadLetters(t, dir)[0].ID); err != nil {
				t.Fatal(err)
			}
			eventually(t, "all are taken", func() bool { return len(sender.Taken()) == 4 })
			stop()
			if err := <-ended; err != nil {
				t.Errorf("Run: %v", err)
			}
			var taken []string
			for _, e := range sender.Taken() {
				if e.OrderingKey == "x" {
					taken = append(taken, e.Key.ID)
				}
			}
			if diff := cmp.Diff(c.after, taken); diff != "" {
				t.Errorf("taken (-want +got):\n%s", diff)
			}
			wantPending(t, dir)
		})
	}
}
