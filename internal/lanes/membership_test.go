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

func TestFirstNextJoins(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		door := newDoor(r.memory)
		source := r.source(on(door))
		r.put("a")
		r.pass(time.Minute)
		if n := door.total(); n > 0 {
			r.Fatalf("%d calls to the table before the first Next", n)
		}
		r.want(r.next(source, 10), "a1")
		if got := source.State(); got.Held != lanes.Count || got.Relays != 1 || got.Frontier != 1 {
			r.Fatalf("State = %+v; want all lanes, one relay, frontier 1", got)
		}
	})
}

func TestNextReturnsWhatJoiningFailsWith(t *testing.T) {
	t.Parallel()
	for _, method := range []lanestest.Method{
		lanestest.Join, lanestest.Renew, lanestest.Take, lanestest.HeldBack, lanestest.Read,
	} {
		t.Run(string(method), func(t *testing.T) {
			t.Parallel()
			bubble(t, func(r *rig) {
				door := newDoor(r.memory)
				source := r.source(on(door))
				r.put("a")
				door.set(func() { door.fail[method] = errAway })
				if records, err := source.Next(r.Context(), 10, nil); !errors.Is(err, errAway) || len(records) > 0 {
					r.Fatalf("Next = %q, %v; want what the table failed with", text(records), err)
				}
				door.set(func() { delete(door.fail, method) })
				r.until("it hands out", func() bool { return text(r.next(source, 10)) == "a1" })
			})
		})
	}
}

// Two relays that divide 256 lanes, three, and two again: at no time does the
// table see two of them use one lane, and nothing is delivered twice.
func TestRelaysShareLanes(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		var crew []*worker
		join := func() { crew = append(crew, r.worker()) }
		work := func(want []int) {
			r.Helper()
			r.until("the lanes are shared out", func() bool {
				r.put("a", "b", "c", "d", "e", "f", "g", "h")
				for _, w := range crew {
					w.work()
				}
				return slices.Equal(slices.Sorted(slices.Values(held(crew))), want)
			})
		}
		join()
		work([]int{256})
		join()
		work([]int{128, 128})
		join()
		work([]int{84, 86, 86})
		if err := crew[0].source.Close(r.Context()); err != nil {
			r.Fatal(err)
		}
		crew = crew[1:]
		work([]int{128, 128})
		r.until("all is delivered", func() bool {
			for _, w := range crew {
				w.work()
			}
			return len(r.memory.Pending()) == 0
		})
		if r.twice > 0 {
			r.Fatalf("%d events were delivered again", r.twice)
		}
	})
}

// worker is a relay that delivers two steps after it was handed something, so
// that leases are open at all times.
type worker struct {
	*rig
	source *lanes.Source
	hand   []outbox.Record
	calls  []func()
}

func (r *rig) worker() *worker {
	return &worker{rig: r, source: r.source()}
}

func held(crew []*worker) []int {
	var sources []*lanes.Source
	for _, w := range crew {
		sources = append(sources, w.source)
	}
	return lanesOf(sources...)
}

func (w *worker) work() {
	w.Helper()
	if len(w.calls) > 1 {
		w.calls[0]()
		w.calls = w.calls[1:]
	}
	except := make(map[string]struct{})
	for i := range w.hand {
		except[w.hand[i].Event.Ordering()] = struct{}{}
	}
	records, err := w.source.Next(w.Context(), 3, except)
	if err != nil {
		w.Fatal(err)
	}
	leased, until, done := w.source.Lease(records)
	if left := time.Until(until); len(leased) > 0 && (left <= 0 || left > lease) {
		w.Fatalf("the lease lasts for %v", left)
	}
	w.hand = append(w.hand, leased...)
	w.calls = append(w.calls, func() {
		w.Helper()
		defer done()
		if len(leased) == 0 {
			return
		}
		for i := range leased {
			if w.delivered[leased[i].ID] {
				w.twice++
			}
			w.delivered[leased[i].ID] = true
		}
		w.remove(w.source, leased...)
		w.hand = w.hand[len(leased):]
	})
}

