package pgstore_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/settleonce/settleonce/internal/lanes"
	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/pgstore"
)

// fenced is a table with one event and a relay that holds all lanes.
type fenced struct {
	*fixture
	table  lanes.Table
	ticket lanes.Ticket
}

func newFenced(t *testing.T) *fenced {
	t.Helper()
	f := &fenced{fixture: newFixture(t)}
	f.table = pgstore.Table(f.pool, pgstore.DefaultSchema)
	f.ticket = join(t, f.table)
	if _, err := f.table.Take(t.Context(), f.ticket, lanes.Count); err != nil {
		t.Fatal(err)
	}
	if err := f.settle(t.Context(), eventOf(keyNamed("m1"), "line")); err != nil {
		t.Fatal(err)
	}
	return f
}

func join(t *testing.T, table lanes.Table) lanes.Ticket {
	t.Helper()
	ticket, err := table.Join(t.Context(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return ticket
}

// open begins a transaction with a statement and leaves it so.
func (f *fenced) open(t *testing.T, sql string) pgx.Tx {
	t.Helper()
	tx, err := f.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback(context.Background()) })
	if _, err := tx.Exec(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
	return tx
}

// start runs a call beside the test.
func start(call func() error) <-chan error {
	done := make(chan error, 1)
	go func() { done <- call() }()
	return done
}

func (f *fenced) awaitWaiting(t *testing.T, sessions int) {
	t.Helper()
	await(t, f.pool, "a session waits for a lock", `(SELECT count(*) FROM pg_stat_activity
		WHERE datname = current_database() AND wait_event_type = 'Lock') = $1`, sessions)
}

// pending is how many events and dead letters there are.
func (f *fenced) pending(t *testing.T) (events, letters int) {
	t.Helper()
	err := f.pool.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM settleonce.events),
		(SELECT count(*) FROM settleonce.dead_letters)`).Scan(&events, &letters)
	if err != nil {
		t.Fatal(err)
	}
	return events, letters
}

// writes are the guarded ones.
func (f *fenced) writes() map[string]func() error {
	return map[string]func() error{
		"Delete": func() error { return f.table.Delete(context.Background(), f.ticket, []int64{1}) },
		"Bury": func() error {
			return f.table.Bury(context.Background(), f.ticket, 1, outbox.Refusal{Reason: "no"}, true)
		},
	}
}

// A write that waits for its relay's row looks at it again when the wait is
// over, and does nothing where the hold has ended meanwhile.
func TestWriteThatWaitedIsFenced(t *testing.T) {
	t.Parallel()
	ends := map[string]string{
		"give":    "UPDATE settleonce.relays SET epoch = epoch + 1",
		"removal": "DELETE FROM settleonce.relays",
	}
	for end, sql := range ends {
		for _, write := range []string{"Delete", "Bury"} {
			t.Run(write+" beside a "+end, func(t *testing.T) {
				t.Parallel()
				f := newFenced(t)
				rival := f.open(t, sql)
				done := start(f.writes()[write])
				f.awaitWaiting(t, 1)
				if err := rival.Commit(t.Context()); err != nil {
					t.Fatal(err)
				}
				if err := <-done; !errors.Is(err, lanes.ErrFenced) {
					t.Errorf("%s = %v, want ErrFenced", write, err)
				}
				if events, letters := f.pending(t); events != 1 || letters != 0 {
					t.Errorf("%d events and %d dead letters, want the event where it was", events, letters)
				}
			})
			t.Run(write+" beside a "+end+" that is rolled back", func(t *testing.T) {
				t.Parallel()
				f := newFenced(t)
				rival := f.open(t, sql)
				done := start(f.writes()[write])
				f.awaitWaiting(t, 1)
				if err := rival.Rollback(t.Context()); err != nil {
					t.Fatal(err)
				}
				if err := <-done; err != nil {
					t.Errorf("%s = %v, want nil", write, err)
				}
				if events, _ := f.pending(t); events != 0 {
					t.Errorf("%d events, want none", events)
				}
			})
		}
	}
}

// Whoever takes lanes away waits for the relay's writes that are under way. The
// relay itself renews beside them.
func TestEndOfAHoldWaitsForAWrite(t *testing.T) {
	t.Parallel()
	for _, write := range []string{"Delete", "Bury"} {
		t.Run(write, func(t *testing.T) {
			t.Parallel()
			f := newFenced(t)
			obstacle := f.open(t, "SELECT FROM settleonce.events FOR UPDATE")
			written := start(f.writes()[write])
			f.awaitWaiting(t, 1)
			if _, err := f.table.Renew(t.Context(), f.ticket, time.Hour); err != nil {
				t.Errorf("Renew beside a write = %v, want nil", err)
			}
			given := start(func() error {
				_, err := f.table.Give(context.Background(), f.ticket, []lanes.Lane{0})
				return err
			})
			f.awaitWaiting(t, 2)
			if err := obstacle.Rollback(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := <-written; err != nil {
				t.Errorf("%s = %v, want nil", write, err)
			}
			if err := <-given; err != nil {
				t.Errorf("Give after it = %v, want nil", err)
			}
		})
	}
}

// A relay whose time is up is not removed while a write of its own is under way,
// however long that hangs, and does not keep the others from renewing.
func TestRemovalWaitsForAWrite(t *testing.T) {
	t.Parallel()
	f := newFenced(t)
	other := join(t, f.table)
	obstacle := f.open(t, "SELECT FROM settleonce.events FOR UPDATE")
	written := start(f.writes()["Delete"])
	f.awaitWaiting(t, 1)
	execute(t, f.pool, "UPDATE settleonce.relays SET expires_at = '-infinity' WHERE id = 1")
	roster, err := f.table.Renew(t.Context(), other, time.Hour)
	if err != nil || roster.Relays != 2 || roster.Free != 0 {
		t.Errorf("Renew beside a write that hangs = %+v, %v, want nobody removed", roster, err)
	}
	if err := obstacle.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-written; err != nil {
		t.Errorf("Delete = %v, want nil", err)
	}
	roster, err = f.table.Renew(t.Context(), other, time.Hour)
	if err != nil || roster.Relays != 1 || roster.Free != lanes.Count {
		t.Errorf("Renew after it = %+v, %v, want one relay and all lanes free", roster, err)
	}
}

// A relay that renews while somebody is about to remove it stays.
func TestRemovalLooksAgain(t *testing.T) {
	t.Parallel()
	f := newFenced(t)
	other := join(t, f.table)
	execute(t, f.pool, "UPDATE settleonce.relays SET expires_at = '-infinity' WHERE id = 1")
	renewal := f.open(t, "UPDATE settleonce.relays SET expires_at = 'infinity' WHERE id = 1")
	renewed := start(func() error {
		roster, err := f.table.Renew(context.Background(), other, time.Hour)
		if err == nil && roster.Relays != 2 {
			err = errors.New("the relay was removed")
		}
		return err
	})
	f.awaitWaiting(t, 1)
	if err := renewal.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-renewed; err != nil {
		t.Error(err)
	}
	if err := f.table.Delete(t.Context(), f.ticket, []int64{1}); err != nil {
		t.Errorf("Delete by the relay that renewed = %v, want nil", err)
	}
}
