package lanes_test

import (
	"slices"
	"testing"
	"time"

	"github.com/settleonce/settleonce/internal/lanes"
)

// relay asks whenever it is woken, for a while, and returns when it did.
func (r *rig) relay(source *lanes.Source, duration time.Duration) (asked []time.Duration) {
	r.Helper()
	began := time.Now()
	end := time.NewTimer(duration)
	defer end.Stop()
	for {
		select {
		case <-source.Wake():
			asked = append(asked, time.Since(began))
			r.remove(source, r.next(source, 10)...)
		case <-end.C:
			return asked
		}
	}
}

func TestPollsBecomeRarerWhileNothingComes(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		source := r.source(func(cfg *lanes.Config) {
			cfg.MinPoll, cfg.MaxPoll = 100*time.Millisecond, time.Second
		})
		r.next(source, 1)
		awake(source)
		asked := r.relay(source, 5*time.Second)
		r.wantTimes(asked, 100, 300, 700, 1500, 2500, 3500, 4500)

		r.put("a") // In another process.
		asked = r.relay(source, time.Second)
		r.wantTimes(asked, 500, 600, 800)
	})
}

// wantTimes compares times with milliseconds.
func (r *rig) wantTimes(got []time.Duration, want ...int64) {
	r.Helper()
	var asked []int64
	for _, at := range got {
		asked = append(asked, at.Milliseconds())
	}
	if !slices.Equal(asked, want) {
		r.Fatalf("asked after %v ms, want %v", asked, want)
	}
}

func TestPokeWakesAtOnce(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		source := r.source()
		r.next(source, 1)
		r.relay(source, time.Minute)
		source.Poke()
		if asked := r.relay(source, time.Millisecond); len(asked) != 1 || asked[0] != 0 {
			r.Fatalf("asked at %v, want at once", asked)
		}
	})
}

// The package comment tells what a relay with nothing to do costs the table.
func TestIdleQueries(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		door := newDoor(r.memory)
		source := r.source(on(door), func(cfg *lanes.Config) { cfg.Random = func() float64 { return 0.5 } })
		r.put("a")
		r.remove(source, r.next(source, 10)...)
		r.relay(source, time.Minute)
		before := door.total()
		r.relay(source, time.Hour)
		perHour := door.total() - before
		// 3600 polls, 1334 renewals, and some 65 rescans of four queries each.
		if perHour < 5150 || perHour > 5250 {
			r.Fatalf("%d queries in an idle hour, the package comment says 1.4 a second", perHour)
		}
	})
}
