package lanes_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/settleonce/settleonce/internal/lanes"
	"github.com/settleonce/settleonce/internal/lanes/lanestest"
	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/outbox/event"
)

// A backlog of keys that are left out is passed over, in calls that are bounded,
// and comes in order later.
func TestBacklogOfKeysThatAreLeftOut(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		source := r.source()
		const backlog = 40_000
		var keys []string
		for n := range backlog {
			keys = append(keys, []string{"a", "b"}[n%2])
		}
		r.begin(keys...).Commit()
		r.put("c")
		calls := 0
		r.until("what stands behind the backlog comes", func() bool {
			calls++
			records := r.next(source, 10, "a", "b")
			if len(records) == 0 && !awake(source) {
				r.Fatal("it neither hands anything out nor wakes")
			}
			return text(records) == fmt.Sprint("c", backlog+1)
		})
		if calls < 2 {
			r.Fatal("one call read all of the backlog")
		}
		var got []string
		for _, limit := range []int{3, 4, 5} {
			records := r.next(source, limit, "b")
			got = append(got, text(records))
			r.remove(source, records...)
		}
		if want := "a1 a3 a5 a7 a9 a11 a13 a15 a17 a19 a21 a23"; strings.Join(got, " ") != want {
			r.Fatalf("got %q, want %q", got, want)
		}
		r.want(r.next(source, 3), "b2 b4 b6")
	})
}

// Of many keys that owe something and are left out, those that no longer are
// come soon.
func TestManyKeysAreLeftOut(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		source := r.source()
		var keys []string
		for n := range 60_000 {
			keys = append(keys, decimal(n))
		}
		r.begin(keys...).Commit()
		except := r.except(keys...)
		ask := func() (got string) {
			r.Helper()
			for more := true; more && got == ""; more = awake(source) {
				records, err := source.Next(r.Context(), 10, except)
				if err != nil {
					r.Fatal(err)
				}
				got = text(records)
			}
			return got
		}
		if got := ask(); got != "" {
			r.Fatalf("got %q, which is to be left out", got)
		}
		for _, n := range []int{59_998, 3, 12_345, 48_000, 38_000} {
			for ordering := range r.except(decimal(n)) {
				delete(except, ordering)
			}
			if got, want := ask(), decimal(n)+decimal(n+1); got != want {
				r.Fatalf("got %q, want %q", got, want)
			}
		}
	})
}

// Lanes that are taken later have a backlog below the frontier of the others.
func TestTakenLanesAreCaughtUpWith(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		first, records, done := r.fullHouse()
		r.remove(first, records...)
		done()
		second := r.source()
		r.next(second, 1)
		r.until("they share", func() bool { return slices.Equal(lanesOf(first, second), []int{128, 128}) })
		late := r.begin("7", "135")
		for lane := range lanes.Count {
			r.put(decimal(1000*lanes.Count + lane))
		}
		mine := r.next(second, 2*lanes.Count)
		if len(mine) != 128 {
			r.Fatalf("got %d records of 128 lanes", len(mine))
		}
		late.Commit()
		r.put("7", "135")
		if err := first.Close(r.Context()); err != nil {
			r.Fatal(err)
		}
		r.until("it holds all", func() bool { return lanesOf(second)[0] == lanes.Count })
		last := make(map[string]int64)
		count := 0
		for {
			got := r.next(second, 10)
			for i := range got {
				key, at := got[i].Event.OrderingKey, position(got[i])
				if at < last[key] {
					r.Fatalf("%s%d came after %s%d", key, at, key, last[key])
				}
				last[key] = at
			}
			if count += len(got); len(got) == 0 {
				break
			}
		}
		if want := 128 + 4; count != want {
			r.Fatalf("%d records came of the lanes that were taken, and late; want %d", count, want)
		}
	})
}

// What is in doubt stays so when the lanes are read on together with others.
func TestTakenLanesKeepWhatIsInDoubt(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		door := newDoor(r.memory)
		first, second := r.source(on(door)), r.source()
		first.SetNarrow(0)
		r.next(first, 1)
		r.next(second, 1)
		r.until("they share", func() bool { return slices.Equal(lanesOf(first, second), []int{128, 128}) })
		mine := r.keysOf(1, 3)
		late := r.begin(mine[0])
		r.put(mine[1])
		r.want(r.next(first, 10), mine[1]+"2")
		late.Commit()
		door.set(func() { door.fail[lanestest.Heads] = errAway })
		r.put(mine[2])
		r.want(r.next(first, 10), mine[2]+"3")
		r.until("the sweep fails", func() bool { return errors.Is(first.State().Err, errAway) })
		if err := second.Close(r.Context()); err != nil {
			r.Fatal(err)
		}
		r.until("it holds all", func() bool { return lanesOf(first)[0] == lanes.Count })
		r.want(r.next(first, 10), "")
		r.put(mine[0])
		r.want(r.next(first, 10), mine[0]+"1 "+mine[0]+"4")
	})
}

