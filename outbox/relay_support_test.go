package outbox_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/outbox/outboxtest"
)

// running is a relay that runs in a bubble of its own time.
type running struct {
	source outboxtest.Source
	sender outboxtest.Sender
	log    logRecorder
	stop   context.CancelFunc
	result chan error
}

// start runs a relay with the parts that r has. The caller must end it with
// finish.
func (r *running) start(t *testing.T, cfg outbox.RelayConfig) {
	t.Helper()
	if cfg.Source == nil {
		cfg.Source = &r.source
	}
	if cfg.Sender == nil {
		cfg.Sender = &r.sender
	}
	cfg.Logger = r.log.logger()
	relay, err := outbox.NewRelay(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	r.stop, r.result = stop, make(chan error, 1)
	go func() { r.result <- relay.Run(ctx) }()
	synctest.Wait()
}

func (r *running) finish(t *testing.T) {
	t.Helper()
	r.stop()
	if err := <-r.result; err != nil {
		t.Errorf("Run: %v", err)
	}
	if overlaps := r.sender.Overlaps(); overlaps != 0 {
		t.Errorf("%d attempts overlapped with another of their ordering key", overlaps)
	}
}

func (r *running) put(events ...event.Event) {
	for _, e := range events {
		r.source.Put(e)
	}
}

// attempted returns "id number" of each attempt.
func (r *running) attempted() []string {
	var texts []string
	for _, attempt := range r.sender.Attempts() {
		texts = append(texts, fmt.Sprintf("%s %d", attempt.Event.Key.ID, attempt.Number))
	}
	return texts
}

func (r *running) wantAttempts(t *testing.T, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, r.attempted()); diff != "" {
		t.Errorf("attempts (-want +got):\n%s", diff)
	}
}

func (r *running) wantLeft(t *testing.T, want ...string) {
	t.Helper()
	left := []string{}
	for _, e := range r.source.Pending() {
		left = append(left, e.Key.ID)
	}
	if diff := cmp.Diff(append([]string{}, want...), left); diff != "" {
		t.Errorf("left in the source (-want +got):\n%s", diff)
	}
}

// pass lets time pass in a bubble, and then everything that it brought about
// happen.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// failing lets the attempts at a key fail that until says.
func failing(id string, until int) func(event.Event, int) outboxtest.Fault {
	return func(e event.Event, n int) outboxtest.Fault {
		if e.Key.ID == id && n <= until {
			return outboxtest.Fault{Err: outboxtest.ErrUnavailable}
		}
		return outboxtest.Fault{}
	}
}
