package pgstore_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/settleonce/settleonce/internal/lanes"
	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/pgstore"
)

// fenced is a table with one event and a relay that holds all lanes.
type fenced struct {
	*fixture
	table  lanes.Table
	ticket lanes.Ticket
	// prompt is the same table. A call fails where it would have to wait for a
	// lock, rather than hang.
	prompt lanes.Table
}

func newFenced(t *testing.T) *fenced {
	t.Helper()
	f := &fenced{fixture: newFixture(t)}
	f.table = pgstore.Table(f.pool, pgstore.DefaultSchema)
	f.prompt = pgstore.Table(poolBeside(t, f.pool, promptly), pgstore.DefaultSchema)
	f.ticket = join(t, f.table)
	if _, err := f.table.Take(t.Context(), f.ticket, lanes.Count); err != nil {
		t.Fatal(err)
	}
	if err := f.settle(t.Context(), eventOf(keyNamed("m1"), "line")); err != nil {
		t.Fatal(err)
	}
	return f
}

// promptly has a pool's sessions wait for no lock.
func promptly(cfg *pgxpool.Config) { cfg.ConnConfig.RuntimeParams["lock_timeout"] = "1ms" }

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
			if _, err := f.prompt.Renew(t.Context(), f.ticket, time.Hour); err != nil {
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
// however long that hangs. The others renew meanwhile and wait for nothing, so
// that no lease is too short.
func TestRemovalPassesOverAWrite(t *testing.T) {
	t.Parallel()
	for _, write := range []string{"Delete", "Bury"} {
		t.Run(write, func(t *testing.T) {
			t.Parallel()
			f := newFenced(t)
			obstacle := f.open(t, "SELECT FROM settleonce.events FOR UPDATE")
			written := start(f.writes()[write])
			f.awaitWaiting(t, 1)
			f.expire(t)
			f.expectRoster(t, "beside a write that hangs", lanes.Roster{Relays: 2})
			if err := obstacle.Rollback(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := <-written; err != nil {
				t.Errorf("%s = %v, want nil", write, err)
			}
			f.expectRoster(t, "after the write", lanes.Roster{Relays: 1, Free: lanes.Count})
		})
	}
}

// The same beside whatever else changes the row of that relay. A renewal that
// comes in time keeps the relay.
func TestRemovalPassesOverAChange(t *testing.T) {
	t.Parallel()
	for change, test := range map[string]struct {
		sql   string
		after lanes.Roster
	}{
		"renewal": {"UPDATE settleonce.relays SET expires_at = 'infinity' WHERE id = 1", lanes.Roster{Relays: 2}},
		"give":    {"UPDATE settleonce.relays SET epoch = epoch + 1 WHERE id = 1", lanes.Roster{Relays: 1, Free: lanes.Count}},
		"removal": {"DELETE FROM settleonce.relays WHERE id = 1", lanes.Roster{Relays: 1, Free: lanes.Count}},
	} {
		t.Run(change, func(t *testing.T) {
			t.Parallel()
			f := newFenced(t)
			f.expire(t)
			rival := f.open(t, test.sql)
			f.expectRoster(t, "beside a "+change, lanes.Roster{Relays: 2})
			if err := rival.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
			f.expectRoster(t, "after the "+change, test.after)
		})
	}
}

// expire makes the time of the relay be up.
func (f *fenced) expire(t *testing.T) {
	t.Helper()
	execute(t, f.pool, "UPDATE settleonce.relays SET expires_at = '-infinity' WHERE id = 1")
}

// expectRoster checks what another relay, which joins for it, learns when it
// renews without waiting for anybody.
func (f *fenced) expectRoster(t *testing.T, when string, want lanes.Roster) {
	t.Helper()
	other := join(t, f.table)
	got, err := f.prompt.Renew(t.Context(), other, time.Hour)
	if err != nil {
		t.Errorf("Renew %s = %v, want nil", when, err)
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("roster %s (-want +got):\n%s", when, diff)
	}
	if err := f.table.Leave(t.Context(), other); err != nil {
		t.Error(err)
	}
}
