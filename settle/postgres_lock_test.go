package settle_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/settleonce/settleonce/pgstore"
	"github.com/settleonce/settleonce/receipt"
	"github.com/settleonce/settleonce/settle"
)

const lockNotAvailable = "55P03"

// TestLockTimeout has a duplicate wait for a key for longer than it may. It is
// told that the key is in flight, and gets the receipt when it asks again.
func TestLockTimeout(t *testing.T) {
	t.Parallel()
	const short = 20 * time.Millisecond
	rows := map[string]setup{
		"of the runner": {runner: settle.Config[pgx.Tx]{LockTimeout: short}, store: pgstore.Config{LockTimeout: patience}},
		"of the store":  {store: pgstore.Config{LockTimeout: short}},
	}
	for name, s := range rows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, level := range bothLevels() {
				t.Run(level.String(), func(t *testing.T) {
					t.Parallel()
					waiters := s
					waiters.runner.Isolation = level
					db := newDatabase(t)
					holder, waiter := db.newLobby(t, setup{}), db.newLobby(t, waiters)
					inside, release := make(chan struct{}), make(chan struct{})
					held := holder.start(t.Context(), holder.winAnd(func(context.Context, *pgAttempt) error {
						close(inside)
						<-release
						return nil
					}))
					<-inside
					result, err := waiter.do(t.Context())
					waiter.check(t, answer{result, err}, outcome{Err: receipt.ErrInFlight, Not: receipt.ErrOutcomeUnknown})
					if !hasCode(err, lockNotAvailable) {
						t.Errorf("err = %v, want the server's %s in it", err, lockNotAvailable)
					}
					close(release)
					holder.check(t, <-held, settledAfter(1))
					result, err = waiter.do(t.Context())
					waiter.check(t, answer{result, err}, replayed(0))
				})
			}
		})
	}
}

// TestLockTimeoutOfACallback has a callback wait for a row for too long. That
// says nothing about the key.
func TestLockTimeoutOfACallback(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	l := db.newLobby(t, setup{runner: settle.Config[pgx.Tx]{LockTimeout: 20 * time.Millisecond}})
	rival, err := db.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := rival.Exec(t.Context(), more); err != nil {
		t.Fatal(err)
	}
	result, err := l.do(t.Context())
	if !hasCode(err, lockNotAvailable) {
		t.Errorf("err = %v, want the server's %s", err, lockNotAvailable)
	}
	l.check(t, answer{result, err}, outcome{Err: err, Not: receipt.ErrInFlight, Calls: 1})
	if err := rival.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	l.checkFree(t, 2)
}
