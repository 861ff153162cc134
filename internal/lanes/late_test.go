package lanes_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/settleonce/settleonce/internal/lanes"
	"github.com/settleonce/settleonce/internal/lanes/lanestest"
	"github.com/settleonce/settleonce/outbox"
)

// narrowAndWide runs a test with sweeps before the hand-out, and with a search
// by ordering keys.
func narrowAndWide(t *testing.T, test func(r *rig, source *lanes.Source)) {
	t.Helper()
	for name, narrow := range map[string]int64{"narrow": 1000, "wide": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(r *rig) {
				source := r.source()
				source.SetNarrow(narrow)
				test(r, source)
			})
		})
	}
}

// The first event of a key becomes visible below what was handed out of others,
// and the second above it, before the relay looks again.
func TestLateEventComesBeforeItsSuccessor(t *testing.T) {
	t.Parallel()
	narrowAndWide(t, func(r *rig, source *lanes.Source) {
		late := r.begin("a")
		r.put("b")
		r.want(r.next(source, 10), "b2")
		late.Commit()
		r.put("a", "c")
		r.want(r.next(source, 1), "a1")
		r.want(r.next(source, 10), "a3 c4")
	})
}

// The same where the look for it fails at first.
func TestLateEventComesBeforeItsSuccessorAfterAFailure(t *testing.T) {
	t.Parallel()
	for name, narrow := range map[string]int64{"narrow": 1000, "wide": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(r *rig) {
				door := newDoor(r.memory)
				source := r.source(on(door))
				source.SetNarrow(narrow)
				late := r.begin("a")
				r.put("b")
				r.want(r.next(source, 10), "b2")
				late.Commit()
				r.put("a", "c")
				door.set(func() { door.fail[lanestest.Heads], door.fail[lanestest.ReadOf] = errAway, errAway })
				if got, err := source.Next(r.Context(), 1, nil); !errors.Is(err, errAway) || len(got) > 0 {
					r.Fatalf("Next = %q, %v", text(got), err)
				}
				door.set(func() { clear(door.fail) })
				r.want(r.next(source, 1), "a1")
				r.want(r.next(source, 10), "a3 c4")
			})
		})
	}
}

// The same behind more rows than one look takes.
func TestLateEventBehindMany(t *testing.T) {
	t.Parallel()
	narrowAndWide(t, func(r *rig, source *lanes.Source) {
		source.SetNarrow(2 * source.Narrow())
		const many = 1500
		r.begin(slices.Repeat([]string{"b"}, many)...).Commit()
		late := r.begin("a")
		r.put("c")
		if got := r.next(source, 2*many); len(got) != many+1 {
			r.Fatalf("got %d records", len(got))
		}
		late.Commit()
		r.put("b", "a")
		// Where the sweep in the background finds it first, it comes in the next
		// call, with a wake-up, and its successor behind it.
		var ofA []outbox.Record
		for more := true; more; more = awake(source) {
			for _, record := range r.next(source, 10) {
				if record.Event.OrderingKey == "a" {
					ofA = append(ofA, record)
				}
			}
		}
		r.want(ofA, "a1501 a1504")
	})
}

// The same with a successor that is left out when it is read.
func TestLateEventComesBeforeItsSuccessorThatWasLeftOut(t *testing.T) {
	t.Parallel()
	narrowAndWide(t, func(r *rig, source *lanes.Source) {
		late := r.begin("a")
		r.put("b")
		r.want(r.next(source, 10), "b2")
		late.Commit()
		r.put("a", "c")
		r.want(r.next(source, 10, "a"), "c4")
		r.want(r.next(source, 10), "a1 a3")
	})
}

// It stands behind more rows than one look takes, and nobody asks.
func TestLateEventBehindManyWakes(t *testing.T) {
	t.Parallel()
	narrowAndWide(t, func(r *rig, source *lanes.Source) {
		source.SetNarrow(2 * source.Narrow())
		const many = 1500
		r.begin(slices.Repeat([]string{"b"}, many)...).Commit()
		late := r.begin("a")
		r.put("c")
		r.next(source, 2*many)
		late.Commit()
		r.until("it comes", func() bool { return awake(source) && text(r.next(source, 10)) == "a1501" })
	})
}

// Nothing else of the key comes, and nobody asks: it is found all the same.
func TestLateEventWakes(t *testing.T) {
	t.Parallel()
	narrowAndWide(t, func(r *rig, source *lanes.Source) {
		late := r.begin("a")
		r.put("b")
		r.want(r.next(source, 10), "b2")
		r.pass(time.Hour) // However long it took.
		late.Commit()
		took := r.until("it comes", func() bool { return awake(source) && text(r.next(source, 10)) == "a1" })
		if took > 2*lanes.DefaultMaxPoll {
			r.Fatalf("it took %v", took)
		}
	})
}

