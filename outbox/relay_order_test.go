package outbox_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/outbox/outboxtest"
)

func TestAFailingRecordHoldsBackItsOwnOrderingKeyAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var r running
		r.sender.Fault = failing("a", 3)
		r.put(outboxtest.NewEvent("a", "x"), outboxtest.NewEvent("b", "x"), outboxtest.NewEvent("c", "y"), outboxtest.NewEvent("d", "y"))
		r.start(t, outbox.RelayConfig{Concurrency: 1})
		r.wantAttempts(t, "a 1", "c 1", "d 1")
		pass(time.Minute)
		r.wantAttempts(t, "a 1", "c 1", "d 1", "a 2", "a 3", "a 4", "b 1")
		r.wantLeft(t)
		r.finish(t)
	})
}

func TestOldestFirstAcrossOrderingKeys(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var r running
		var want []string
		for i := range 100 {
			e := outboxtest.NewEvent(fmt.Sprintf("%03d", i), fmt.Sprint(i%7))
			r.put(e)
			want = append(want, e.Key.ID+" 1")
		}
		r.start(t, outbox.RelayConfig{Concurrency: 1})
		r.wantAttempts(t, want...)
		r.finish(t)
	})
}

func TestConcurrencyIsBoundedAndUsed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var r running
		gate := make(chan struct{})
		r.sender.Fault = func(event.Event, int) outboxtest.Fault { return outboxtest.Fault{Hold: gate} }
		for i := range 20 {
			r.put(outboxtest.NewEvent(fmt.Sprintf("%02d", i), fmt.Sprint(i/2)))
		}
		r.start(t, outbox.RelayConfig{Concurrency: 4})
		out := r.attempted() // Four that began together, in no order.
		slices.Sort(out)
		if diff := cmp.Diff([]string{"00 1", "02 1", "04 1", "06 1"}, out); diff != "" {
			t.Errorf("attempts (-want +got):\n%s", diff)
		}
		close(gate)
		synctest.Wait()
		r.wantLeft(t)
		r.finish(t)
	})
}

// TestARecordThatComesWhileAnotherOfItsKeyIsOut has the source say so at a time
// when the relay can't take it.
func TestARecordThatComesWhileAnotherOfItsKeyIsOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var r running
		gate := make(chan struct{})
		r.sender.Fault = func(event.Event, int) outboxtest.Fault { return outboxtest.Fault{Hold: gate} }
		r.put(outboxtest.NewEvent("a", "x"))
		r.start(t, outbox.RelayConfig{})
		r.put(outboxtest.NewEvent("b", "x"))
		synctest.Wait()
		r.wantAttempts(t, "a 1")
		close(gate)
		synctest.Wait()
		r.wantAttempts(t, "a 1", "b 1")
		r.finish(t)
	})
}
