package pgstore_test

import (
	"testing"

	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/pgstore"
)

func lagOf(t *testing.T, source outbox.LagSource) outbox.Lag {
	t.Helper()
	lag, err := source.Lag(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return lag
}

// An operator's tool measures the lag, and is no relay for that.
func TestLagJoinsNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	events := newEvents(t, pgstore.EventsConfig{Store: f.store})
	if err := f.settle(t.Context(), eventOf(keyNamed("m1"), ""), eventOf(keyNamed("m2"), "")); err != nil {
		t.Fatal(err)
	}
	if lag := lagOf(t, events); lag.Pending != 2 || !lag.Exact || lag.Oldest.IsZero() {
		t.Errorf("lag = %+v, want two pending", lag)
	}
	relays, err := f.column(t.Context(), "SELECT id::text FROM settleonce.relays")
	if err != nil {
		t.Fatal(err)
	}
	if len(relays) > 0 {
		t.Errorf("relays %q joined", relays)
	}
}

func TestLagIsExactUpToABound(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	events := newEvents(t, pgstore.EventsConfig{Store: f.store})
	if _, err := f.pool.Exec(t.Context(), manyEvents, pgstore.MaxExactPending); err != nil {
		t.Fatal(err)
	}
	if lag := lagOf(t, events); lag.Pending != pgstore.MaxExactPending || !lag.Exact {
		t.Errorf("lag = %+v, want exactly %d pending", lag, pgstore.MaxExactPending)
	}
	if _, err := f.pool.Exec(t.Context(), manyEvents, 2); err != nil {
		t.Fatal(err)
	}
	if lag := lagOf(t, events); lag.Pending != pgstore.MaxExactPending+1 || lag.Exact {
		t.Errorf("lag = %+v, want one more than %d pending, and no claim to be exact", lag, pgstore.MaxExactPending)
	}
}

// Counts begin where the last ones found the oldest. What is requeued below
// that is counted all the same, whoever requeued it.
func TestLagCountsWhatIsRequeued(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	events := newEvents(t, pgstore.EventsConfig{Store: f.store})
	operator := newEvents(t, pgstore.EventsConfig{Store: f.store})
	table := pgstore.Table(f.pool, pgstore.DefaultSchema)
	ticket := join(t, table)
	if err := f.settle(t.Context(), eventOf(keyNamed("m1"), ""), eventOf(keyNamed("m2"), "")); err != nil {
		t.Fatal(err)
	}
	if err := table.Bury(t.Context(), ticket, 1, outbox.Refusal{Reason: "no"}, true); err != nil {
		t.Fatal(err)
	}
	if lag := lagOf(t, events); lag.Pending != 1 || lag.DeadLetters != 1 || lag.HeldBack != 1 {
		t.Errorf("lag = %+v, want one pending, and one dead letter that holds back", lag)
	}
	pgstore.RaiseLagFloor(events, 1) // as it is after five seconds
	if err := operator.Requeue(t.Context(), "0000000000000000001"); err != nil {
		t.Fatal(err)
	}
	if lag := lagOf(t, events); lag.Pending != 2 || lag.DeadLetters != 0 || lag.HeldBack != 0 {
		t.Errorf("lag = %+v, want two pending", lag)
	}
}

// A count passes over what is dead below the floor, be it that an old snapshot
// keeps it.
func TestLagBeginsAtTheFloor(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	events := newEvents(t, pgstore.EventsConfig{Store: f.store})
	if err := f.settle(t.Context(), eventOf(keyNamed("m1"), ""), eventOf(keyNamed("m2"), "")); err != nil {
		t.Fatal(err)
	}
	lagOf(t, events)
	pgstore.RaiseLagFloor(events, 1)
	if lag := lagOf(t, events); lag.Pending != 1 {
		t.Errorf("lag = %+v, want no look below the floor before the next rescan", lag)
	}
}

// From time to time a count looks below the floor all the same.
func TestLagLooksFromTheStartWhenItIsTime(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	events := newEvents(t, pgstore.EventsConfig{Store: f.store})
	if err := f.settle(t.Context(), eventOf(keyNamed("m1"), "")); err != nil {
		t.Fatal(err)
	}
	lagOf(t, events)
	pgstore.RaiseLagFloor(events, 1)
	pgstore.EndLagPause(events)
	if lag := lagOf(t, events); lag.Pending != 1 {
		t.Errorf("lag = %+v, want the one pending", lag)
	}
}

// What a count finds clear is all below the oldest, and where nothing is pending
// all that was given.
func TestLagFindsWhatIsClear(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	events := newEvents(t, pgstore.EventsConfig{Store: f.store})
	if err := f.settle(t.Context(), eventOf(keyNamed("m1"), ""), eventOf(keyNamed("m2"), ""), eventOf(keyNamed("m3"), "")); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		removed string
		want    int64
	}{{"position < 0", 0}, {"position = 1", 1}, {"position > 0", 3}} {
		execute(t, f.pool, "DELETE FROM settleonce.events WHERE "+step.removed)
		pgstore.ForgetLagFloor(events)
		lagOf(t, events)
		if got := pgstore.LagClear(events); got != step.want {
			t.Errorf("after the removal of %s all is clear up to %d, want %d", step.removed, got, step.want)
		}
	}
}

// Several dead letters hold one ordering key back.
func TestLagCountsOrderingKeysHeldBack(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	events := newEvents(t, pgstore.EventsConfig{Store: f.store})
	table := pgstore.Table(f.pool, pgstore.DefaultSchema)
	ticket := join(t, table)
	if err := f.settle(t.Context(), eventOf(keyNamed("m1"), "line"), eventOf(keyNamed("m2"), "line")); err != nil {
		t.Fatal(err)
	}
	for position := range int64(2) {
		if err := table.Bury(t.Context(), ticket, position+1, outbox.Refusal{Reason: "no"}, true); err != nil {
			t.Fatal(err)
		}
	}
	if lag := lagOf(t, events); lag.DeadLetters != 2 || lag.HeldBack != 1 {
		t.Errorf("lag = %+v, want two dead letters of one ordering key", lag)
	}
}
