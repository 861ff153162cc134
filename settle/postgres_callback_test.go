package settle_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/settleonce/settleonce/pgstore"
	"github.com/settleonce/settleonce/receipt"
	"github.com/settleonce/settleonce/settle"
)

// nobodyHolds holds where no transaction holds a key.
const nobodyHolds = "NOT EXISTS (SELECT " + advisory + " AND granted)"

// ending is how a call of Do came to its end.
type ending struct {
	answer
	panicked any  // what it panicked with
	exited   bool // it ended its goroutine
}

// end calls Do on a goroutine of its own, which the callback may end.
func (l *lobby) end(ctx context.Context, effect func(context.Context, *pgAttempt) (int, error)) (e ending) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		e.exited = true
		defer func() {
			if e.panicked = recover(); e.panicked != nil {
				e.exited = false
			}
		}()
		e.result, e.err = settle.Do(ctx, l.runner, request(), effect)
		e.exited = false
	}()
	<-done
	return e
}

// checkFree checks that the key is free: nobody holds it, and the same request
// settles in the calls-th run of the callback.
func (l *lobby) checkFree(t *testing.T, calls int) {
	t.Helper()
	if err := l.db.await(t.Context(), nobodyHolds); err != nil {
		t.Error(err)
	}
	result, err := l.do(t.Context())
	l.check(t, answer{result, err}, settledAfter(calls))
}

// divideByZero is an error of the server, which leaves the transaction failed.
const (
	divideByZero   = "SELECT 1 / 0"
	divisionByZero = "22012"
)

// TestCallbackLeavesNothing has one row a way not to succeed: nothing is left
// of any, no hook and no OnReceipt runs, and the key is free.
func TestCallbackLeavesNothing(t *testing.T) {
	t.Parallel()
	rows := []struct {
		name string
		more func(ctx context.Context, cancel context.CancelFunc, l *lobby, tx pgx.Tx) error

		err      error  // the sentinel that Do returns
		code     string // of the server's error that Do returns
		panicked any
		exited   bool
	}{
		{
			name: "panics", panicked: "boom",
			more: func(context.Context, context.CancelFunc, *lobby, pgx.Tx) error { panic("boom") },
		},
		{
			name: "ends its goroutine", exited: true,
			more: func(context.Context, context.CancelFunc, *lobby, pgx.Tx) error { runtime.Goexit(); return nil },
		},
		{
			name: "cancels its context", err: context.Canceled,
			more: func(_ context.Context, cancel context.CancelFunc, _ *lobby, _ pgx.Tx) error { cancel(); return nil },
		},
		{
			name: "cancels its context within a statement, and swallows that", err: context.Canceled,
			more: func(ctx context.Context, cancel context.CancelFunc, l *lobby, tx pgx.Tx) error {
				sleeping := "EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep')"
				go func() {
					defer cancel()
					_ = l.db.await(ctx, sleeping)
				}()
				_, _ = tx.Exec(ctx, "SELECT pg_sleep(3600)")
				return nil
			},
		},
		{
			name: "returns an error of the server", code: divisionByZero,
			more: func(ctx context.Context, _ context.CancelFunc, _ *lobby, tx pgx.Tx) error {
				_, err := tx.Exec(ctx, divideByZero)
				return err
			},
		},
		{
			name: "swallows an error of the server", err: receipt.ErrNotCommitted, code: divisionByZero,
			more: func(ctx context.Context, _ context.CancelFunc, _ *lobby, tx pgx.Tx) error {
				_, _ = tx.Exec(ctx, divideByZero)
				_, _ = tx.Exec(ctx, "SELECT 1") // which says only that the transaction has failed
				return nil
			},
		},
		{
			name: "swallows an error within a savepoint, and releases it", err: receipt.ErrNotCommitted, code: divisionByZero,
			more: func(ctx context.Context, _ context.CancelFunc, _ *lobby, tx pgx.Tx) error {
				savepoint, err := tx.Begin(ctx)
				if err != nil {
					return err
				}
				_, _ = savepoint.Exec(ctx, divideByZero)
				_ = savepoint.Commit(ctx)
				return nil
			},
		},
		{
			name: "swallows an error on the bare connection", err: receipt.ErrNotCommitted,
			more: func(ctx context.Context, _ context.CancelFunc, _ *lobby, tx pgx.Tx) error {
				_, _ = tx.Conn().Exec(ctx, divideByZero)
				return nil
			},
		},
		{
			name: "rolls back on the bare connection, begins again and fails there", err: receipt.ErrNotCommitted,
			more: func(ctx context.Context, _ context.CancelFunc, _ *lobby, tx pgx.Tx) error {
				sendEach(ctx, tx.Conn(), []string{"ROLLBACK", "BEGIN", divideByZero})
				return nil
			},
		},
		{
			name: "leaves rows unread", err: receipt.ErrNotCommitted,
			more: func(ctx context.Context, _ context.CancelFunc, _ *lobby, tx pgx.Tx) error {
				_, err := tx.Query(ctx, "SELECT generate_series(1, 100000)")
				return err
			},
		},
		{
			name: "defers a statement that fails", err: receipt.ErrNotCommitted, code: divisionByZero,
			more: func(_ context.Context, _ context.CancelFunc, _ *lobby, tx pgx.Tx) error {
				return pgstore.Defer(tx, 1, "UPDATE ratings SET rating = 1 / 0")
			},
		},
		{
			name: "defers a statement whose guard does not hold", err: pgstore.ErrRowCount,
			more: func(_ context.Context, _ context.CancelFunc, _ *lobby, tx pgx.Tx) error {
				return pgstore.Defer(tx, 1, "UPDATE ratings SET rating = 0 WHERE player = $1", "nobody")
			},
		},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			l := newDatabase(t).newLobby(t, setup{})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			got := l.end(ctx, l.winAnd(func(ctx context.Context, a *pgAttempt) error { return row.more(ctx, cancel, l, a.Tx()) }))
			if got.panicked != row.panicked || got.exited != row.exited {
				t.Errorf("panicked with %v, exited = %v; want %v, %v", got.panicked, got.exited, row.panicked, row.exited)
			}
			if returned := row.panicked == nil && !row.exited; returned != (got.err != nil) {
				t.Errorf("err = %v", got.err)
			}
			if row.code != "" && !hasCode(got.err, row.code) {
				t.Errorf("err = %v, want the server's %s", got.err, row.code)
			}
			want := outcome{Err: row.err, Not: receipt.ErrTransactionEnded, Calls: 1}
			if row.err == nil {
				want.Err = got.err // checked above
			}
			l.check(t, got.answer, want)
			l.checkFree(t, 2)
		})
	}
}

