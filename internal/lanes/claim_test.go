package lanes_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/settleonce/settleonce/internal/lanes"
	"github.com/settleonce/settleonce/internal/lanes/lanestest"
	"github.com/settleonce/settleonce/outbox"
)

func TestReleasedRecordsComeAgainInOrder(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		source := r.source()
		r.put("a", "b", "a", "a", "b")
		records := r.next(source, 10)
		r.want(records, "a1 b2 a3 a4 b5")
		source.Release([]outbox.Record{records[2], records[3]})
		r.remove(source, records[0])
		r.put("a")
		r.want(r.next(source, 10, "a"), "")
		r.want(r.next(source, 1), "a3")
		r.want(r.next(source, 10), "a4 a6")
		source.Release(records[:1]) // It is gone.
		source.Release([]outbox.Record{{ID: "no position"}})
		r.want(r.next(source, 10), "")
	})
}

// A relay forgets what it can't lease; then the source hands it out again, with
// all that follows.
func TestRecordsThatWereNotLeasedComeAgain(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		clock := newClock()
		source := r.source(func(cfg *lanes.Config) { cfg.Clock = clock })
		r.put("a", "a", "a", "b")
		records := r.next(source, 10)
		clock.push(lease*2/3, 0)
		awake(source)
		if leased, _, _ := source.Lease(records[1:2]); len(leased) > 0 {
			r.Fatalf("Lease gave %q", text(leased))
		}
		if !awake(source) {
			r.Fatal("it does not wake")
		}
		r.want(r.next(source, 10), "a2 a3")
		defer r.lease(source, records...)()
	})
}

func TestRemoveOfWhatIsGone(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		source := r.source()
		r.put("a", "a", "b")
		records := r.next(source, 10)
		r.remove(source, records[0])
		r.remove(source, records[:2]...)
		r.remove(source, records[:2]...)
		for _, id := range []string{"x", "0", "-1"} {
			if err := source.Remove(r.Context(), []outbox.Record{{ID: id}}); err == nil {
				r.Fatalf("Remove took the ID %q, which is no position", id)
			}
		}
		if left := r.memory.Pending(); len(left) != 1 {
			r.Fatalf("%d events are left, want b's", len(left))
		}
	})
}

// One of the records was never handed out: it stays. The others are removed,
// and what is handed out behind them comes again, since the relay forgets it.
func TestRemoveOfWhatIsNotHandedOut(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		source := r.source()
		r.put("a", "a", "b")
		records := r.next(source, 2)
		r.want(records, "a1 a2")
		awake(source)
		stranger := records[0]
		stranger.ID = "3"
		err := source.Remove(r.Context(), []outbox.Record{records[0], stranger})
		if !errors.Is(err, outbox.ErrLeaseLost) {
			r.Fatalf("Remove = %v; want ErrLeaseLost", err)
		}
		if !awake(source) {
			r.Fatal("it does not wake")
		}
		r.want(r.next(source, 10), "a2 b3")
	})
}

func TestSetAsideOfWhatIsNotHandedOut(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		source := r.source(holdBack)
		r.put("a", "a", "b")
		records := r.next(source, 2)
		stranger := records[0]
		stranger.ID = "3"
		r.refuse(source, stranger, outbox.ErrLeaseLost)
		r.want(r.next(source, 10), "a1 a2 b3")
	})
}

func TestRemoveReturnsWhatTheTableFailsWith(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		door := newDoor(r.memory)
		source := r.source(on(door))
		r.put("a")
		records := r.next(source, 10)
		door.set(func() { door.fail[lanestest.Delete] = errAway })
		if err := source.Remove(r.Context(), records); !errors.Is(err, errAway) {
			r.Fatalf("Remove = %v", err)
		}
		r.want(r.next(source, 10), "") // It is still handed out.
		source.Release(records)
		r.want(r.next(source, 10), "a1")
	})
}

// A query for what is owed must not find what is handed out: that could be
// removed before its answer comes, and would be handed out again.
func TestOwedRowsWaitForThoseThatAreHandedOut(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		source := r.source()
		r.put("a", "a", "a")
		records := r.next(source, 2)
		source.Reopened(records[0].Event.Ordering()) // Owed from the start.
		r.want(r.next(source, 10), "")
		awake(source)
		r.remove(source, records[0])
		if awake(source) {
			r.Fatal("it wakes while one is handed out still")
		}
		r.remove(source, records[1])
		if !awake(source) {
			r.Fatal("it does not wake")
		}
		r.want(r.next(source, 10), "a3")
	})
}