// The sweep in the background has failed, and nothing else would look.
func TestLateEventWakesAfterASweepThatFailed(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		door := newDoor(r.memory)
		source := r.source(on(door), func(cfg *lanes.Config) { cfg.Lease, cfg.Rescan = time.Hour, time.Hour })
		source.SetNarrow(0)
		late := r.begin("a")
		r.put("b")
		r.want(r.next(source, 10), "b2")
		late.Commit()
		door.set(func() { door.fail[lanestest.Heads] = errAway })
		r.want(r.next(source, 10), "")
		r.until("the sweep fails", func() bool { return errors.Is(source.State().Err, errAway) })
		door.set(func() { clear(door.fail) })
		r.until("it comes", func() bool { return awake(source) && text(r.next(source, 10)) == "a1" })
	})
}

// A sweep in the background is under way, and the successor comes.
func TestLateEventComesBeforeItsSuccessorDuringASweep(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		door := newDoor(r.memory)
		source := r.source(on(door), func(cfg *lanes.Config) { cfg.MinPoll, cfg.MaxPoll = time.Hour, time.Hour })
		source.SetNarrow(0)
		late := r.begin("a", "c")
		r.put("b")
		r.want(r.next(source, 10), "b3")
		answer := make(chan struct{})
		door.set(func() { door.before[lanestest.Heads] = answer })
		late.Commit()
		r.want(r.next(source, 10), "")
		synctest.Wait()
		if got := source.State(); got.Frontier != 3 || got.Floor != 0 {
			r.Fatalf("State = %+v; want the floor below all that is still to be swept", got)
		}
		r.put("a")
		r.want(r.next(source, 10), "a1 a4")
		awake(source)
		close(answer)
		synctest.Wait()
		if !awake(source) {
			r.Fatal("it does not wake for what the sweep has found")
		}
		r.want(r.next(source, 10), "c2")
	})
}

// One event of a key is in a span that is still to be swept, and the next one in
// a span that is swept at once.
func TestLateEventsOfOneKeyComeInOrder(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		door := newDoor(r.memory)
		source := r.source(on(door))
		source.SetNarrow(5)
		first := r.begin("a")
		for range 20 {
			r.put("b")
		}
		r.next(source, 100)
		door.set(func() { door.fail[lanestest.Heads] = errAway })
		first.Commit()
		r.want(r.next(source, 100), "")
		r.until("the sweep fails", func() bool { return errors.Is(source.State().Err, errAway) })
		second := r.begin("a")
		r.put("b")
		r.want(r.next(source, 100), "b23")
		second.Commit()
		door.set(func() { clear(door.fail) })
		r.want(r.next(source, 100), "a1 a22")
	})
}

// A transaction that has nothing to do with the outbox stays open, and hides
// nothing and costs nothing.
func TestOpenTransactionHidesNothing(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		door := newDoor(r.memory)
		source := r.source(on(door), func(cfg *lanes.Config) { cfg.Rescan = time.Hour })
		unrelated := r.begin()
		defer unrelated.Rollback()
		for range 100 {
			r.put("a")
			records := r.next(source, 10)
			if len(records) != 1 {
				r.Fatalf("got %q", text(records))
			}
			r.remove(source, records...)
		}
		if n := door.count(lanestest.Heads) + door.count(lanestest.ReadOf); n > 0 {
			r.Fatalf("%d looks below the frontier", n)
		}
		if got := source.State(); got.Frontier != 100 || got.Floor != 0 {
			r.Fatalf("State = %+v; want the frontier at 100, and the floor where the transaction began", got)
		}
	})
}

func TestRollbackLeavesNoDoubt(t *testing.T) {
	t.Parallel()
	narrowAndWide(t, func(r *rig, source *lanes.Source) {
		gone := r.begin("a")
		r.put("b")
		r.want(r.next(source, 10), "b2")
		gone.Rollback()
		r.want(r.next(source, 10), "")
		synctest.Wait() // For the sweep in the background.
		if got := source.State(); got.Floor != 2 {
			r.Fatalf("State = %+v; want the floor at the frontier", got)
		}
	})
}

