package settle_test

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/settleonce/settleonce/pgstore"
	"github.com/settleonce/settleonce/receipt"
	"github.com/settleonce/settleonce/settle"
)

// errAllowed says that a handle which should have refused did not.
var errAllowed = errors.New("the handle did not refuse")

// TestKeptHandleRefuses has one row a handle that a callback may keep. Its pool
// has one connection, so that the handle, used later, would reach into the
// next callback's transaction (I2).
func TestKeptHandleRefuses(t *testing.T) {
	t.Parallel()
	rows := []struct {
		name string
		// keep takes a handle and returns how to use it. use returns nil
		// where one of its methods did not refuse.
		keep func(ctx context.Context, tx pgx.Tx) (use func(context.Context) error, err error)
		// unread says that the handle blocks the connection, so that nothing
		// can be committed.
		unread bool
	}{
		{"transaction", keepTransaction, false},
		{"open savepoint", keepOpenSavepoint, false},
		{"released savepoint", keepReleasedSavepoint, false},
		{"savepoint within a savepoint", keepNestedSavepoint, false},
		{"large object", keepLargeObject, false},
		{"large objects of a savepoint", keepLargeObjectsOfSavepoint, false},
		{"rows", keepRows, true},
		{"row", keepRow, true},
		{"batch results", keepBatchResults, true},
		{"closed batch results", keepClosedBatchResults, false},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			l := newDatabase(t).newLobby(t, setup{pool: func(cfg *pgxpool.Config) { cfg.MaxConns = 1 }})
			var use func(context.Context) error
			got := l.end(t.Context(), l.winAnd(func(ctx context.Context, a *pgAttempt) (err error) {
				use, err = row.keep(ctx, a.Tx())
				return err
			}))
			want := settledAfter(1)
			if row.unread {
				want = outcome{Err: receipt.ErrNotCommitted, Calls: 1}
			}
			l.check(t, got.answer, want)

			other := request()
			other.Key.ID = "8"
			_, err := settle.Do(t.Context(), l.runner, other, func(ctx context.Context, a *pgAttempt) (int, error) {
				if err := use(ctx); err == nil {
					t.Error(errAllowed)
				}
				return l.win(ctx, a)
			})
			if err != nil {
				t.Errorf("the next key: %v", err)
			}
			if err := use(t.Context()); err == nil {
				t.Error(errAllowed)
			}
			left := l.seen(t)
			if left.Rating != 10*left.Receipts || left.Receipts != want.Receipts+1 {
				t.Errorf("rating %d with %d receipts: the kept handle had an effect", left.Rating, left.Receipts)
			}
		})
	}
}

// refuses joins the errors of calls, or returns nil where one of them has none.
func refuses(errs ...error) error {
	for _, err := range errs {
		if err == nil {
			return nil
		}
	}
	return errors.Join(errs...)
}

// useTransaction tries what a transaction or a savepoint can do.
func useTransaction(ctx context.Context, tx pgx.Tx) error {
	_, execErr := tx.Exec(ctx, more)
	rows, queryErr := tx.Query(ctx, more+" RETURNING rating")
	rows.Close()
	_, beginErr := tx.Begin(ctx)
	_, copyErr := tx.CopyFrom(ctx, pgx.Identifier{"ratings"}, []string{"player", "rating"}, pgx.CopyFromRows([][]any{{"eve", 1}}))
	_, prepareErr := tx.Prepare(ctx, "kept", more)
	var batch pgx.Batch
	batch.Queue(more)
	objects := tx.LargeObjects()
	_, createErr := objects.Create(ctx, 0)
	if tx.Conn() != nil {
		return nil
	}
	return refuses(execErr, queryErr, beginErr, copyErr, prepareErr, createErr,
		tx.QueryRow(ctx, more+" RETURNING rating").Scan(new(int)), tx.SendBatch(ctx, &batch).Close(),
		pgstore.Defer(tx, 2, more), tx.Commit(ctx), tx.Rollback(ctx))
}