func TestKeysAreForgottenWhenNothingOfThemIsLeft(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		source := r.source()
		for range 10 {
			for n := range 50 {
				r.put(decimal(n % 20))
			}
			records := r.next(source, 30, "3", "4")
			source.Release(records[10:])
			r.remove(source, records[:10]...)
			for len(records) > 0 {
				records = r.next(source, 30)
				r.remove(source, records...)
			}
			if got := source.State().Keys; got != 0 {
				r.Fatalf("%d keys are remembered of which nothing is left", got)
			}
		}
	})
}

func TestKeysAreForgottenOfWhichAllIsGone(t *testing.T) {
	t.Parallel()
	for _, keys := range [][]string{{"a"}, {"a", "a"}} {
		t.Run(fmt.Sprint(keys), func(t *testing.T) {
			t.Parallel()
			bubble(t, func(r *rig) {
				source := r.source()
				r.put(keys...)
				source.Release(r.next(source, 10))
				if err := r.memory.Delete(r.Context(), lanes.Ticket{ID: 1, Epoch: 1}, []int64{1, 2}); err != nil {
					r.Fatal(err)
				}
				r.want(r.next(source, 10), "")
				if got := source.State().Keys; got != 0 {
					r.Fatalf("%d keys are remembered of which all is gone", got)
				}
			})
		})
	}
}

// Of a key that is held back nothing else is remembered, whoever comes across it.
func TestHeldBackKeysAreForgotten(t *testing.T) {
	t.Parallel()
	for name, giveBack := range map[string]func(r *rig, source *lanes.Source, rest []outbox.Record){
		"Release": func(_ *rig, source *lanes.Source, rest []outbox.Record) { source.Release(rest) },
		"Remove": func(r *rig, source *lanes.Source, rest []outbox.Record) {
			stranger := rest[0]
			stranger.ID = "3"
			if err := source.Remove(r.Context(), []outbox.Record{stranger}); !errors.Is(err, outbox.ErrLeaseLost) {
				r.Fatalf("Remove = %v", err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(r *rig) {
				source := r.source(holdBack)
				r.put("a", "a", "b")
				records := r.next(source, 2)
				r.refuse(source, records[0], nil)
				giveBack(r, source, records[1:])
				r.remove(source, r.next(source, 1)...)
				r.pass(lanes.DefaultRescan)
				if got := source.State(); got.Keys != 0 || got.HeldBack != 1 {
					r.Fatalf("State = %+v; want nothing remembered but that one key is held back", got)
				}
			})
		})
	}
}

// half returns a source that holds half of the lanes, some ordering keys of the
// others and one of its own, and what lets it take the others.
func (r *rig) half() (source *lanes.Source, others []string, own string, takeOver func()) {
	r.Helper()
	rival, err := r.memory.Join(r.Context(), time.Hour)
	if err != nil {
		r.Fatal(err)
	}
	if _, err := r.memory.Take(r.Context(), rival, lanes.Count/2); err != nil {
		r.Fatal(err)
	}
	source = r.source()
	r.next(source, 1)
	return source, r.keysOf(1, 2), r.keysOf(2, 1)[0], func() {
		r.Helper()
		if err := r.memory.Leave(r.Context(), rival); err != nil {
			r.Fatal(err)
		}
		r.until("it holds all", func() bool { return lanesOf(source)[0] == lanes.Count })
	}
}

// A lane that is caught up with has more of a key than what was released of it.
func TestReleasedRecordsOfALaneThatIsCaughtUpWith(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		source, others, own, takeOver := r.half()
		key := others[0]
		r.put(key, key, key, own)
		r.want(r.next(source, 10), own+"4")
		takeOver()
		source.Release(r.next(source, 2))
		r.want(r.next(source, 10), fmt.Sprintf("%[1]s1 %[1]s2 %[1]s3", key))
	})
}

// The query that reaches where the others stand brings more than may be handed out.
func TestLimitOfACallThatCatchesUp(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		source, others, own, takeOver := r.half()
		leftOut, key := others[0], others[1]
		r.put(leftOut, leftOut, key, key, key, own)
		r.want(r.next(source, 10), own+"6")
		takeOver()
		r.want(r.next(source, 2, leftOut), fmt.Sprintf("%[1]s3 %[1]s4", key))
		r.want(r.next(source, 10, leftOut), key+"5")
	})
}

