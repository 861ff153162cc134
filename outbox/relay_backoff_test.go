package outbox_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/outbox/outboxtest"
)

func TestAnAttemptEndsAfterFiveSeconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var r running
		r.sender.Fault = func(event.Event, int) outboxtest.Fault { return outboxtest.Fault{Stall: true} }
		r.put(outboxtest.NewEvent("a", ""))
		r.start(t, outbox.RelayConfig{})
		pass(5*time.Second - time.Nanosecond)
		if r.log.count("deadline exceeded") != 0 {
			t.Errorf("the attempt ended early: %q", r.log.lines)
		}
		pass(time.Nanosecond)
		if r.log.count("deadline exceeded") != 1 {
			t.Errorf("the attempt goes on after 5s: %q", r.log.lines)
		}
		r.finish(t)
	})
}

func TestBackoffDoublesWithJitter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var r running
		r.sender.Fault = failing("a", 9)
		r.put(outboxtest.NewEvent("a", ""))
		r.start(t, outbox.RelayConfig{})
		pass(time.Hour)
		attempts := r.sender.Attempts()
		if len(attempts) != 10 {
			t.Fatalf("%d attempts, want 10", len(attempts))
		}
		for i, seconds := range []int{1, 2, 4, 8, 16, 30, 30, 30, 30} {
			most := time.Duration(seconds) * time.Second
			if gap := attempts[i+1].At.Sub(attempts[i].At); gap < most/2 || gap > most {
				t.Errorf("attempt %d came after %v, want %v to %v", i+2, gap, most/2, most)
			}
		}
		r.finish(t)
	})
}

// TestBackoffStartsAgainAfterASuccess has a second record of the same ordering
// key fail once, and then a second outage.
func TestBackoffStartsAgainAfterASuccess(t *testing.T) {
	t.Parallel()
	for name, downAfter := range map[string]int{"of an ordering key": 100, "of the probes": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var r running
				failures := map[string]int{"a": 9, "b": 1}
				r.sender.Fault = func(e event.Event, n int) outboxtest.Fault {
					return failing(e.Key.ID, failures[e.Key.ID])(e, n)
				}
				r.put(outboxtest.NewEvent("a", "x"), outboxtest.NewEvent("b", "x"))
				r.start(t, outbox.RelayConfig{DownAfter: downAfter})
				pass(time.Hour)
				attempts := r.sender.Attempts()
				if len(attempts) != 12 {
					t.Fatalf("%d attempts, want 12", len(attempts))
				}
				if gap := attempts[11].At.Sub(attempts[10].At); gap > time.Second {
					t.Errorf("the second record was sent again after %v, want 1s at most", gap)
				}
				r.finish(t)
			})
		})
	}
}

func TestDelay(t *testing.T) {
	t.Parallel()
	b := outbox.NewBackoff(outbox.RelayConfig{})
	for _, c := range []struct {
		failures   int
		retryAfter time.Duration
		random     float64
		want       time.Duration
	}{
		{1, 0, 0, time.Second},
		{1, 0, 0.5, 750 * time.Millisecond},
		{5, 0, 0, 16 * time.Second},
		{6, 0, 0, 30 * time.Second},
		{1 << 40, 0, 0, 30 * time.Second},
		{1, 2 * time.Minute, 0.9, 2 * time.Minute},
		{1, time.Hour, 0, 5 * time.Minute},
		{6, time.Second, 0, 30 * time.Second},
		{1, -time.Hour, 0, time.Second},
	} {
		if got := outbox.Delay(b, c.failures, c.retryAfter, c.random); got != c.want {
			t.Errorf("delay(%d, %v, %v) = %v, want %v", c.failures, c.retryAfter, c.random, got, c.want)
		}
	}
}

func TestRetryAfterIsHonouredUpToTheCap(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var r running
		r.sender.Fault = func(_ event.Event, n int) outboxtest.Fault {
			asked := []time.Duration{time.Minute, time.Hour}
			if n > len(asked) {
				return outboxtest.Fault{}
			}
			return outboxtest.Fault{Err: outboxtest.ErrUnavailable, RetryAfter: asked[n-1]}
		}
		r.put(outboxtest.NewEvent("a", ""))
		r.start(t, outbox.RelayConfig{})
		pass(time.Hour)
		attempts := r.sender.Attempts()
		if len(attempts) != 3 {
			t.Fatalf("%d attempts, want 3", len(attempts))
		}
		gaps := []time.Duration{attempts[1].At.Sub(attempts[0].At), attempts[2].At.Sub(attempts[1].At)}
		if diff := cmp.Diff([]time.Duration{time.Minute, outbox.DefaultMaxRetryAfter}, gaps); diff != "" {
			t.Errorf("gaps (-want +got):\n%s", diff)
		}
		r.finish(t)
	})
}

// TestARestThatEndsWhileTheSourceIsAskedKeepsItsCount has a slow source, which
// was asked before the rest ended and so leaves the ordering key out: that it
// has nothing else does not mean that the record is gone.
func TestARestThatEndsWhileTheSourceIsAskedKeepsItsCount(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		next := make(chan struct{})
		close(next)
		r := startBatches(t, outbox.Batching{}, outbox.RelayConfig{Random: func() float64 { return 0 }}, "a0", func(r *batchRun) {
			r.claims.onNext = func() { <-next }
			r.sender.Fault = failing("a0", 99)
		})
		next = make(chan struct{})
		r.claims.put(outboxtest.NewEvent("b0", "b"))
		pass(5 * time.Second) // The rest of a0 is over after one.
		close(next)
		pass(10 * time.Second)
		var got []time.Duration
		for _, attempt := range r.sender.Attempts() {
			if attempt.Event.Key.ID == "a0" {
				got = append(got, attempt.At.Sub(began))
			}
		}
		want := []time.Duration{0, 5 * time.Second, 7 * time.Second, 11 * time.Second}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("attempts at a0 (-want +got):\n%s", diff)
		}
		r.finish(t)
	})
}
