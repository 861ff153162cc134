package pgstore_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/settleonce/settleonce/internal/lanes"
	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/pgstore"
)

// Lanes that lie together are read by their bounds alone, so a relay takes
// neighbours. It passes over a lane that somebody is about to take.
func TestTakeTakesNeighbours(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	table := pgstore.Table(poolBeside(t, f.pool, promptly), pgstore.DefaultSchema)
	rival := (&fenced{fixture: f}).open(t, "SELECT FROM settleonce.lanes WHERE lane < 10 FOR UPDATE")
	taken, err := table.Take(t.Context(), join(t, table), 20)
	if err != nil {
		t.Fatalf("Take beside another = %v, want nil", err)
	}
	var want []lanes.Lane
	for lane := range lanes.Lane(20) {
		want = append(want, 10+lane)
	}
	if diff := cmp.Diff(want, taken); diff != "" {
		t.Errorf("taken (-want +got):\n%s", diff)
	}
	if err := rival.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// inOneLane returns events of two ordering keys that share a lane.
func inOneLane() (one, other event.Event) {
	one = eventOf(keyNamed("one"), "line")
	for n := 0; ; n++ {
		other = eventOf(keyNamed("other"), fmt.Sprintf("line %d", n))
		if pgstore.Lane(other.Ordering()) == pgstore.Lane(one.Ordering()) {
			return one, other
		}
	}
}

func TestReadOfTellsTheKeysOfALaneApart(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	one, other := inOneLane()
	if err := f.settle(t.Context(), other, one); err != nil {
		t.Fatal(err)
	}
	rows, err := pgstore.Table(f.pool, pgstore.DefaultSchema).ReadOf(t.Context(), []string{one.Ordering()}, 1, math.MaxInt64, 10)
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 1 || rows[0].Ordering != one.Ordering() {
		t.Errorf("ReadOf = %d rows, want the one of its key", len(rows))
	}
}

// Read's rows and the transactions that it calls open are of one snapshot, also
// where it waits between the two.
func TestReadHasOneSnapshot(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	table := pgstore.Table(poolBeside(t, f.pool, func(cfg *pgxpool.Config) { cfg.MaxConns = 1 }), pgstore.DefaultSchema)
	e := eventOf(keyNamed("m1"), "")
	read := func() (rows []lanes.Row, open []uint64, err error) {
		return table.Read(context.Background(), []lanes.Lane{lanes.Lane(pgstore.Lane(e.Ordering()))}, 0, 10, nil)
	}
	if _, _, err := read(); err != nil { // prepares the statements
		t.Fatal(err)
	}
	commit, err := f.beginEvents(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	obstacle := (&fenced{fixture: f}).open(t, "SELECT")
	locked := start(func() error {
		_, err := obstacle.Exec(context.Background(), "LOCK TABLE settleonce.events")
		return err
	})
	const waiting = "(SELECT count(*) FROM pg_locks WHERE relation = 'settleonce.events'::regclass AND NOT granted) = $1"
	await(t, f.pool, "the obstacle waits for the writer", waiting, 1)
	var rows []lanes.Row
	var open []uint64
	done := start(func() (err error) {
		rows, open, err = read()
		return err
	})
	await(t, f.pool, "Read waits for the obstacle", waiting, 2)
	if err := errors.Join(commit(t.Context()), <-locked, obstacle.Rollback(t.Context()), <-done); err != nil {
		t.Fatal(err)
	}
	if len(rows) > 0 || len(open) == 0 {
		t.Errorf("Read = %d rows and open %d, want no row of the transaction that was open", len(rows), open)
	}
}

// Whatever was discarded is no dead letter any more: nothing brings it back or
// changes what was said of it, and no relay is told.
func TestDiscardedStaysDiscarded(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	events := newEvents(t, pgstore.EventsConfig{Store: f.store})
	table := pgstore.Table(f.pool, pgstore.DefaultSchema)
	if err := f.settle(t.Context(), eventOf(keyNamed("m1"), "")); err != nil {
		t.Fatal(err)
	}
	if err := table.Bury(t.Context(), join(t, table), 1, outbox.Refusal{Reason: "no"}, true); err != nil {
		t.Fatal(err)
	}
	if err := events.Discard(t.Context(), "1", "nobody wants it"); err != nil {
		t.Fatal(err)
	}
	const state = `SELECT concat_ws(' ', discard_reason, discarded_at, (SELECT count FROM settleonce.requeues),
		(SELECT count(*) FROM settleonce.events)) FROM settleonce.dead_letters`
	before, err := f.column(t.Context(), state)
	if err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"Requeue": events.Requeue(t.Context(), "1"), "Discard": events.Discard(t.Context(), "1", "once more"),
	} {
		if !errors.Is(err, outbox.ErrNoDeadLetter) {
			t.Errorf("%s of what was discarded = %v, want ErrNoDeadLetter", name, err)
		}
	}
	after, err := f.column(t.Context(), state)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, after); diff != "" || len(after) != 1 || !strings.HasPrefix(after[0], "nobody wants it") {
		t.Errorf("the discarded letter (-before +after):\n%s", diff)
	}
}

// Every call about the table refuses a connection on which texts would come in
// another encoding.
func TestEventsNeedUTF8(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	latin := poolBeside(t, f.pool, func(cfg *pgxpool.Config) { cfg.ConnConfig.RuntimeParams["client_encoding"] = "LATIN1" })
	_, err := pgstore.Table(latin, pgstore.DefaultSchema).ReadAt(t.Context(), []int64{1})
	if err == nil || !slices.ContainsFunc([]string{"UTF8", "UTF-8"}, func(name string) bool { return strings.Contains(err.Error(), name) }) {
		t.Errorf("ReadAt in LATIN1 = %v, want an error that names the encoding", err)
	}
}

// Whoever discards a dead letter in the relay's own process need not wait for a
// renewal: what it held back comes with the next call.
func TestDiscardLetsGoAtOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	events := newEvents(t, pgstore.EventsConfig{Store: f.store, Lease: time.Hour, Rescan: time.Hour})
	if err := f.settle(t.Context(), eventOf(keyNamed("m1"), "line"), eventOf(keyNamed("m2"), "line")); err != nil {
		t.Fatal(err)
	}
	if err := events.SetAside(t.Context(), nextOne(t, events), outbox.Refusal{Reason: "no"}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"", "m2"} {
		records, err := events.Next(t.Context(), 1, nil)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for i := range records {
			got += records[i].Event.Key.ID
		}
		if got != want {
			t.Errorf("Next handed out %q, want %q", got, want)
		}
		if want == "" {
			if err := events.Discard(t.Context(), "1", "nobody wants it"); err != nil {
				t.Fatal(err)
			}
		}
	}
}
