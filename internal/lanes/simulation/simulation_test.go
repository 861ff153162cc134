package simulation_test

import (
	"flag"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

var (
	schedules = flag.Uint64("schedules", 3000, "how many schedules to simulate")
	firstSeed = flag.Uint64("first", 1, "the seed of the first schedule; the others follow")
	oneSeed   = flag.Uint64("seed", 0, "simulate the schedule of this seed alone, and print what happens")
)

func TestSimulation(t *testing.T) {
	t.Parallel()
	if *oneSeed > 0 {
		var history strings.Builder
		err := simulate(t, *oneSeed, &mutation{}, newTally(), &history)
		t.Logf("%s\n%s", newPlan(*oneSeed), &history)
		if err != nil {
			t.Errorf("seed %d:\n%v", *oneSeed, err)
		}
		return
	}
	counts := newTally()
	t.Cleanup(func() {
		if *schedules >= 1000 && !t.Failed() {
			counts.check(t)
		}
	})
	var taken atomic.Uint64
	for worker := range runtime.GOMAXPROCS(0) {
		t.Run(fmt.Sprint(worker), func(t *testing.T) {
			t.Parallel()
			for n := taken.Add(1); n <= *schedules && !t.Failed(); n = taken.Add(1) {
				seed := *firstSeed + n - 1
				if err := simulate(t, seed, &mutation{}, counts, nil); err != nil {
					t.Errorf("replay with -seed %d\n%s%v", seed, newPlan(seed), err)
				}
			}
		})
	}
}

// simulate runs the schedule of a seed in a bubble.
func simulate(t *testing.T, seed uint64, m *mutation, counts *tally, history *strings.Builder) (err error) {
	t.Helper()
	defer func() {
		if panicked := recover(); panicked != nil {
			t.Errorf("replay with -seed %d", seed)
			panic(panicked)
		}
	}()
	synctest.Test(t, func(*testing.T) { err = newPlan(seed).run(m, counts, history) })
	return err
}
