package outbox_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/outbox/outboxtest"
)

func TestStopFinishesWhatIsOutAndReleasesTheRest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		r := startBatches(t, outbox.Batching{}, outbox.RelayConfig{Concurrency: 2}, "a0 a1 b0 b1 c0 d0", func(r *batchRun) {
			r.sender.Fault = func(event.Event, int) outboxtest.Fault { return outboxtest.Fault{Hold: gate} }
		})
		r.stop()
		synctest.Wait()
		select {
		case err := <-r.result:
			t.Fatalf("Run returned %v while records were out", err)
		default:
		}
		close(gate)
		r.finish(t)
		r.wantPending(t, "a1 b1 c0 d0")
		if sent := len(r.courier.sent()); sent != 2 {
			t.Errorf("%d calls, want none after the stop", sent)
		}
	})
}

func TestStopReleasesWhatTheSourceIsHandingOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		r := startBatches(t, outbox.Batching{}, outbox.RelayConfig{}, "a0", func(r *batchRun) {
			r.claims.onNext = func() { <-gate }
		})
		r.stop()
		synctest.Wait()
		close(gate)
		r.finish(t)
		r.wantCalls(t)
		r.wantPending(t, "a0")
	})
}

func TestRunBeginsAfresh(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source := newClaims(t)
		source.put(outboxtest.NewEvent("a0", "a"), outboxtest.NewEvent("a1", "a"))
		sender := &outboxtest.Sender{Fault: failing("a0", 9)}
		relay := newRelay(t, outbox.RelayConfig{Source: source, Sender: sender, DownAfter: 1})
		for range 10 { // It doesn't wait out the rest of the Run before.
			runInBubble(t, relay)()
		}
		runInBubble(t, relay)()
		if left, _ := source.left(); len(left) != 0 {
			t.Errorf("%q are left", left)
		}
	})
}

// TestWhatIsHandedOutDuringAFailureWaits has a record fail while the source is
// handing out its successor.
func TestWhatIsHandedOutDuringAFailureWaits(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault outboxtest.Fault
		want  []string
	}{
		"failure": {outboxtest.Fault{Err: outboxtest.ErrUnavailable}, []string{"a0 1", "a0 2", "a1 1", "a2 1"}},
		"refusal": {outboxtest.Fault{Refuse: "no"}, []string{"a0 1", "a1 1", "a2 1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				answers, next := make(chan struct{}), make(chan struct{})
				close(next)
				r := startBatches(t, outbox.Batching{}, outbox.RelayConfig{}, "a0", func(r *batchRun) {
					r.claims.onNext = func() { <-next }
					r.sender.Fault = func(e event.Event, n int) outboxtest.Fault {
						if e.Key.ID == "a0" && n == 1 {
							<-answers
							return c.fault
						}
						return outboxtest.Fault{}
					}
				})
				next = make(chan struct{})
				r.claims.put(outboxtest.NewEvent("a1", "a"), outboxtest.NewEvent("a2", "a"))
				synctest.Wait() // They are chosen, and on their way.
				close(answers)
				synctest.Wait() // a0 goes back first.
				close(next)
				pass(time.Minute)
				if diff := cmp.Diff(c.want, r.attempted()); diff != "" {
					t.Errorf("attempts (-want +got):\n%s", diff)
				}
				r.finish(t)
			})
		})
	}
}

func TestRunTwice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		relay := newRelay(t, outbox.RelayConfig{Source: &outboxtest.Source{}, Sender: &outboxtest.Sender{}})
		for range 2 { // A relay that has stopped may run again.
			stop := runInBubble(t, relay)
			if err := relay.Run(t.Context()); !errors.Is(err, outbox.ErrRunning) {
				t.Errorf("a second Run: %v, want %v", err, outbox.ErrRunning)
			}
			if err := relay.Health(); err != nil {
				t.Errorf("the first Run is not well after it: %v", err)
			}
			stop()
		}
	})
}

// closing is a source that is closed while a record is out.
type closing struct {
	*claims
	closed bool
}

func (s *closing) Next(ctx context.Context, limit int, except map[string]struct{}) ([]outbox.Record, error) {
	if s.closed {
		return nil, outbox.ErrClosed
	}
	return s.claims.Next(ctx, limit, except)
}

func TestAClosedSourceEndsRunWhenWhatIsOutIsFinished(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source, gate := &closing{claims: newClaims(t)}, make(chan struct{})
		source.put(outboxtest.NewEvent("a0", "a"), outboxtest.NewEvent("a1", "a"))
		sender := &outboxtest.Sender{Fault: func(event.Event, int) outboxtest.Fault { return outboxtest.Fault{Hold: gate} }}
		relay := newRelay(t, outbox.RelayConfig{Source: source, Sender: sender})
		result := make(chan error, 1)
		go func() { result <- relay.Run(t.Context()) }()
		synctest.Wait()
		source.closed = true
		source.poke()
		synctest.Wait()
		close(gate)
		if err := <-result; !errors.Is(err, outbox.ErrClosed) {
			t.Errorf("Run: %v, want %v", err, outbox.ErrClosed)
		}
		if left, out := source.left(); len(left) != 1 || out != 0 {
			t.Errorf("%q are left and %d of them not released, want a1", left, out)
		}
	})
}

// closingLate is a source that is closed while it is asked for records, and that
// hands out what it has all the same.
type closingLate struct{ *claims }

func (s closingLate) Next(ctx context.Context, limit int, except map[string]struct{}) ([]outbox.Record, error) {
	records, err := s.claims.Next(ctx, limit, except)
	if err != nil {
		return records, err
	}
	<-ctx.Done()
	return records, outbox.ErrClosed
}

func TestAStopTellsThatTheSourceWasClosed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source, sender := closingLate{newClaims(t)}, &outboxtest.Sender{}
		source.put(outboxtest.NewEvent("a0", "a"))
		relay := newRelay(t, outbox.RelayConfig{Source: source, Sender: sender})
		ctx, stop := context.WithCancel(t.Context())
		result := make(chan error, 1)
		go func() { result <- relay.Run(ctx) }()
		synctest.Wait()
		stop()
		if err := <-result; !errors.Is(err, outbox.ErrClosed) {
			t.Errorf("Run: %v, want %v", err, outbox.ErrClosed)
		}
		if left, out := source.left(); len(left) != 1 || out != 0 || len(sender.Attempts()) != 0 {
			t.Errorf("%q are left and %d of them not released, after %d attempts; want a0 untouched", left, out, len(sender.Attempts()))
		}
	})
}