func TestRelayThatDiedIsTakenOverWithinTheLease(t *testing.T) {
	t.Parallel()
	for _, sinceRenewal := range []time.Duration{0, time.Second, 2 * time.Second} {
		t.Run(sinceRenewal.String(), func(t *testing.T) {
			t.Parallel()
			bubble(t, func(r *rig) {
				door := newDoor(r.memory)
				dead := r.source(on(door))
				r.put("a")
				r.want(r.next(dead, 1), "a1")
				alive := r.source()
				r.next(alive, 1)
				r.until("they share", func() bool { return slices.Equal(lanesOf(dead, alive), []int{128, 128}) })
				r.pass(sinceRenewal)
				door.set(func() {
					for _, method := range []lanestest.Method{
						lanestest.Join, lanestest.Renew, lanestest.Take, lanestest.Give, lanestest.Leave,
					} {
						door.fail[method] = errAway
					}
				})
				took := r.until("it is taken over", func() bool {
					overlap(r, dead, alive)
					return alive.State().Held == lanes.Count
				})
				if took > lease {
					r.Fatalf("it took %v, longer than the lease of %v", took, lease)
				}
				r.want(r.next(alive, 10), "a1")
			})
		})
	}
}

// overlap fails if a source takes its lease to last although the other holds
// lanes that the first believes to hold.
func overlap(r *rig, dead, alive *lanes.Source) {
	r.Helper()
	if alive.State().Held > 128 && dead.State().Lease > 0 {
		r.Fatal("its lanes are another's before its lease is over")
	}
}

// A machine that was suspended has a wall clock that went on, and a monotonic
// one that did not; where the wall clock is set back, only the other tells.
func TestLeaseEndsByEitherClock(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name            string
		wall, monotonic time.Duration
		ends            bool
	}{
		{"neither", 0, 0, false},
		{"both go on for a while", lease / 2, lease / 2, false},
		{"both go on", lease, lease, true},
		{"suspended for a while", lease / 2, 0, false},
		{"suspended", lease, 0, true},
		{"paused while the wall clock was set back", -time.Hour, lease, true},
		{"paused while the wall clock was set back by as much", 0, lease, true},
		{"the wall clock a little behind the other", lease*5/8 - lease/128, lease*5/8 + lease/128, true},
		{"the wall clock set back", -time.Second, 0, true},
		{"the wall clock corrected", -10 * time.Millisecond, 0, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(r *rig) {
				clock := newClock()
				door := newDoor(r.memory)
				source := r.source(on(door), func(cfg *lanes.Config) { cfg.Clock = clock })
				r.put("a")
				records := r.next(source, 10)
				door.set(func() { door.fail[lanestest.Renew] = errAway })
				clock.push(test.wall, test.monotonic)
				leased, until, done := source.Lease(records)
				defer done()
				if ends := len(leased) == 0; ends != test.ends {
					r.Fatalf("Lease gave %q until %v", text(leased), until)
				}
				if !test.ends {
					want := lease*5/8 - max(test.wall, test.monotonic)
					if left := until.Sub(clock.Now().Wall); left != want {
						r.Fatalf("the lease lasts for %v, want %v", left, want)
					}
					return
				}
				clock.push(-test.wall, 0) // It does not come back by itself.
				if leased, _, _ := source.Lease(records); len(leased) > 0 {
					r.Fatal("the wall clock was set, and the lease lasts again")
				}
				if _, err := source.Next(r.Context(), 10, nil); !errors.Is(err, errAway) {
					r.Fatalf("Next = %v; want what the renewal failed with", err)
				}
				door.set(func() { delete(door.fail, lanestest.Renew) })
				r.want(r.next(source, 10), "a1")
			})
		})
	}
}

// The table counted from when it got the request, or earlier.
func TestRenewalCountsFromWhenItWasSent(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		clock := newClock()
		door := newDoor(r.memory)
		source := r.source(on(door), func(cfg *lanes.Config) { cfg.Clock = clock })
		r.put("a")
		records := r.next(source, 10)
		answer := make(chan struct{})
		renewals := door.count(lanestest.Renew)
		door.set(func() { door.after[lanestest.Renew] = answer })
		r.until("it renews", func() bool { return door.count(lanestest.Renew) > renewals })
		clock.push(lease, lease)
		close(answer)
		synctest.Wait()
		if leased, until, _ := source.Lease(records); len(leased) > 0 {
			r.Fatalf("Lease gave %q until %v, though the renewal was sent a lease ago", text(leased), until)
		}
	})
}