// TestErrorUndoneInSavepoint is the way in which a callback may live with an
// error of the server.
func TestErrorUndoneInSavepoint(t *testing.T) {
	t.Parallel()
	l := newDatabase(t).newLobby(t, setup{})
	got := l.end(t.Context(), l.winAnd(func(ctx context.Context, a *pgAttempt) error {
		savepoint, err := a.Tx().Begin(ctx)
		if err != nil {
			return err
		}
		if err := pgstore.Defer(savepoint, 1, "UPDATE ratings SET rating = 1000"); err != nil { // dies with the savepoint
			return err
		}
		if _, err := savepoint.Exec(ctx, divideByZero); !hasCode(err, divisionByZero) {
			t.Errorf("err = %v", err)
		}
		return savepoint.Rollback(ctx)
	}))
	l.check(t, got.answer, settledAfter(1))
}

// TestTransactionControlIsRefused has one row a way to send COMMIT or ROLLBACK.
// Each is refused before it is sent. A callback that passes the refusal on
// fails and leaves nothing; one that swallows it has done no harm.
func TestTransactionControlIsRefused(t *testing.T) {
	t.Parallel()
	ways := []struct {
		name string
		err  error
		send func(ctx context.Context, tx pgx.Tx, sql string) error
	}{
		{"method", receipt.ErrTransactionControl, func(ctx context.Context, tx pgx.Tx, sql string) error {
			if sql == "COMMIT" {
				return tx.Commit(ctx)
			}
			return tx.Rollback(ctx)
		}},
		{"Exec", receipt.ErrTransactionControl, func(ctx context.Context, tx pgx.Tx, sql string) error {
			_, err := tx.Exec(ctx, sql)
			return err
		}},
		{"behind another statement", receipt.ErrTransactionControl, func(ctx context.Context, tx pgx.Tx, sql string) error {
			_, err := tx.Exec(ctx, "SELECT 1; /* ; */ "+sql, pgx.QueryExecModeSimpleProtocol)
			return err
		}},
		{"Query", receipt.ErrTransactionControl, func(ctx context.Context, tx pgx.Tx, sql string) error {
			rows, err := tx.Query(ctx, sql)
			rows.Close()
			return err
		}},
		{"QueryRow", receipt.ErrTransactionControl, func(ctx context.Context, tx pgx.Tx, sql string) error {
			return tx.QueryRow(ctx, sql).Scan()
		}},
		{"Prepare", receipt.ErrTransactionControl, func(ctx context.Context, tx pgx.Tx, sql string) error {
			_, err := tx.Prepare(ctx, "control", sql)
			return err
		}},
		{"in a batch", receipt.ErrTransactionControl, func(ctx context.Context, tx pgx.Tx, sql string) error {
			var batch pgx.Batch
			batch.Queue("SELECT 1")
			batch.Queue(sql)
			return tx.SendBatch(ctx, &batch).Close()
		}},
		{"by a rewriter", receipt.ErrTransactionControl, func(ctx context.Context, tx pgx.Tx, sql string) error {
			_, err := tx.Exec(ctx, "SELECT 1", rewriteTo(sql))
			return err
		}},
		{"deferred", pgstore.ErrNotDeferrable, func(_ context.Context, tx pgx.Tx, sql string) error {
			return pgstore.Defer(tx, 0, sql)
		}},
		{"deferred behind another statement", pgstore.ErrNotDeferrable, func(_ context.Context, tx pgx.Tx, sql string) error {
			return pgstore.Defer(tx, 0, "DELETE FROM ratings WHERE false; "+sql)
		}},
		{"on a savepoint", receipt.ErrTransactionControl, func(ctx context.Context, tx pgx.Tx, sql string) error {
			savepoint, err := tx.Begin(ctx)
			if err != nil {
				return err
			}
			_, err = savepoint.Exec(ctx, sql)
			return errors.Join(err, savepoint.Commit(ctx))
		}},
	}
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			db := newDatabase(t)
			for _, sql := range []string{"COMMIT", "ROLLBACK"} {
				db.reset(t)
				l := db.newLobby(t, setup{})
				got := l.end(t.Context(), l.winAnd(func(ctx context.Context, a *pgAttempt) error {
					return way.send(ctx, a.Tx(), sql)
				}))
				l.check(t, got.answer, outcome{Err: way.err, Not: receipt.ErrTransactionEnded, Calls: 1})

				got = l.end(t.Context(), l.winAnd(func(ctx context.Context, a *pgAttempt) error {
					_ = way.send(ctx, a.Tx(), sql)
					return nil
				}))
				l.check(t, got.answer, settledAfter(2))
			}
		})
	}
}

