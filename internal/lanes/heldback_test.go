package lanes_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/settleonce/settleonce/internal/lanes"
	"github.com/settleonce/settleonce/internal/lanes/lanestest"
	"github.com/settleonce/settleonce/outbox"
)

// firstOfTwo returns a source that holds back, its way to the table, and the first
// of two events of one ordering key, which is handed out.
func (r *rig) firstOfTwo() (*lanes.Source, *door, []outbox.Record) {
	r.Helper()
	door := newDoor(r.memory)
	source := r.source(on(door), holdBack)
	r.put("a", "a")
	return source, door, r.next(source, 1)
}

// refuse sets a record aside, and wants that to fail with an error, or not for nil.
func (r *rig) refuse(source *lanes.Source, record outbox.Record, want error) {
	r.Helper()
	if err := source.SetAside(r.Context(), record, outbox.Refusal{Reason: "no"}); !errors.Is(err, want) {
		r.Fatalf("SetAside = %v, want %v", err, want)
	}
}

func TestSetAsideHoldsBackOrGoesOn(t *testing.T) {
	t.Parallel()
	for _, hold := range []bool{true, false} {
		for _, here := range []bool{true, false} {
			for _, discard := range []bool{true, false} {
				t.Run(fmt.Sprintf("hold=%v here=%v discard=%v", hold, here, discard), func(t *testing.T) {
					t.Parallel()
					bubble(t, func(r *rig) { setAside(r, hold, here, discard) })
				})
			}
		}
	}
}

func setAside(r *rig, hold, here, discard bool) {
	r.Helper()
	source := r.source(func(cfg *lanes.Config) { cfg.HoldBack = hold })
	r.put("a", "a", "b", "a")
	records := r.next(source, 2)
	r.want(records, "a1 a2")
	if err := source.SetAside(r.Context(), records[0], outbox.Refusal{Reason: "no", Attempts: 3}); err != nil {
		r.Fatal(err)
	}
	source.Release(records[1:])
	rest := "a2 b3 a4"
	if hold {
		r.want(r.next(source, 10), "b3")
		rest = "a2 a4"
	} else {
		r.want(r.next(source, 10), rest)
		rest = ""
	}
	r.pass(lease)
	r.want(r.next(source, 10), "")

	var err error
	if discard {
		err = r.memory.Discard(r.Context(), "1", "nobody wants it")
	} else {
		err = r.memory.Requeue(r.Context(), "1")
		rest = strings.TrimSpace("a1 " + rest)
	}
	if err != nil {
		r.Fatal(err)
	}
	if here {
		source.Reopened(records[0].Event.Ordering())
	} else {
		r.pass(lease) // A renewal tells.
	}
	if rest != "" && !awake(source) {
		r.Fatal("it does not wake")
	}
	if hold {
		r.want(r.next(source, 10), rest)
		return
	}
	// All others are handed out still; the requeued one comes when they are done.
	source.Release([]outbox.Record{{ID: "2"}, {ID: "4"}})
	r.remove(source, outbox.Record{ID: "3"})
	r.want(r.next(source, 10), strings.TrimSpace(rest+" a2 a4"))
}

// It is not known whether the record became a dead letter: nothing that follows
// comes before that is known.
func TestSetAsideWithoutAnswerHoldsBackUntilItIsKnown(t *testing.T) {
	t.Parallel()
	for _, buried := range []bool{true, false} {
		t.Run(fmt.Sprint("buried=", buried), func(t *testing.T) {
			t.Parallel()
			bubble(t, func(r *rig) {
				source, door, records := r.firstOfTwo()
				door.set(func() {
					door.fail[lanestest.HeldBack] = errAway
					if buried {
						door.lose[lanestest.Bury] = errAway
					} else {
						door.fail[lanestest.Bury] = errAway
					}
				})
				r.refuse(source, records[0], errAway)
				source.Release(records)
				if got, err := source.Next(r.Context(), 10, nil); !errors.Is(err, errAway) || len(got) > 0 {
					r.Fatalf("Next = %q, %v", text(got), err)
				}
				door.set(func() { clear(door.fail) })
				want := "a1 a2"
				if buried {
					want = ""
				}
				r.pass(lease)
				r.want(r.next(source, 10), want)
			})
		})
	}
}

// A record that is gone when it is set aside makes no dead letter, and so holds
// nothing back for long.
func TestSetAsideOfWhatIsGoneHoldsBackUntilTheNextRescan(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		source, door, records := r.firstOfTwo()
		takesEffect := make(chan struct{})
		door.set(func() { door.late[lanestest.Delete] = takesEffect })
		if err := source.Remove(r.Context(), records); !errors.Is(err, errAway) {
			r.Fatalf("Remove = %v", err)
		}
		source.Release(records)
		records = r.next(source, 1)
		close(takesEffect)
		r.until("the record is gone", func() bool { return len(r.memory.Pending()) == 1 })
		r.refuse(source, records[0], nil)
		r.want(r.next(source, 1), "")
		r.pass(lanes.DefaultRescan)
		r.want(r.next(source, 1), "a2")
	})
}