func TestRelayThatWakesAfterItsLanesWereTakenJoinsAnew(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		clock := newClock()
		source := r.source(func(cfg *lanes.Config) { cfg.Clock = clock })
		r.put("a")
		first := r.next(source, 10)
		r.lease(source, first...)()
		r.steal()
		clock.push(lease, 0)
		if leased, _, _ := source.Lease(first); len(leased) > 0 {
			r.Fatalf("Lease gave %q after the pause", text(leased))
		}
		r.want(r.next(source, 10), "a1")
		if holder := r.memory.HolderOf(r.memory.LaneOf(first[0].Event.Ordering())); holder != 3 {
			r.Fatalf("the lane is relay %d's, want 3's, the new one", holder)
		}
	})
}

// steal lets the first membership end, has another relay notice, and leave again.
func (r *rig) steal() {
	r.Helper()
	r.memory.Expire(1)
	ticket, err := r.memory.Join(r.Context(), lease)
	if err != nil {
		r.Fatal(err)
	}
	if _, err := r.memory.Renew(r.Context(), ticket, lease); err != nil {
		r.Fatal(err)
	}
	if err := r.memory.Leave(r.Context(), ticket); err != nil {
		r.Fatal(err)
	}
}

func TestLossWakes(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		source := r.source(func(cfg *lanes.Config) { cfg.MinPoll, cfg.MaxPoll = time.Hour, time.Hour })
		r.next(source, 1)
		awake(source)
		r.steal()
		r.until("it notices", func() bool { return source.State().Held == 0 })
		if !awake(source) {
			r.Fatal("it does not wake, to join anew")
		}
	})
}

func TestWriteAfterTheLossDoesNothing(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]func(*rig, *lanes.Source, outbox.Record) error{
		"Remove": func(r *rig, source *lanes.Source, record outbox.Record) error {
			return source.Remove(r.Context(), []outbox.Record{record})
		},
		"SetAside": func(r *rig, source *lanes.Source, record outbox.Record) error {
			return source.SetAside(r.Context(), record, outbox.Refusal{Reason: "no"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(r *rig) {
				source := r.source(holdBack)
				r.put("a", "a")
				records := r.next(source, 10)
				defer r.lease(source, records...)()
				r.steal()
				if err := write(r, source, records[0]); !errors.Is(err, outbox.ErrLeaseLost) {
					r.Fatalf("the write = %v; want ErrLeaseLost", err)
				}
				if got := source.State().Held; got != 0 {
					r.Fatalf("it still believes in %d lanes", got)
				}
				r.want(r.next(source, 10), "a1 a2")
			})
		})
	}
}

func TestLanesInUseAreNotGivenUp(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		first := r.source()
		r.put("b", "a")
		records := r.next(first, 10)
		r.remove(first, records[0])
		records, _, done := first.Lease(records)
		r.want(records, "a2")
		again := r.lease(first, records...)
		again()
		again() // Nothing ends twice.
		second := r.source()
		r.next(second, 1)
		// All but one lane could go; they go together.
		r.pass(2 * lease)
		lane := r.memory.LaneOf(records[0].Event.Ordering())
		if holder := r.memory.HolderOf(lane); holder != 1 {
			r.Fatalf("the lane of an open lease is relay %d's", holder)
		}
		r.remove(first, records...)
		done()
		r.until("they share", func() bool { return slices.Equal(lanesOf(first, second), []int{128, 128}) })
	})
}

