package lanes_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/internal/lanes"
	"github.com/settleonce/settleonce/internal/lanes/lanestest"
	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/outbox/event"
)

// damagedTable is a table in which some rows are no events.
type damagedTable struct {
	*lanestest.Memory

	mu      sync.Mutex
	damaged map[int64]bool
	why     error
}

func damage(r *rig, positions ...int64) *damagedTable {
	d := &damagedTable{Memory: r.memory, damaged: make(map[int64]bool), why: errors.New("it was changed by hand")}
	for _, position := range positions {
		d.damaged[position] = true
	}
	return d
}

func (d *damagedTable) mend() {
	d.mu.Lock()
	defer d.mu.Unlock()
	clear(d.damaged)
}

func (d *damagedTable) seen(rows []lanes.Row) []lanes.Row {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range rows {
		if d.damaged[rows[i].Position] {
			rows[i].Event, rows[i].Broken = event.Event{}, d.why
		}
	}
	return rows
}

func (d *damagedTable) Read(ctx context.Context, of []lanes.Lane, after int64, limit int, into []lanes.Row) ([]lanes.Row, []uint64, error) {
	rows, open, err := d.Memory.Read(ctx, of, after, limit, into)
	return d.seen(rows), open, err
}

func (d *damagedTable) ReadOf(ctx context.Context, orderings []string, first, last int64, limit int) ([]lanes.Row, error) {
	rows, err := d.Memory.ReadOf(ctx, orderings, first, last, limit)
	return d.seen(rows), err
}

func (d *damagedTable) ReadAt(ctx context.Context, positions []int64) ([]lanes.Row, error) {
	rows, err := d.Memory.ReadAt(ctx, positions)
	return d.seen(rows), err
}

// wantLetters compares the positions of the dead letters with words.
func (r *rig) wantLetters(want string) {
	r.Helper()
	letters, err := r.memory.DeadLetters(r.Context(), "", 100)
	if err != nil {
		r.Fatal(err)
	}
	var got []string
	for i := range letters {
		got = append(got, letters[i].ID)
	}
	if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" {
		r.Fatalf("dead letters (-want +got):\n%s", diff)
	}
}

// A dead letter holds back what follows it, and nothing before it: what is no
// event waits while something before it may be released.
func TestBrokenRowHoldsBackNothingBeforeIt(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		orderings []string // whose positions are from 1 on
		damaged   []int64
		// meet has the first record handed out, and the rows behind it met.
		meet func(r *rig, source *lanes.Source)
	}{
		"new": {[]string{"a", "a", "a"}, []int64{2}, func(r *rig, source *lanes.Source) {
			r.want(r.next(source, 10), "a1")
		}},
		"several": {[]string{"a", "a", "a"}, []int64{2, 3}, func(r *rig, source *lanes.Source) {
			r.want(r.next(source, 10), "a1")
		}},
		"in a later call": {[]string{"a", "a", "a"}, []int64{2}, func(r *rig, source *lanes.Source) {
			r.want(r.next(source, 1), "a1")
			r.want(r.next(source, 10), "")
		}},
		"one that was left out": {[]string{"a", "a"}, []int64{2}, func(r *rig, source *lanes.Source) {
			r.want(r.next(source, 1), "a1")
			r.want(r.next(source, 10, "a"), "")
			r.want(r.next(source, 10), "")
		}},
		"several that were left out": {[]string{"a", "a", "a"}, []int64{2}, func(r *rig, source *lanes.Source) {
			r.want(r.next(source, 10, "a"), "")
			r.want(r.next(source, 10), "a1")
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(r *rig) {
				door := newDoor(damage(r, test.damaged...))
				source := r.source(on(door), holdBack)
				r.put(test.orderings...)
				test.meet(r, source)
				r.wantLetters("")
				reads := door.total()
				for range 3 {
					r.want(r.next(source, 10), "")
				}
				if asked := door.total() - reads; asked > 3 {
					r.Fatalf("three calls asked the table %d times while the first is out, want three", asked)
				}
				first, err := r.memory.ReadAt(r.Context(), []int64{1})
				if err != nil {
					r.Fatal(err)
				}
				source.Release(recordsOf(first))
				records := r.next(source, 10)
				r.want(records, "a1")
				r.wantLetters("")
				awake(source)
				r.remove(source, records...)
				if !awake(source) {
					r.Fatal("nothing wakes the relay for the broken row when the one before it is gone")
				}
				r.want(r.next(source, 10), "")
				r.wantLetters("2")
			})
		})
	}
}

