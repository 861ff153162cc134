package webhook_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/outbox/outboxtest"
	"github.com/settleonce/settleonce/outbox/webhook"
)

// removals tells when its source is told that records are delivered.
type removals struct {
	*outboxtest.Source
	removed chan []outbox.Record
}

func (r *removals) Remove(ctx context.Context, records []outbox.Record) error {
	if err := r.Source.Remove(ctx, records); err != nil {
		return err
	}
	r.removed <- records
	return nil
}

// alarms tells when a log of alarms gets a line.
type alarms chan string

func (a alarms) Write(line []byte) (int, error) {
	select {
	case a <- string(line):
	default:
	}
	return len(line), nil
}

// relayed runs a relay from a source with one event to an endpoint that answers
// 200, until the event is delivered or there is an alarm, and returns how many
// events are pending then.
func relayed(t *testing.T, acceptPublished bool) int {
	t.Helper()
	end, alarmed := newReceiver(t, webhook.ProofStatus), make(alarms, 1)
	source := &removals{new(outboxtest.Source), make(chan []outbox.Record, 1)}
	source.Put(numbered(1)[0])
	relay, err := outbox.NewRelay(outbox.RelayConfig{
		Source: source, Sender: end.sender(t, webhook.Structured), AcceptPublished: acceptPublished,
		AttemptTimeout: time.Minute, Logger: slog.New(slog.NewTextHandler(alarmed, &slog.HandlerOptions{Level: slog.LevelError})),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- relay.Run(ctx) }()
	select {
	case <-source.removed:
	case line := <-alarmed:
		t.Log(line)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if got := len(end.takenEvents()); got == 0 {
		t.Error("the event did not arrive")
	}
	return len(source.Pending())
}

// TestStatusNeedsTheRelayToo shows that a status is proof only where both the
// endpoint and the relay say so (I6).
func TestStatusNeedsTheRelayToo(t *testing.T) {
	t.Parallel()
	for accept, want := range map[bool]int{true: 0, false: 1} {
		if got := relayed(t, accept); got != want {
			t.Errorf("AcceptPublished %v: %d pending, want %d", accept, got, want)
		}
	}
}
