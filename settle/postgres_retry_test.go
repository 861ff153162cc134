package settle_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/settleonce/settleonce/pgstore"
	"github.com/settleonce/settleonce/receipt"
	"github.com/settleonce/settleonce/settle"
)

const (
	serializationFailure = "40001"
	deadlockDetected     = "40P01"
)

// TestSerializationFailureIsTriedAgain has one row a place in which a real
// serialisation failure arises. The callback runs again and settles.
func TestSerializationFailureIsTriedAgain(t *testing.T) {
	t.Parallel()
	rows := []struct {
		name string
		// collide runs in the first run of the callback.
		collide func(ctx context.Context, db *database, tx pgx.Tx) error
		rating  int // in the end
	}{
		{"in a statement", func(ctx context.Context, db *database, tx pgx.Tx) error {
			return writeAfterRival(ctx, db, tx)
		}, 11},
		{"in a statement, and swallowed", func(ctx context.Context, db *database, tx pgx.Tx) error {
			if err := writeAfterRival(ctx, db, tx); !hasCode(err, serializationFailure) {
				return fmt.Errorf("nothing to swallow: %w", err)
			}
			return nil
		}, 11},
		{"in the last flush", func(ctx context.Context, db *database, tx pgx.Tx) error {
			if err := skewWrites(ctx, db, tx); err != nil {
				return errors.New("too early: " + err.Error())
			}
			return nil
		}, 10},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			db, log := newDatabase(t), new(logbook)
			l := db.newLobby(t, setup{runner: settle.Config[pgx.Tx]{Isolation: receipt.Serializable, Logger: slog.New(log)}})
			result, err := settle.Do(t.Context(), l.runner, request(), func(ctx context.Context, a *pgAttempt) (int, error) {
				if a.Number() > 1 {
					return l.win(ctx, a)
				}
				return 0, row.collide(ctx, db, a.Tx())
			})
			want := settledAfter(1)
			want.Rating = row.rating
			l.check(t, answer{result, err}, want)
			log.checkRetries(t, serializationFailure)
		})
	}
}

// writeAfterRival changes what a rival has changed since tx took its snapshot.
func writeAfterRival(ctx context.Context, db *database, tx pgx.Tx) error {
	if _, err := db.pool.Exec(ctx, more); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, more)
	return err
}

// skewWrites has tx and a rival each read what the other one writes. The rival
// commits, and tx, which is still open, can no longer.
func skewWrites(ctx context.Context, db *database, tx pgx.Tx) error {
	const read = "SELECT sum(rating) FROM ratings"
	var sum int
	if err := tx.QueryRow(ctx, read).Scan(&sum); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, "INSERT INTO ratings VALUES ('carol', 1)"); err != nil {
		return err
	}
	return pgx.BeginTxFunc(ctx, db.pool, pgx.TxOptions{IsoLevel: pgx.Serializable}, func(rival pgx.Tx) error {
		if err := rival.QueryRow(ctx, read).Scan(&sum); err != nil {
			return err
		}
		_, err := rival.Exec(ctx, "INSERT INTO ratings VALUES ('dave', 1)")
		return err
	})
}

// TestDeadlockIsTriedAgain has two callbacks take two row locks in opposite
// orders. The server ends one of them, which runs again, and both settle.
func TestDeadlockIsTriedAgain(t *testing.T) {
	t.Parallel()
	const update = "UPDATE ratings SET rating = rating + 1 WHERE player = $1"
	rows := []struct {
		name    string
		second  string // the statement that takes the second lock
		swallow bool   // its error
	}{
		{"in a statement", update, false},
		{"in a statement, and swallowed", update, true},
		{"at COMMIT", "INSERT INTO touches VALUES ($1)", false},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			db, log := newDatabase(t), new(logbook)
			l := db.newLobby(t, setup{
				store:  pgstore.Config{LockTimeout: patience},
				runner: settle.Config[pgx.Tx]{Logger: slog.New(log)},
			})
			var bothHoldOne sync.WaitGroup
			bothHoldOne.Add(2)
			settled := map[string]chan struct{}{"alice": make(chan struct{}), "bob": make(chan struct{})}
			settleBoth := func(first, second string) error {
				defer close(settled[first])
				q := request()
				q.Key.ID = first
				_, err := settle.Do(t.Context(), l.runner, q, func(ctx context.Context, a *pgAttempt) (int, error) {
					if a.Number() > 1 {
						// The lock that the server took from this one goes to
						// whoever asks first, and could be taken back before
						// the other one wakes: another deadlock.
						<-settled[second]
					}
					if _, err := a.Tx().Exec(ctx, update, first); err != nil {
						return 0, err
					}
					if a.Number() == 1 {
						bothHoldOne.Done()
						bothHoldOne.Wait()
					}
					if _, err := a.Tx().Exec(ctx, row.second, second); !row.swallow {
						return 0, err
					}
					return 0, nil
				})
				return err
			}
			var ended sync.WaitGroup
			errs := make([]error, 2)
			ended.Go(func() { errs[0] = settleBoth("alice", "bob") })
			ended.Go(func() { errs[1] = settleBoth("bob", "alice") })
			ended.Wait()
			if err := errors.Join(errs...); err != nil {
				t.Error(err)
			}
			log.checkRetries(t, deadlockDetected)
			ratings := map[string]int{}
			for _, player := range []string{"alice", "bob"} {
				ratings[player] = db.number(t, "SELECT rating FROM ratings WHERE player = '"+player+"'")
			}
			if diff := cmp.Diff(map[string]int{"alice": 2, "bob": 2}, ratings); diff != "" {
				t.Errorf("ratings (-want +got):\n%s", diff)
			}
		})
	}
}