// What a crash of the database brings back, and what is requeued while its key
// goes on, stands below the frontier and no transaction tells of it.
func TestRescanFindsWhatCameBack(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		door := newDoor(r.memory)
		source := r.source(on(door))
		r.put("a", "b", "c")
		r.remove(source, r.next(source, 10)...)
		if back := r.memory.Crash(); len(back) != 3 {
			r.Fatalf("%v came back", back)
		}
		r.pass(lanes.DefaultRescan + time.Second)
		r.want(r.next(source, 10), "a1 b2 c3")
		// A rescan that fails is made again before the next one is due.
		r.memory.Crash()
		door.set(func() { door.fail[lanestest.Heads] = errAway })
		r.until("it fails", func() bool { return errors.Is(source.State().Err, errAway) })
		door.set(func() { clear(door.fail) })
		r.pass(2 * lanes.DefaultMaxPoll)
		if err := source.State().Err; err != nil {
			r.Fatalf("it is well, and State tells %v", err)
		}
	})
}

// A crash of the database fails some call, and what it brought back is found as
// soon as the table answers again, whichever call it was.
func TestRescanFollowsAFailure(t *testing.T) {
	t.Parallel()
	for method, call := range map[lanestest.Method]func(r *rig, source *lanes.Source) error{
		lanestest.Read: func(r *rig, source *lanes.Source) error {
			_, err := source.Next(r.Context(), 10, nil)
			return err
		},
		lanestest.Delete: func(r *rig, source *lanes.Source) error {
			return source.Remove(r.Context(), r.next(source, 1))
		},
		lanestest.Bury: func(r *rig, source *lanes.Source) error {
			return source.SetAside(r.Context(), r.next(source, 1)[0], outbox.Refusal{Reason: "no"})
		},
		lanestest.Renew: func(r *rig, source *lanes.Source) error {
			r.pass(lease / 5)
			return source.State().Err
		},
	} {
		t.Run(string(method), func(t *testing.T) {
			t.Parallel()
			bubble(t, func(r *rig) {
				door := newDoor(r.memory)
				source := r.source(on(door), func(cfg *lanes.Config) { cfg.Rescan = time.Hour })
				r.put("a", "b")
				r.remove(source, r.next(source, 1)...)
				door.set(func() { door.fail[method] = errAway })
				if err := call(r, source); !errors.Is(err, errAway) {
					r.Fatalf("%s came to %v, want it to fail", method, err)
				}
				r.memory.Crash()
				door.set(func() { clear(door.fail) })
				r.pass(lease / 5)
				if got := text(r.next(source, 1)); got != "a1" {
					r.Fatalf("got %q, want what the crash brought back", got)
				}
			})
		})
	}
}

func TestOneRescanFollowsAFailure(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		door := newDoor(r.memory)
		source := r.source(on(door), func(cfg *lanes.Config) { cfg.Rescan = time.Hour })
		r.put("a")
		r.remove(source, r.next(source, 1)...)
		door.set(func() { door.fail[lanestest.Read] = errAway })
		if _, err := source.Next(r.Context(), 1, nil); !errors.Is(err, errAway) {
			r.Fatalf("Next = %v", err)
		}
		door.set(func() { clear(door.fail) })
		r.pass(10 * lease)
		if n := door.count(lanestest.Heads); n != 1 {
			r.Fatalf("%d looks below the frontier, want those of one rescan", n)
		}
	})
}

// A rescan that always runs into a time limit takes no more of the server's time
// than one that goes well.
func TestScanThatFailsRestsToo(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		door := newDoor(r.memory)
		around := door.Around
		door.Around = func(ctx context.Context, method lanestest.Method, call func(context.Context) error) error {
			if method == lanestest.Heads {
				timer := time.NewTimer(10 * time.Second)
				defer timer.Stop()
				select {
				case <-timer.C:
				case <-ctx.Done():
				}
			}
			return around(ctx, method, call)
		}
		door.fail[lanestest.Heads] = errAway
		source := r.source(on(door))
		r.put("a")
		r.remove(source, r.next(source, 10)...)
		r.pass(10 * time.Minute)
		if calls := door.count(lanestest.Heads); calls < 8 || calls > 12 {
			r.Fatalf("%d queries of 10 seconds in 10 minutes, want a fifth of the time", calls)
		}
	})
}

// A process that was stopped in the middle of a query takes its sleep for the
// query's time, and does not rest for many times as long.
func TestScanRestsForAWhile(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		clock := newClock()
		door := newDoor(r.memory)
		source := r.source(on(door), func(cfg *lanes.Config) {
			cfg.Clock, cfg.Random = clock, func() float64 { return 0.5 }
		})
		r.put("a")
		r.remove(source, r.next(source, 10)...)
		answer := make(chan struct{})
		door.set(func() { door.after[lanestest.Heads] = answer })
		r.until("it rescans", func() bool { return door.count(lanestest.Heads) > 0 })
		clock.push(time.Hour, time.Hour)
		close(answer)
		synctest.Wait()
		r.memory.Crash()
		r.pass(2*lanes.DefaultRescan + time.Second)
		r.want(r.next(source, 10), "a1")
	})
}
