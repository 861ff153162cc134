package outbox_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/outbox/outboxtest"
)

func TestADestinationThatIsDownIsProbedAndNotHammered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var r running
		began := time.Now()
		r.sender.Fault = func(event.Event, int) outboxtest.Fault {
			if time.Since(began) < time.Hour {
				return outboxtest.Fault{Err: outboxtest.ErrUnavailable}
			}
			return outboxtest.Fault{}
		}
		for i := range 1000 {
			r.put(outboxtest.NewEvent(fmt.Sprintf("%04d", i), ""))
		}
		r.start(t, outbox.RelayConfig{})
		pass(time.Hour - time.Second)
		// Eight were out when it went down. Then one probe each 15 to 30 s,
		// after five that came closer together.
		if attempts := len(r.sender.Attempts()); attempts < 120 || attempts > 260 {
			t.Errorf("%d attempts in an hour, want one in 15 to 30 s", attempts)
		}
		pass(time.Minute)
		r.wantLeft(t)
		r.finish(t)
	})
}

// TestADestinationThatIsDownIsLeftAloneAsItAsks has one that names a time at each
// probe.
func TestADestinationThatIsDownIsLeftAloneAsItAsks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var r running
		r.sender.Fault = func(event.Event, int) outboxtest.Fault {
			return outboxtest.Fault{Err: outboxtest.ErrUnavailable, RetryAfter: 2 * time.Minute}
		}
		for i := range 10 {
			r.put(outboxtest.NewEvent(fmt.Sprint(i), ""))
		}
		r.start(t, outbox.RelayConfig{Concurrency: 1, DownAfter: 1})
		for probes := range 5 {
			if got := len(r.sender.Attempts()); got != probes+1 {
				t.Errorf("%d attempts after %d minutes, want %d", got, 2*probes, probes+1)
			}
			pass(2 * time.Minute)
		}
		r.finish(t)
	})
}

// TestRecordsThatFailAloneCannotKeepOthersWaiting has more failing records than
// make a destination count as down, and than the relay holds at once.
func TestRecordsThatFailAloneCannotKeepOthersWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const bad = 300 // With one call, 128 are at hand.
		var r running
		r.sender.Fault = func(e event.Event, _ int) outboxtest.Fault {
			if strings.HasPrefix(e.Key.ID, "bad") {
				return outboxtest.Fault{Err: outboxtest.ErrUnavailable}
			}
			return outboxtest.Fault{}
		}
		for i := range bad {
			r.put(outboxtest.NewEvent(fmt.Sprintf("bad-%03d", i), ""))
		}
		r.start(t, outbox.RelayConfig{Concurrency: 1})
		pass(6 * time.Hour)
		for i := range 10 {
			r.put(outboxtest.NewEvent(fmt.Sprintf("good-%d", i), ""))
			pass(outbox.DefaultMaxBackoff)
			if left := len(r.source.Pending()); left != bad {
				t.Errorf("good record %d was not delivered within the longest back-off: %d left", i, left)
			}
		}
		r.finish(t)
	})
}

// TestAnEventThatFailsAloneHoldsBackNoOther has failing records that are all
// older than the good one and were never sent before, as after a restart.
func TestAnEventThatFailsAloneHoldsBackNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var r running
		r.sender.Fault = func(e event.Event, _ int) outboxtest.Fault {
			if strings.HasPrefix(e.Key.ID, "bad") {
				return outboxtest.Fault{Err: outboxtest.ErrUnavailable, EventAlone: true}
			}
			return outboxtest.Fault{}
		}
		for i := range 1000 {
			r.put(outboxtest.NewEvent(fmt.Sprintf("bad-%03d", i), ""))
		}
		r.put(outboxtest.NewEvent("good", ""))
		r.start(t, outbox.RelayConfig{})
		if taken := r.sender.Taken(); len(taken) != 1 {
			t.Errorf("%d records were taken at once, want the good one", len(taken))
		}
		if left := len(r.source.Pending()); left != 1000 {
			t.Errorf("%d records are left, want the bad ones", left)
		}
		r.finish(t)
	})
}

func TestASuccessInBetweenKeepsADestinationUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var r running
		r.sender.Fault = func(e event.Event, _ int) outboxtest.Fault {
			if strings.HasPrefix(e.Key.ID, "bad") {
				return outboxtest.Fault{Err: outboxtest.ErrUnavailable}
			}
			return outboxtest.Fault{}
		}
		for i := range 3 * outbox.DefaultDownAfter {
			r.put(outboxtest.NewEvent(fmt.Sprintf("bad-%02d", i), ""), outboxtest.NewEvent(fmt.Sprintf("good-%02d", i), ""))
		}
		r.start(t, outbox.RelayConfig{Concurrency: 1})
		if taken := r.sender.Taken(); len(taken) != 3*outbox.DefaultDownAfter {
			t.Errorf("%d records were taken at once, want every good one", len(taken))
		}
		r.finish(t)
	})
}