// Everything is in use, so what is given up is too, until the calls end.
func TestGivingUpWaitsForCalls(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		first, records, done := r.fullHouse()
		second := r.source()
		r.next(second, 1)
		r.until("it is about to give up", func() bool { return first.State().Giving == 128 })
		r.pass(2 * lease)
		if got := lanesOf(first, second); !slices.Equal(got, []int{128, 0}) {
			r.Fatalf("they hold %v while all calls are out, want 128 and, to be given up, none", got)
		}
		for lane := range lanes.Count {
			r.put(decimal(lane))
		}
		if got := r.next(first, 2*lanes.Count); len(got) != 128 {
			r.Fatalf("%d records came; want those of the 128 lanes that stay", len(got))
		}
		r.remove(first, records...)
		done()
		synctest.Wait() // The last call to end lets go at once.
		if got := first.State(); got.Giving != 0 || got.Held != 128 {
			r.Fatalf("after the calls it holds %d and gives %d", got.Held, got.Giving)
		}
		r.until("they share", func() bool { return slices.Equal(lanesOf(first, second), []int{128, 128}) })
	})
}

// fullHouse returns a source that has an open lease in each of its lanes.
func (r *rig) fullHouse() (*lanes.Source, []outbox.Record, func()) {
	r.Helper()
	full := lanestest.NewMemory(lanestest.MemoryConfig{LaneOf: func(ordering string) lanes.Lane {
		n := 0
		for _, digit := range ordering[len("acme//"):] {
			n = 10*n + int(digit-'0')
		}
		return lanes.Lane(n % lanes.Count)
	}})
	r.memory = full
	for lane := range lanes.Count {
		r.put(decimal(lane))
	}
	source := r.source()
	records := r.next(source, lanes.Count)
	return source, records, r.lease(source, records...)
}

// A write that is on its way with the old epoch while other lanes are given up
// is made once more with the new one.
func TestWriteOutlivesAnEpoch(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		door := newDoor(r.memory)
		source := r.source(on(door))
		r.put("a")
		records := r.next(source, 10)
		defer r.lease(source, records...)()
		gate := make(chan struct{})
		door.set(func() { door.before[lanestest.Delete] = gate })
		removed := make(chan error, 1)
		go func() { removed <- source.Remove(context.WithoutCancel(r.Context()), records) }()
		synctest.Wait()
		rival := r.source()
		r.next(rival, 1)
		r.until("lanes were given up", func() bool { return slices.Equal(lanesOf(source, rival), []int{128, 128}) })
		close(gate)
		if err := <-removed; err != nil {
			r.Fatalf("Remove = %v", err)
		}
		if left := r.memory.Pending(); len(left) > 0 {
			r.Fatalf("%d events are still there", len(left))
		}
		if n := door.count(lanestest.Delete); n != 2 {
			r.Fatalf("%d calls of Delete, want one for each epoch", n)
		}
	})
}

// A write finds the old epoch ended before the answer has told the new one.
func TestWriteWaitsForTheNextEpoch(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		door := newDoor(r.memory)
		source := r.source(on(door))
		r.put("a")
		records := r.next(source, 10)
		defer r.lease(source, records...)()
		answer := make(chan struct{})
		door.set(func() { door.after[lanestest.Give] = answer })
		r.next(r.source(), 1)
		r.until("it gives up lanes", func() bool { return door.count(lanestest.Give) > 0 })
		removed := make(chan error, 1)
		go func() { removed <- source.Remove(context.WithoutCancel(r.Context()), records) }()
		synctest.Wait()
		close(answer)
		if err := <-removed; err != nil {
			r.Fatalf("Remove = %v", err)
		}
	})
}

// Without the answer to Take or Give a relay does not know what it holds.
func TestRelayLeavesAfterALostAnswer(t *testing.T) {
	t.Parallel()
	for _, method := range []lanestest.Method{lanestest.Take, lanestest.Give} {
		t.Run(string(method), func(t *testing.T) {
			t.Parallel()
			bubble(t, func(r *rig) {
				door := newDoor(r.memory)
				source := r.source(on(door))
				if method == lanestest.Give {
					r.next(source, 1)
				}
				door.set(func() { door.lose[method] = errAway })
				rival := r.source()
				r.next(rival, 1)
				_, _ = source.Next(r.Context(), 1, nil)
				r.until("it leaves", func() bool { return door.count(lanestest.Leave) > 0 })
				door.set(func() { clear(door.lose) })
				r.until("it joins again, and they share", func() bool {
					_, err := source.Next(r.Context(), 1, nil)
					return err == nil && slices.Equal(lanesOf(source, rival), []int{128, 128})
				})
			})
		})
	}
}

