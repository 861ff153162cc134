package pgstore_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/pgstore"
	"github.com/settleonce/settleonce/receipt"
)

// gate is the advisory lock at which the first event stops between taking its
// position and its commit.
const gate = 4711

// TestCommitOrderPerOrderingKey settles two keys that share an ordering key.
// The first holds its position but has not committed when the second comes.
func TestCommitOrderPerOrderingKey(t *testing.T) {
	t.Parallel()
	for _, isolation := range []receipt.Isolation{receipt.ReadCommitted, receipt.Serializable} {
		t.Run(isolation.String(), func(t *testing.T) {
			t.Parallel()
			f := newGatedFixture(t)
			open := f.holdGate(t)
			first := f.commitEvent(t, f.store, isolation, "first")
			awaitAdvisoryWaits(t, f.pool, 1)
			second := f.commitEvent(t, f.store, isolation, "second")
			awaitAdvisoryWaits(t, f.pool, 2) // the second waits for the ordering key
			open()
			expectCommitted(t, first)
			expectCommitted(t, second)
			events, err := f.column(t.Context(), "SELECT event_id FROM settleonce.events ORDER BY position")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{"first", "second"}, events); diff != "" {
				t.Errorf("order of positions (-want +got):\n%s", diff)
			}
		})
		t.Run(isolation.String()+" without the lock", func(t *testing.T) {
			t.Parallel()
			f := newGatedFixture(t)
			store := pgstore.WithoutOrderingLocks(f.store)
			open := f.holdGate(t)
			first := f.commitEvent(t, store, isolation, "first")
			awaitAdvisoryWaits(t, f.pool, 1)
			expectCommitted(t, f.commitEvent(t, store, isolation, "second"))
			// A relay that looks now delivers the second, whose position is
			// higher, before it can see the first.
			visible, err := f.column(t.Context(), "SELECT event_id FROM settleonce.events ORDER BY position")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{"second"}, visible); diff != "" {
				t.Errorf("visible before the first committed (-want +got):\n%s", diff)
			}
			open()
			expectCommitted(t, first)
			positions, err := f.column(t.Context(), "SELECT event_id FROM settleonce.events ORDER BY position")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{"first", "second"}, positions); diff != "" {
				t.Errorf("the test shows nothing: positions do not contradict the commits (-want +got):\n%s", diff)
			}
		})
	}
}

// TestLoneEventTakesItsPositionUnderTheLock has an event wait for its ordering
// key before the rival that holds it takes its own position.
func TestLoneEventTakesItsPositionUnderTheLock(t *testing.T) {
	t.Parallel()
	for _, isolation := range []receipt.Isolation{receipt.ReadCommitted, receipt.Serializable} {
		t.Run(isolation.String(), func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			rival, err := f.pool.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = rival.Rollback(context.Background()) })
			line := eventOf(keyNamed("waits"), "common line")
			lock := pgstore.OrderingLocks(pgstore.DefaultSchema, []event.Event{line})[0]
			if _, err := rival.Exec(t.Context(), "SELECT pg_advisory_xact_lock($1)", lock); err != nil {
				t.Fatal(err)
			}
			waits := f.commitEvent(t, f.store, isolation, "waits")
			awaitAdvisoryWaits(t, f.pool, 1)
			_, err = rival.Exec(t.Context(), `INSERT INTO settleonce.events (lane, ordering_key, partition_key, source, event_id,
				type, subject, event_time, data_schema, data_content_type, fingerprint,
				tenant, scope, operation, id, attempt, recorded_at)
				VALUES (0, $1, '', '/test', 'rival', 't', '', '', '', '', '', 'tenant', 'match', 'settle', 'rival', 'a', now())`, line.Ordering())
			if err != nil {
				t.Fatal(err)
			}
			if err := rival.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
			expectCommitted(t, waits)
			events, err := f.column(t.Context(), "SELECT event_id FROM settleonce.events ORDER BY position")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{"rival", "waits"}, events); diff != "" {
				t.Errorf("order of positions (-order of commits +got):\n%s", diff)
			}
		})
	}
}

// newGatedFixture has the event named "first" stop at the gate, where its
// position has been taken.
func newGatedFixture(t *testing.T) *fixture {
	t.Helper()
	f := newFixture(t)
	execute(t, f.pool, `CREATE FUNCTION wait_at_gate() RETURNS trigger LANGUAGE plpgsql AS
		$$ BEGIN PERFORM pg_advisory_xact_lock(4711); RETURN NEW; END $$;
		CREATE TRIGGER gate BEFORE INSERT ON settleonce.events FOR EACH ROW
		WHEN (NEW.event_id = 'first') EXECUTE FUNCTION wait_at_gate()`)
	return f
}

// holdGate closes the gate and returns what opens it.
func (f *fixture) holdGate(t *testing.T) (open func()) {
	t.Helper()
	tx, err := f.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback(context.Background()) })
	if _, err := tx.Exec(t.Context(), "SELECT pg_advisory_xact_lock($1)", gate); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := tx.Rollback(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// commitEvent settles a key of its own, with one event in the common line.
func (f *fixture) commitEvent(t *testing.T, store *pgstore.Store, isolation receipt.Isolation, id string) <-chan error {
	t.Helper()
	claim := claimOn(id)
	claim.Isolation, claim.LockTimeout = isolation, patience
	session, err := store.Begin(t.Context(), claim)
	if err != nil {
		t.Fatal(err)
	}
	e := eventOf(claim.Key, "common line")
	e.ID = id
	done := make(chan error, 1)
	go func() {
		_, err := session.Commit(context.Background(), receiptFor(claim), e)
		done <- err
	}()
	return done
}

func expectCommitted(t *testing.T, done <-chan error) {
	t.Helper()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// Locks of several ordering keys are taken in one order, so two transactions
// that emit in opposite orders cannot deadlock; and events of one transaction
// keep the order in which they were emitted.
func TestEventsOfOneTransactionKeepTheirOrder(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	claim := claimOn("m1")
	session := f.begin(t, claim)
	a, b, c := eventOf(claim.Key, "line z"), eventOf(claim.Key, "line a"), eventOf(claim.Key, "line z")
	if _, err := session.Commit(t.Context(), receiptFor(claim), a, b, c); err != nil {
		t.Fatal(err)
	}
	got, err := f.column(t.Context(), "SELECT event_id FROM settleonce.events ORDER BY position")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{a.ID, b.ID, c.ID}, got); diff != "" {
		t.Errorf("order (-emitted +stored):\n%s", diff)
	}
}