// What comes when the lanes are not held any more, or about to be given up, is not
// handed out.
func TestNextThatTheLanesAreLostUnder(t *testing.T) {
	t.Parallel()
	ends := map[string]func(r *rig, source *lanes.Source){
		"closed": func(r *rig, source *lanes.Source) {
			ctx, cancel := context.WithCancel(r.Context())
			cancel()
			if err := source.Close(ctx); !errors.Is(err, context.Canceled) {
				r.Fatalf("Close = %v while a lease is open", err)
			}
		},
		"lost": func(r *rig, source *lanes.Source) {
			r.steal()
			r.until("it notices", func() bool { return source.State().Held == 0 })
		},
	}
	for method, first := range map[lanestest.Method]int{
		lanestest.Read: 2, lanestest.ReadAt: 1, lanestest.ReadOf: 0, // What is new, one that is owed, and several.
	} {
		for name, end := range ends {
			t.Run(fmt.Sprint(method, name), func(t *testing.T) {
				t.Parallel()
				bubble(t, func(r *rig) {
					door := newDoor(r.memory)
					source := r.source(on(door))
					r.put("a", "a", "c")
					records := r.next(source, 10)
					defer r.lease(source, records[2])()
					source.Release(records[first:2])
					r.put("b")
					answer := make(chan struct{})
					door.set(func() { door.after[method] = answer })
					got := r.ask(source, 10)
					end(r, source)
					close(answer)
					if got := <-got; got != "<nil>" {
						r.Fatalf("got %q, want nothing", got)
					}
				})
			})
		}
	}
}

// Nothing is below the frontier but what the taken lanes bring.
func TestTakenLanesAreReadFromTheStart(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		first, records, done := r.fullHouse()
		second := r.source()
		r.next(second, 1)
		done()
		r.until("they share", func() bool { return slices.Equal(lanesOf(first, second), []int{128, 128}) })
		if got := first.State().Keys; got != 128 {
			r.Fatalf("it remembers %d keys of 128 lanes with one each", got)
		}
		if got := len(r.next(second, lanes.Count)); got != 128 {
			r.Fatalf("%d of 128 records came of the lanes that were given up", got)
		}
		for lane := range lanes.Count {
			r.put(decimal(lane)) // Past the frontier of both.
		}
		r.next(first, lanes.Count)
		if err := second.Close(r.Context()); err != nil {
			r.Fatal(err)
		}
		r.until("the first holds all", func() bool { return lanesOf(first)[0] == lanes.Count })
		again := 0
		for more := true; more; {
			got := r.next(first, 10)
			again += len(got)
			more = len(got) > 0
		}
		if again != len(records) {
			r.Fatalf("%d records came of the lanes that were taken back, want two each", again)
		}
	})
}

// What is passed over, and what is looked for by ordering key, is not asked for
// in numbers that would fill the memory.
func TestLargeRowsAreAskedForInSmallNumbers(t *testing.T) {
	t.Parallel()
	const size, most = 256 << 10, 64 // 16 MiB
	bubble(t, func(r *rig) {
		table := &countingTable{Memory: r.memory}
		source := r.source(on(table))
		source.SetNarrow(0)
		put := func(ordering string, n int) {
			events := make([]event.Event, n)
			for i := range events {
				events[i] = r.event(ordering)
				events[i].Data = []byte(`"` + strings.Repeat("x", size-2) + `"`)
			}
			if _, err := r.memory.Put(r.Context(), events...); err != nil {
				r.Fatal(err)
			}
		}
		late := r.begin("a")
		put("b", 3*most)
		for len(r.next(source, 4, "b")) > 0 || awake(source) {
		}
		late.Commit()
		put("a", 1)
		r.want(r.next(source, 1, "b"), "a1")
		if table.read > most || table.readOf > most {
			r.Fatalf("it asked for %d rows, and for %d of some ordering keys; want %d at most", table.read, table.readOf, most)
		}
		if table.read < most/2 || table.readOf < most/2 {
			r.Fatalf("it asked for %d rows, and for %d of some ordering keys; want more", table.read, table.readOf)
		}
	})
}

// countingTable knows the largest numbers of rows that were asked for.
type countingTable struct {
	*lanestest.Memory

	read, readOf int
}

func (c *countingTable) Read(ctx context.Context, of []lanes.Lane, after int64, limit int, into []lanes.Row) ([]lanes.Row, []uint64, error) {
	c.read = max(c.read, limit)
	return c.Memory.Read(ctx, of, after, limit, into)
}

func (c *countingTable) ReadOf(ctx context.Context, orderings []string, first, last int64, limit int) ([]lanes.Row, error) {
	c.readOf = max(c.readOf, limit)
	return c.Memory.ReadOf(ctx, orderings, first, last, limit)
}