// Whoever takes lanes over knows what is held back in them before it reads.
func TestTakenLanesKnowWhatIsHeldBack(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		first := r.source(holdBack)
		r.put("a", "a", "b")
		records := r.next(first, 1)
		r.refuse(first, records[0], nil)
		if err := first.Close(r.Context()); err != nil {
			r.Fatal(err)
		}
		second := r.source()
		r.want(r.next(second, 10), "b3")
		if got := second.State().HeldBack; got != 1 {
			r.Fatalf("%d keys are held back, want 1", got)
		}
	})
}

func TestNextAsksUntilItKnowsWhatIsHeldBack(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		door := newDoor(r.memory)
		source := r.source(on(door))
		r.put("a")
		door.set(func() { door.fail[lanestest.HeldBack] = errAway })
		for range 2 {
			if records, err := source.Next(r.Context(), 1, nil); !errors.Is(err, errAway) {
				r.Fatalf("Next = %q, %v", text(records), err)
			}
		}
		door.set(func() { clear(door.fail) })
		r.want(r.next(source, 1), "a1")
	})
}

func TestNothingFollowsWhileARecordIsSetAside(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		source, door, records := r.firstOfTwo()
		gate := make(chan struct{})
		door.set(func() { door.before[lanestest.Bury] = gate })
		set := make(chan error, 1)
		go func() {
			set <- source.SetAside(context.WithoutCancel(r.Context()), records[0], outbox.Refusal{Reason: "no"})
		}()
		synctest.Wait()
		r.want(r.next(source, 10), "")
		// Nor when it is asked what is held back, which is nothing yet.
		source.Reopened(records[0].Event.Ordering())
		r.want(r.next(source, 10), "")
		close(gate)
		if err := <-set; err != nil {
			r.Fatalf("SetAside = %v", err)
		}
		r.want(r.next(source, 10), "")
	})
}

// The call that was given up takes effect when what follows is handed out.
func TestSetAsideThatTakesEffectLateHoldsNothingBack(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		source, door, records := r.firstOfTwo()
		gate := make(chan struct{})
		door.set(func() { door.late[lanestest.Bury] = gate })
		r.refuse(source, records[0], errAway)
		source.Release(records)
		r.pass(lease)
		r.want(r.next(source, 1), "a1")
		close(gate)
		synctest.Wait()
		if letters, err := r.memory.DeadLetters(r.Context(), "", 10); err != nil || len(letters) > 0 {
			r.Fatalf("there are %d dead letters, %v", len(letters), err)
		}
		r.want(r.next(source, 1), "a2")
	})
}

// The same in a round that has passed the place where it raises the epoch: only
// the next one may ask what is held back.
func TestSetAsideDuringARoundHoldsBackUntilTheNextOne(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		door := newDoor(r.memory)
		source, rival := r.source(on(door), holdBack), r.source()
		r.next(source, 1)
		r.next(rival, 1)
		r.until("they share", func() bool { return slices.Equal(lanesOf(source, rival), []int{128, 128}) })
		key := r.keysOf(1, 1)[0]
		r.put(key, key)
		records := r.next(source, 1)

		taken, renewed, buried := make(chan struct{}), make(chan struct{}), make(chan struct{})
		took := door.count(lanestest.Take)
		door.set(func() { door.before[lanestest.Take] = taken })
		if err := rival.Close(r.Context()); err != nil {
			r.Fatal(err)
		}
		r.until("it takes lanes", func() bool { return door.count(lanestest.Take) > took })
		door.set(func() { door.before[lanestest.Renew], door.late[lanestest.Bury] = renewed, buried })
		r.refuse(source, records[0], errAway)
		source.Release(records)
		close(taken)
		synctest.Wait() // That round is over, and the next one renews.
		close(buried)
		synctest.Wait()
		close(renewed)
		r.want(r.next(source, 10), "")
	})
}

// What is held back was read before a record was set aside, and the answer comes
// after it.
func TestOldAnswerDoesNotLetGo(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		door := newDoor(r.memory)
		source := r.source(on(door), holdBack)
		r.put("x", "a", "a")
		records := r.next(source, 2)
		r.refuse(source, records[0], nil)
		answer := make(chan struct{})
		door.set(func() { door.after[lanestest.HeldBack] = answer })
		if err := r.memory.Requeue(r.Context(), "1"); err != nil {
			r.Fatal(err)
		}
		asked := door.count(lanestest.HeldBack)
		r.until("it asks what is held back", func() bool { return door.count(lanestest.HeldBack) > asked })
		r.refuse(source, records[1], nil)
		close(answer)
		r.pass(time.Millisecond)
		r.want(r.next(source, 10), "x1")
	})
}