// What was owed turned out to begin at the very record that is handed out.
func TestOwedRowsWaitForTheOneThatTheyBeginWith(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		source := r.source()
		r.put("a", "a")
		records := r.next(source, 1)
		source.Reopened(records[0].Event.Ordering())
		r.want(r.next(source, 10), "")
		source.Release(records)
		r.want(r.next(source, 10), "a1 a2")
	})
}

func TestRecordsOfOneCallAreInTheOrderOfTheirPositions(t *testing.T) {
	t.Parallel()
	narrowAndWide(t, func(r *rig, source *lanes.Source) {
		late := r.begin("c")
		r.put("a", "b", "a")
		records := r.next(source, 10)
		r.want(records, "a2 b3 a4")
		source.Release(records)
		late.Commit()
		r.put("d", "c")
		r.want(r.next(source, 10), "c1 a2 b3 a4 d5 c6")
	})
}

// Of keys of which one record was released, and others of which there were more,
// the oldest come first, whatever the limit.
func TestReleasedRecordsComeOldestFirst(t *testing.T) {
	t.Parallel()
	for limit := 1; limit <= 5; limit++ {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			t.Parallel()
			bubble(t, func(r *rig) {
				source := r.source()
				r.put("a", "b", "a", "c", "d", "a", "d")
				source.Release(r.next(source, 10))
				var got []string
				for {
					records := r.next(source, limit)
					if len(records) == 0 {
						break
					}
					got = append(got, text(records))
				}
				if got, want := strings.Join(got, " "), "a1 b2 a3 c4 d5 a6 d7"; got != want {
					r.Fatalf("got %q, want %q", got, want)
				}
			})
		})
	}
}

// What is owed of a key begins earlier by the time that its rows come: all of them
// wait for the earlier one.
func TestReleaseWhileOwedRowsAreAskedFor(t *testing.T) {
	t.Parallel()
	for method, first := range map[lanestest.Method]int{
		lanestest.ReadAt: 2, // One record is owed,
		lanestest.ReadOf: 1, // or several.
	} {
		t.Run(string(method), func(t *testing.T) {
			t.Parallel()
			bubble(t, func(r *rig) {
				door := newDoor(r.memory)
				source := r.source(on(door))
				r.put("a", "a", "a")
				records := r.next(source, 10)
				source.Release(records[first:])
				answer := make(chan struct{})
				door.set(func() { door.after[method] = answer })
				got := r.ask(source, 10)
				source.Release(records[:first])
				close(answer)
				if got, want := <-got, "a1 a2 a3<nil>"; got != want {
					r.Fatalf("got %q, want %q", got, want)
				}
			})
		})
	}
}

// What is owed of a key is more by the time that its row comes.
func TestReleaseOfWhatFollowsWhileAnOwedRowIsAskedFor(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		door := newDoor(r.memory)
		source := r.source(on(door))
		r.put("a", "a")
		records := r.next(source, 10)
		source.Release(records[:1])
		answer := make(chan struct{})
		door.set(func() { door.after[lanestest.ReadAt] = answer })
		got := r.ask(source, 10)
		source.Release(records[1:])
		close(answer)
		if got, want := <-got, "a1 a2<nil>"; got != want {
			r.Fatalf("got %q, want %q", got, want)
		}
	})
}

// The rows of other keys were all that one query took: what a key owes begins no
// earlier than before, so that it does not wait for what is handed out of it.
func TestOwedRowsThatAQueryDidNotReachBeginWhereTheyDid(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		source := r.source()
		r.put("b", "b", "a", "a", "a")
		records := r.next(source, 10)
		source.Release(records[:2])
		source.Release(records[3:])
		r.want(r.next(source, 1), "b1")
		r.want(r.next(source, 10), "b2 a4 a5")
	})
}

func TestCallsOfNextWaitForEachOther(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		door := newDoor(r.memory)
		source := r.source(on(door))
		r.put("a", "a", "b", "b")
		gate := make(chan struct{})
		door.set(func() { door.before[lanestest.Read] = gate })
		first, second := r.ask(source, 2), r.ask(source, 2)
		ctx, cancel := context.WithCancel(r.Context())
		cancel()
		if _, err := source.Next(ctx, 2, nil); !errors.Is(err, context.Canceled) {
			r.Errorf("Next = %v while others wait; want that of its context", err)
		}
		close(gate)
		both := []string{<-first, <-second}
		slices.Sort(both)
		if want := []string{"a1 a2<nil>", "b3 b4<nil>"}; !slices.Equal(both, want) {
			r.Fatalf("got %q, want %q", both, want)
		}
	})
}
