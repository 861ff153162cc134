package clock_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/examples/match/clock"
)

func TestSimulatedCallsInOrderOfTime(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	simulated := clock.NewSimulated(start)
	var calls []string
	note := func(name string) func() {
		return func() { calls = append(calls, name+" at "+simulated.Now().Sub(start).String()) }
	}
	simulated.AfterFunc(3*time.Second, note("third"))
	simulated.AfterFunc(time.Second, note("first"))
	simulated.AfterFunc(time.Second, note("second"))
	stop := simulated.AfterFunc(2*time.Second, note("stopped"))
	stop()
	simulated.AfterFunc(2*time.Second, func() {
		simulated.AfterFunc(500*time.Millisecond, note("set on the way"))
	})

	simulated.Advance(2600 * time.Millisecond)
	want := []string{"first at 1s", "second at 1s", "set on the way at 2.5s"}
	if diff := cmp.Diff(want, calls); diff != "" {
		t.Errorf("calls up to 2.6 s (-want +got):\n%s", diff)
	}
	if got := simulated.Now().Sub(start); got != 2600*time.Millisecond {
		t.Errorf("the clock shows %v, want 2.6s", got)
	}
	simulated.Run()
	if diff := cmp.Diff(append(want, "third at 3s"), calls); diff != "" {
		t.Errorf("calls in all (-want +got):\n%s", diff)
	}
}
