package pgstore_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/pgstore"
)

// nextOne waits for one record.
func nextOne(t *testing.T, events *pgstore.Events) outbox.Record {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		records, err := events.Next(ctx, 1, nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(records) == 1 {
			return records[0]
		}
		select {
		case <-events.Wake():
		case <-ctx.Done():
			t.Fatal("no record came")
		}
	}
}

// A transaction that is open below what a relay has seen hides nothing of
// others, and what it commits is found, however late. An unrelated one that
// stays open to the end changes nothing.
func TestLateCommitIsFound(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(cfg *pgxpool.Config) { cfg.MaxConns = 2 * poolSize })
	unrelated, err := f.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unrelated.Rollback(context.Background()) })
	if err := mark(t.Context(), unrelated, "unrelated"); err != nil {
		t.Fatal(err)
	}
	// A process of its own, whose commits poke nobody here.
	writer := &fixture{pool: f.pool, store: newStore(t, f.pool, pgstore.Config{})}
	events := newEvents(t, pgstore.EventsConfig{Store: f.store})
	var late []func(context.Context) error
	for _, id := range []string{"late 1", "late 2"} {
		commit, err := writer.beginEvents(t.Context(), eventOf(keyNamed(id), ""))
		if err != nil {
			t.Fatal(err)
		}
		late = append(late, commit)
		if err := writer.settle(t.Context(), eventOf(keyNamed("early after "+id), "")); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	take := func() {
		record := nextOne(t, events)
		if err := events.Remove(t.Context(), []outbox.Record{record}); err != nil {
			t.Fatal(err)
		}
		got = append(got, record.Event.Key.ID)
	}
	take()
	take()
	for i := len(late) - 1; i >= 0; i-- {
		if err := late[i](t.Context()); err != nil {
			t.Fatal(err)
		}
		take()
	}
	want := []string{"early after late 1", "early after late 2", "late 2", "late 1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("taken (-want +got):\n%s", diff)
	}
	if lag := lagOf(t, events); lag.Pending != 0 {
		t.Errorf("lag = %+v, want nothing pending", lag)
	}
}

// A call of Next waits for the one that is under way, and for no longer than its
// context allows.
func TestNextWaitsForNext(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	events := newEvents(t, pgstore.EventsConfig{Store: f.store})
	if _, err := events.Next(t.Context(), 1, nil); err != nil { // joins
		t.Fatal(err)
	}
	obstacle, err := f.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = obstacle.Rollback(context.Background()) })
	if _, err := obstacle.Exec(t.Context(), "LOCK TABLE settleonce.events"); err != nil {
		t.Fatal(err)
	}
	first := start(func() error {
		_, err := events.Next(context.Background(), 1, nil)
		return err
	})
	await(t, f.pool, "the first call waits", `EXISTS (SELECT FROM pg_locks WHERE NOT granted AND relation = 'settleonce.events'::regclass)`)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = events.Next(cancelled, 1, nil)
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "another call of Next") {
		t.Errorf("Next beside Next = %v, want the context's error, and a word about the other call", err)
	}
	if err := obstacle.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-first; err != nil {
		t.Error(err)
	}
}