// rewriteTo is a rewriter that makes any statement this one.
type rewriteTo string

// RewriteQuery implements pgx.QueryRewriter.
func (r rewriteTo) RewriteQuery(context.Context, *pgx.Conn, string, []any) (string, []any, error) {
	return string(r), nil, nil
}

// TestTransactionEndedOnBareConnection has one row a way to end the
// transaction where nothing can refuse it. It is detected whatever the callback
// then returns: what a COMMIT let out stays without a receipt, and the error
// forbids a retry (I2).
func TestTransactionEndedOnBareConnection(t *testing.T) {
	t.Parallel()
	rows := []struct {
		name   string
		sql    []string
		rating int // what is left
	}{
		{"rolled back", []string{"ROLLBACK"}, 0},
		{"committed", []string{"COMMIT"}, 10},
		{"rolled back and begun again", []string{"ROLLBACK", "BEGIN", more}, 0},
		{"committed and begun again", []string{"COMMIT", "BEGIN", more}, 10},
		{"rolled back and chained", []string{"ROLLBACK AND CHAIN", more}, 0},
		{"committed and chained", []string{"COMMIT AND CHAIN", more}, 10},
		{"committed, begun again and failed", []string{"COMMIT", "BEGIN", divideByZero}, 10},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			checkEnded(t, newDatabase(t), row.sql, row.rating)
		})
	}
}

// checkEnded has callbacks end their transaction with sql, which leaves rating.
func checkEnded(t *testing.T, db *database, sql []string, rating int) {
	t.Helper()
	for way, send := range map[string]func(context.Context, *pgx.Conn, []string){"one by one": sendEach, "in a batch": sendTogether} {
		for _, own := range []error{nil, errors.New("own")} {
			t.Run(fmt.Sprintf("%s, returns %v", way, own), func(t *testing.T) {
				db.reset(t)
				l := db.newLobby(t, setup{})
				got := l.end(t.Context(), l.winAnd(func(ctx context.Context, a *pgAttempt) error {
					send(ctx, a.Tx().Conn(), sql)
					return own
				}))
				l.check(t, got.answer, outcome{
					Err: receipt.ErrTransactionEnded, Not: receipt.ErrNotCommitted, Calls: 1, Rating: rating,
				})
				if own != nil && !errors.Is(got.err, own) {
					t.Errorf("err = %v, want the callback's own too", got.err)
				}
				if err := db.await(t.Context(), nobodyHolds); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// more is an effect beyond that of win.
const more = "UPDATE ratings SET rating = rating + 1"

// sendEach and sendTogether swallow every error.
func sendEach(ctx context.Context, conn *pgx.Conn, sql []string) {
	for _, statement := range sql {
		_, _ = conn.Exec(ctx, statement)
	}
}

func sendTogether(ctx context.Context, conn *pgx.Conn, sql []string) {
	var batch pgx.Batch
	for _, statement := range sql {
		batch.Queue(statement)
	}
	_ = conn.SendBatch(ctx, &batch).Close()
}