// Whoever mends the row meanwhile finds nothing lost behind it.
func TestBrokenRowIsMendedWhileItWaits(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		table := damage(r, 2)
		source := r.source(on(table), holdBack)
		r.put("a", "a", "a")
		r.want(r.next(source, 10, "a"), "")
		first := r.next(source, 10)
		r.want(first, "a1")
		table.mend()
		r.remove(source, first...)
		r.want(r.next(source, 10), "a2 a3")
	})
}

// What is said of a row may cite all that stands in it.
func TestReasonOfABrokenRowIsBounded(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		table := damage(r, 1)
		table.why = errors.New(strings.Repeat("€", 1<<20))
		source := r.source(on(table))
		r.put("a")
		r.want(r.next(source, 10), "")
		letters, err := r.memory.DeadLetters(r.Context(), "", 1)
		if err != nil || len(letters) != 1 {
			r.Fatalf("%d dead letters, %v, want one", len(letters), err)
		}
		if reason := letters[0].Reason; len(reason) > 2000 || !utf8.ValidString(reason) || !strings.HasPrefix(reason, "it can't be read: €") {
			r.Fatalf("the reason is %d bytes, valid %v, want a short text in UTF-8", len(reason), utf8.ValidString(reason))
		}
	})
}

// Where what follows a dead letter goes on, it does so at once.
func TestWhatFollowsABrokenRowGoesOn(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		source := r.source(on(damage(r, 2, 3)))
		r.put("a", "a", "a", "a")
		r.want(r.next(source, 10), "a1 a4")
		r.wantLetters("2 3")
	})
}

// What is no event and could not be set aside is pending, and another release
// may read it: nothing of its ordering key overtakes it (I8).
func TestNothingOvertakesABrokenRowThatIsNotSetAside(t *testing.T) {
	t.Parallel()
	for name, policy := range map[string]func(*lanes.Config){"hold back": holdBack, "go on": func(*lanes.Config) {}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(r *rig) {
				table := damage(r, 1, 3, 5, 8)
				door := newDoor(table)
				source := r.source(on(door), policy)
				r.put("a", "a", "b", "c", "a", "b", "d", "d", "d")
				door.set(func() { door.fail[lanestest.Bury] = errAway })
				records, err := source.Next(r.Context(), 10, nil)
				if !errors.Is(err, errAway) || text(records) != "c4 d7" {
					r.Fatalf("Next = %q, %v, want what no broken row comes before, with the error", text(records), err)
				}
				if asked := door.count(lanestest.Bury); asked != 1 {
					r.Fatalf("the table was asked %d times to bury, want once: it fails", asked)
				}
				table.mend()
				door.set(func() { clear(door.fail) })
				r.remove(source, records...)
				r.want(r.next(source, 10), "a1 a2 b3 a5 b6 d8 d9")
			})
		})
	}
}

// Lanes can be given up before what is no event in them is set aside. Nothing
// of its ordering key is held back for that when they come back.
func TestBrokenRowsOfLanesThatAreGivenUp(t *testing.T) {
	t.Parallel()
	for name, policy := range map[string]func(*lanes.Config){"hold back": holdBack, "go on": func(*lanes.Config) {}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(r *rig) {
				const keys = 20
				table := damage(r)
				for i := range keys {
					r.put(decimal(i))
					table.damaged[int64(i+1)] = true
				}
				door := newDoor(table)
				source := r.source(on(door), policy)
				answer := make(chan struct{})
				door.set(func() { door.before[lanestest.Bury] = answer })
				got := r.ask(source, 100)
				second := r.source(on(table), policy)
				go func() { _, _ = second.Next(context.WithoutCancel(r.Context()), 1, map[string]struct{}{}) }()
				r.until("it gave lanes up", func() bool { return source.State().Held == lanes.Count/2 && source.State().Giving == 0 })
				table.mend()
				close(answer)
				if got := <-got; got != "<nil>" {
					r.Fatalf("got %q, want nothing", got)
				}
				if err := second.Close(r.Context()); err != nil {
					r.Fatal(err)
				}
				r.until("it holds all lanes", func() bool { return source.State().Held == lanes.Count })
				letters, err := r.memory.DeadLetters(r.Context(), "", 100)
				if err != nil {
					r.Fatal(err)
				}
				came := len(r.next(source, 100))
				if len(letters) == keys || came+len(letters) != keys {
					r.Fatalf("%d dead letters, and %d records of %d came of the lanes that were given up", len(letters), came, keys-len(letters))
				}
			})
		})
	}
}

// recordsOf are the records of rows, as a relay has them.
func recordsOf(rows []lanes.Row) []outbox.Record {
	var records []outbox.Record
	for i := range rows {
		records = append(records, outbox.Record{ID: decimal(int(rows[i].Position)), Event: rows[i].Event})
	}
	return records
}