func keepTransaction(_ context.Context, tx pgx.Tx) (func(context.Context) error, error) {
	return func(ctx context.Context) error { return useTransaction(ctx, tx) }, nil
}

func keepOpenSavepoint(ctx context.Context, tx pgx.Tx) (func(context.Context) error, error) {
	savepoint, err := tx.Begin(ctx)
	return func(ctx context.Context) error { return useTransaction(ctx, savepoint) }, err
}

func keepReleasedSavepoint(ctx context.Context, tx pgx.Tx) (func(context.Context) error, error) {
	savepoint, err := tx.Begin(ctx)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error { return useTransaction(ctx, savepoint) }, savepoint.Commit(ctx)
}

func keepNestedSavepoint(ctx context.Context, tx pgx.Tx) (func(context.Context) error, error) {
	outer, err := tx.Begin(ctx)
	if err != nil {
		return nil, err
	}
	return keepOpenSavepoint(ctx, outer)
}

func keepLargeObject(ctx context.Context, tx pgx.Tx) (func(context.Context) error, error) {
	objects := tx.LargeObjects()
	id, err := objects.Create(ctx, 0)
	if err != nil {
		return nil, err
	}
	object, err := objects.Open(ctx, id, pgx.LargeObjectModeRead|pgx.LargeObjectModeWrite)
	if err != nil {
		return nil, err
	}
	_, err = object.Write([]byte("kept"))
	return func(ctx context.Context) error {
		_, writeErr := object.Write([]byte("late"))
		_, readErr := object.Read(make([]byte, 1))
		_, openErr := objects.Open(ctx, id, pgx.LargeObjectModeRead)
		return refuses(writeErr, readErr, openErr, object.Truncate(0), objects.Unlink(ctx, id))
	}, err
}

func keepLargeObjectsOfSavepoint(ctx context.Context, tx pgx.Tx) (func(context.Context) error, error) {
	savepoint, err := tx.Begin(ctx)
	if err != nil {
		return nil, err
	}
	objects := savepoint.LargeObjects()
	id, err := objects.Create(ctx, 0)
	return func(ctx context.Context) error {
		_, createErr := objects.Create(ctx, 0)
		_, openErr := objects.Open(ctx, id, pgx.LargeObjectModeRead)
		return refuses(createErr, openErr, objects.Unlink(ctx, id))
	}, err
}

func keepRows(ctx context.Context, tx pgx.Tx) (func(context.Context) error, error) {
	rows, err := tx.Query(ctx, "SELECT generate_series(1, 100000)")
	return func(context.Context) error {
		if rows.Next() || rows.RawValues() != nil {
			return nil
		}
		_, valuesErr := rows.Values()
		rows.Close()
		return refuses(rows.Err(), rows.Scan(new(int)), valuesErr)
	}, err
}

func keepRow(ctx context.Context, tx pgx.Tx) (func(context.Context) error, error) {
	row := tx.QueryRow(ctx, "SELECT 1")
	return func(context.Context) error { return row.Scan(new(int)) }, nil
}

func keepBatchResults(ctx context.Context, tx pgx.Tx) (func(context.Context) error, error) {
	var batch pgx.Batch
	for range 3 {
		batch.Queue("SELECT 1")
	}
	results := tx.SendBatch(ctx, &batch)
	_, err := results.Exec()
	return func(context.Context) error { return useBatchResults(results) }, err
}

func keepClosedBatchResults(ctx context.Context, tx pgx.Tx) (func(context.Context) error, error) {
	var batch pgx.Batch
	batch.Queue("SELECT 1")
	results := tx.SendBatch(ctx, &batch)
	return func(context.Context) error { return useBatchResults(results) }, results.Close()
}

func useBatchResults(results pgx.BatchResults) error {
	_, execErr := results.Exec()
	_, queryErr := results.Query()
	return refuses(execErr, queryErr, results.QueryRow().Scan(new(int)), results.Close())
}