func TestCloseWaitsForOpenLeases(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		source := r.source()
		r.put("a", "b")
		records := r.next(source, 10)
		done := r.lease(source, records[0])
		closed := make(chan error, 1)
		go func() { closed <- source.Close(context.WithoutCancel(r.Context())) }()
		r.pass(time.Second)
		select {
		case err := <-closed:
			r.Fatalf("Close = %v while a lease is open", err)
		default:
		}
		if leased, _, _ := source.Lease(records[1:]); len(leased) > 0 {
			r.Fatal("it still leases")
		}
		if _, err := source.Next(r.Context(), 1, nil); !errors.Is(err, outbox.ErrClosed) {
			r.Fatalf("Next = %v; want ErrClosed", err)
		}
		r.remove(source, records[0])
		done()
		if err := <-closed; err != nil {
			r.Fatalf("Close = %v", err)
		}
		if holder := r.memory.HolderOf(0); holder != 0 {
			r.Fatalf("a lane is still relay %d's", holder)
		}
	})
}

// A call that never ends is given up with its lease.
func TestCloseWaitsNoLongerThanALease(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		source := r.source()
		r.put("a")
		_ = r.lease(source, r.next(source, 10)...)
		ctx, cancel := context.WithTimeout(r.Context(), time.Second)
		defer cancel()
		if err := source.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			r.Fatalf("Close = %v; want that of its context", err)
		}
		began := time.Now()
		if err := source.Close(r.Context()); err != nil {
			r.Fatalf("Close = %v", err)
		}
		if took := time.Since(began); took > lease {
			r.Fatalf("Close took %v", took)
		}
	})
}

func TestCloseWhileItJoins(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		door := newDoor(r.memory)
		source := r.source(on(door))
		answer := make(chan struct{})
		door.set(func() { door.after[lanestest.Join] = answer })
		joined := make(chan error, 1)
		go func() {
			_, err := source.Next(context.WithoutCancel(r.Context()), 1, nil)
			joined <- err
		}()
		synctest.Wait()
		closed := make(chan error, 1)
		go func() { closed <- source.Close(context.WithoutCancel(r.Context())) }()
		synctest.Wait()
		close(answer)
		if err := <-joined; !errors.Is(err, outbox.ErrClosed) {
			r.Errorf("Next = %v; want ErrClosed", err)
		}
		r.until("it has left", func() bool { return len(closed) > 0 })
		if err := <-closed; err != nil {
			r.Fatalf("Close = %v", err)
		}
	})
}

func TestCloseTellsThatItCouldNotLeave(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		door := newDoor(r.memory)
		source := r.source(on(door))
		r.next(source, 1)
		door.set(func() { door.fail[lanestest.Leave] = errAway })
		if err := source.Close(r.Context()); !errors.Is(err, errAway) {
			r.Fatalf("Close = %v; want what Leave failed with", err)
		}
	})
}

func TestRenewalThatHangsIsGivenUp(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		door := newDoor(r.memory)
		source := r.source(on(door))
		r.next(source, 1)
		door.set(func() { door.before[lanestest.Renew] = make(chan struct{}) })
		r.until("it is given up", func() bool { return errors.Is(source.State().Err, context.DeadlineExceeded) })
		if source.State().Lease <= 0 {
			r.Fatal("no time is left to renew in")
		}
		door.set(func() { clear(door.before) })
	})
}

func TestStateTellsWhatTheBackgroundFailsWith(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		door := newDoor(r.memory)
		source := r.source(on(door))
		r.next(source, 1)
		door.set(func() { door.fail[lanestest.Renew] = errAway })
		r.until("it tells", func() bool { return errors.Is(source.State().Err, errAway) })
		failed := door.count(lanestest.Renew)
		r.pass(2 * time.Second)
		if again := door.count(lanestest.Renew); again < failed+2 {
			r.Fatalf("%d renewals in two seconds; want more of them, quickly", again-failed)
		}
		door.set(func() { delete(door.fail, lanestest.Renew) })
		r.until("it is well", func() bool { return source.State().Err == nil })
	})
}
