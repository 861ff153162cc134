package settle_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/settleonce/settleonce/internal/pgtest"
	"github.com/settleonce/settleonce/pgstore/pgfault"
	"github.com/settleonce/settleonce/pgstore/pgtemp"
	"github.com/settleonce/settleonce/receipt"
	"github.com/settleonce/settleonce/settle"
)

// doubtful is a lobby behind a proxy that breaks its first COMMIT.
type doubtful struct {
	*lobby
	proxy *pgfault.Proxy
	trap  *pgfault.Trap
}

func newDoubtful(t *testing.T, db *database, fault pgfault.Fault, s setup) *doubtful {
	t.Helper()
	proxy, err := pgfault.Listen(pgfault.Config{Target: db.dsn})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := proxy.Close(); err != nil {
			t.Error(err)
		}
	})
	trap, err := proxy.Arm(fault)
	if err != nil {
		t.Fatal(err)
	}
	s.dsn = proxy.DSN()
	return &doubtful{db.newLobby(t, s), proxy, trap}
}

// report returns what the proxy saw of the COMMIT that it broke.
func (d *doubtful) report(t *testing.T) pgfault.Report {
	t.Helper()
	report, err := d.trap.Report(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// release lets the COMMIT that the proxy holds go on.
func (d *doubtful) release(*testing.T) { d.trap.Release() }

// terminate has the server end the transaction whose COMMIT the proxy holds.
func (d *doubtful) terminate(t *testing.T) {
	t.Helper()
	d.db.terminateHolder(t)
	d.trap.Release()
}

// checkReceipt checks whose receipt an answer carries: the number of the run
// of this lobby's callback, from 1.
func (l *lobby) checkReceipt(t *testing.T, got answer, run int) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if run > len(l.attempts) || got.result.Receipt.Attempt != l.attempts[run-1] {
		t.Errorf("the receipt names attempt %q, want the %d. of %q", got.result.Receipt.Attempt, run, l.attempts)
	}
}

// checkSentAgain sends the request once more, which must be a replay of got.
func (l *lobby) checkSentAgain(t *testing.T, got answer) {
	t.Helper()
	again, err := l.do(t.Context())
	if err != nil || !again.Replayed {
		t.Errorf("sent again: replayed = %v, %v", again.Replayed, err)
	}
	if diff := cmp.Diff(got.result.Receipt, again.Receipt); diff != "" {
		t.Errorf("sent again: receipt (-first +second):\n%s", diff)
	}
}

// breakCommit has the first run of a callback fail at COMMIT, by a deferred
// constraint.
func breakCommit(ctx context.Context, a *pgAttempt) error {
	if a.Number() > 1 {
		return nil
	}
	_, err := a.Tx().Exec(ctx, "INSERT INTO strict VALUES (1), (1)")
	return err
}

func nothingMore(context.Context, *pgAttempt) error { return nil }

// TestCommitWithoutAnswer cuts the connection at COMMIT in each way, with
// either end of the transaction, and compares what the proxy saw with what Do
// made of it: committed means the receipt of the same attempt, and its hooks;
// not committed means another attempt (I5).
func TestCommitWithoutAnswer(t *testing.T) {
	t.Parallel()
	const uniqueViolation, adminShutdown = "23505", "57P01"
	rows := []struct {
		name string
		more func(context.Context, *pgAttempt) error
		// meanwhile runs once the resolution waits for the key's lock. Nil:
		// nothing holds it.
		meanwhile func(*doubtful, *testing.T)
		report    pgfault.Report
		committed bool
	}{
		{
			name: "not forwarded", more: nothingMore,
			report: pgfault.Report{Fault: pgfault.CommitNotForwarded, Outcome: pgfault.NoAnswer},
		},
		{
			name: "answer lost, committed", more: nothingMore,
			report: pgfault.Report{Fault: pgfault.AnswerLost, Forwarded: true, Outcome: pgfault.Committed}, committed: true,
		},
		{
			name: "answer lost, rolled back", more: breakCommit,
			report: pgfault.Report{Fault: pgfault.AnswerLost, Forwarded: true, Outcome: pgfault.RolledBack, SQLState: uniqueViolation},
		},
		{
			name: "completion dropped, committed", more: nothingMore,
			report: pgfault.Report{Fault: pgfault.CompletionDropped, Forwarded: true, Outcome: pgfault.Committed}, committed: true,
		},
		{
			name: "completion dropped, rolled back", more: breakCommit,
			report: pgfault.Report{Fault: pgfault.CompletionDropped, Forwarded: true, Outcome: pgfault.RolledBack, SQLState: uniqueViolation},
		},
		{
			name: "held, and committed after the client had gone", more: nothingMore,
			meanwhile: (*doubtful).release,
			report:    pgfault.Report{Fault: pgfault.CommitHeld, Forwarded: true, Outcome: pgfault.Committed}, committed: true,
		},
		{
			name: "held, and ended by the server", more: nothingMore,
			meanwhile: (*doubtful).terminate,
			report:    pgfault.Report{Fault: pgfault.CommitHeld, Outcome: pgfault.NoAnswer, SQLState: adminShutdown},
		},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			for _, level := range bothLevels() {
				t.Run(level.String(), func(t *testing.T) {
					t.Parallel()
					db := newDatabase(t)
					db.execute(t, "CREATE TABLE strict (id int UNIQUE DEFERRABLE INITIALLY DEFERRED)")
					d := newDoubtful(t, db, row.report.Fault, setup{runner: settle.Config[pgx.Tx]{Isolation: level}})
					answers := d.start(t.Context(), d.winAnd(row.more))
					if row.meanwhile != nil {
						<-d.trap.Sprung()
						if err := db.await(t.Context(), waitsForKey); err != nil {
							t.Fatal(err)
						}
						row.meanwhile(d, t)
					}
					got := <-answers

					report := d.report(t)
					if returned := report.Returned > 0; returned != (row.report.Fault == pgfault.CompletionDropped) {
						t.Errorf("%d bytes of the answer returned", report.Returned)
					}
					report.Returned = 0
					if report.SQLState == adminShutdown {
						report.Forwarded = false // to a server that has gone: it may or may not go out
					}
					if diff := cmp.Diff(row.report, report); diff != "" {
						t.Errorf("what the proxy saw (-want +got):\n%s", diff)
					}
					runs := 2
					if row.committed {
						runs = 1
					}
					d.check(t, got, settledAfter(runs))
					d.checkReceipt(t, got, runs)
					d.checkSentAgain(t, got)
				})
			}
		})
	}
}

// terminateHolder has the server end the transaction that holds the key.
func (db *database) terminateHolder(t *testing.T) {
	t.Helper()
	const terminate = "SELECT count(pg_terminate_backend(pid)) FROM (SELECT DISTINCT pid " + advisory + " AND granted AND NOT " + atGate + ") AS holder"
	if ended := db.number(t, terminate); ended != 1 {
		t.Errorf("%d transactions ended, want 1", ended)
	}
}

// terminateAtGate does so once the transaction waits at the gate.
func (db *database) terminateAtGate(t *testing.T) {
	t.Helper()
	if err := db.await(t.Context(), waitsAtGate); err != nil {
		t.Fatal(err)
	}
	db.terminateHolder(t)
}

// TestCommitThatWaits has a COMMIT wait within the server, by a deferred
// trigger, until somebody ends that. No end of it is an answer; the look under
// the key's lock tells that it did not commit, and the callback runs again.
func TestCommitThatWaits(t *testing.T) {
	t.Parallel()
	rows := map[string]struct {
		commitTimeout time.Duration
		end           func(*database, *testing.T) // nil: nobody else
	}{
		// The second attempt must make its commit within it.
		"for longer than CommitTimeout": {2 * time.Second, nil},
		"until the server ends it":      {patience, (*database).terminateAtGate},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := newDatabase(t)
			db.holdGate(t)
			l := db.newLobby(t, setup{runner: settle.Config[pgx.Tx]{CommitTimeout: row.commitTimeout}})
			answers := l.start(t.Context(), l.winAnd(func(ctx context.Context, a *pgAttempt) error {
				if a.Number() > 1 {
					return nil
				}
				_, err := a.Tx().Exec(ctx, "INSERT INTO gates VALUES ($1)", gate)
				return err
			}))
			if row.end != nil {
				row.end(db, t)
			}
			got := <-answers
			l.check(t, got, settledAfter(2))
			l.checkReceipt(t, got, 2)
		})
	}
}

// TestRivalCommitsWhileWeResolve has a rival in line for the key before our
// commit is cut, so that the rival gets the key first and commits while we wait
// to look. Its receipt is the answer, and our hooks are dropped (I4).
func TestRivalCommitsWhileWeResolve(t *testing.T) {
	t.Parallel()
	for _, level := range bothLevels() {
		t.Run(level.String(), func(t *testing.T) {
			t.Parallel()
			db := newDatabase(t)
			config := settle.Config[pgx.Tx]{Isolation: level}
			rival := db.newLobby(t, setup{runner: config})
			ours := newDoubtful(t, db, pgfault.CommitNotForwarded, setup{runner: config})
			var rivals <-chan answer
			result, err := settle.Do(t.Context(), ours.runner, request(), ours.winAnd(func(ctx context.Context, _ *pgAttempt) error {
				rivals = rival.start(t.Context(), func(ctx context.Context, a *pgAttempt) (int, error) {
					if err := db.await(ctx, waitsForKey); err != nil { // our look
						return 0, err
					}
					return rival.win(ctx, a)
				})
				return db.await(ctx, waitsForKey) // the rival
			}))
			got, theirs := answer{result, err}, <-rivals
			if report := ours.report(t); report.Forwarded {
				t.Error("the COMMIT was forwarded")
			}
			ours.check(t, got, replayed(1))
			rival.check(t, theirs, settledAfter(1))
			rival.checkReceipt(t, got, 1)
			rival.checkReceipt(t, theirs, 1)
		})
	}
}

// TestNobodyCanTellInTime has the COMMIT held, or the server away, for longer
// than Do looks. The outcome is unknown until the same request is sent again.
func TestNobodyCanTellInTime(t *testing.T) {
	t.Parallel()
	unknown := outcome{Err: receipt.ErrOutcomeUnknown, Not: receipt.ErrNotCommitted, Calls: 1}
	config := settle.Config[pgx.Tx]{ResolveTimeout: 100 * time.Millisecond}

	t.Run("committed later", func(t *testing.T) {
		t.Parallel()
		d := newDoubtful(t, newDatabase(t), pgfault.CommitHeld, setup{runner: config})
		result, err := d.do(t.Context())
		d.check(t, answer{result, err}, unknown)
		d.trap.Release()
		if report := d.report(t); report.Outcome != pgfault.Committed {
			t.Fatalf("the server said %q, want %q", report.Outcome, pgfault.Committed)
		}
		result, err = d.do(t.Context())
		d.check(t, answer{result, err}, replayed(1))
		d.checkReceipt(t, answer{result, err}, 1)
	})
	t.Run("never committed", func(t *testing.T) {
		t.Parallel()
		d := newDoubtful(t, newDatabase(t), pgfault.CommitNotForwarded, setup{runner: config})
		result, err := settle.Do(t.Context(), d.runner, request(), d.winAnd(func(context.Context, *pgAttempt) error {
			return d.proxy.SetTarget("host=/nowhere sslmode=disable")
		}))
		d.check(t, answer{result, err}, unknown)
		if report := d.report(t); report.Forwarded {
			t.Fatal("the COMMIT was forwarded")
		}
		if err := d.proxy.SetTarget(d.db.dsn); err != nil {
			t.Fatal(err)
		}
		result, err = d.do(t.Context())
		d.check(t, answer{result, err}, settledAfter(2))
		d.checkReceipt(t, answer{result, err}, 2)
	})
}

// TestStandbyCannotTell has a standby answer from the moment of the COMMIT. It
// grants the key's lock and finds nothing, which proves nothing: the outcome
// stays unknown, whatever became of the transaction.
func TestStandbyCannotTell(t *testing.T) {
	t.Parallel()
	rows := []struct {
		fault     pgfault.Fault
		database  string
		sentAgain outcome // to the primary
	}{
		{pgfault.AnswerLost, "committed", replayed(1)},
		{pgfault.CommitNotForwarded, "uncommitted", settledAfter(2)},
	}
	primary := pgtest.Server(t, pgtemp.Config{})
	databases := make(map[string]*database)
	for _, row := range rows {
		execute(t, primary.DSN(), "CREATE DATABASE "+row.database)
		databases[row.database] = prepareDatabase(t, primary.DSN()+" dbname="+row.database)
	}
	standby := pgtest.Standby(t, primary)
	execute(t, standby.DSN(), "SELECT pg_wal_replay_pause()") // it must not learn of what commits now

	for _, row := range rows {
		t.Run(row.database, func(t *testing.T) {
			t.Parallel()
			db, log := databases[row.database], new(logbook)
			d := newDoubtful(t, db, row.fault, setup{runner: settle.Config[pgx.Tx]{
				ResolveTimeout: 5 * time.Second, Logger: slog.New(log), // a look must reach the standby within it
			}})
			result, err := settle.Do(t.Context(), d.runner, request(), d.winAnd(func(context.Context, *pgAttempt) error {
				return d.proxy.SetTarget(standby.DSN() + " dbname=" + row.database)
			}))
			unknown := outcome{Err: receipt.ErrOutcomeUnknown, Not: receipt.ErrNotCommitted, Calls: 1}
			if committed := d.report(t).Outcome == pgfault.Committed; committed {
				unknown.Rating, unknown.Events, unknown.Receipts = 10, 1, 1
			}
			d.check(t, answer{result, err}, unknown)
			d.checkAnsweredByStandby(t)
			log.checkLooked(t, "the server is a standby")

			if err := d.proxy.SetTarget(db.dsn); err != nil {
				t.Fatal(err)
			}
			d.pool.Reset()
			result, err = d.do(t.Context())
			d.check(t, answer{result, err}, row.sentAgain)
			d.checkReceipt(t, answer{result, err}, row.sentAgain.Calls)
		})
	}
}

// checkAnsweredByStandby checks that the runner's own pool is connected to a
// standby, which knows of no receipt.
func (l *lobby) checkAnsweredByStandby(t *testing.T) {
	t.Helper()
	var recovering bool
	var receipts int
	row := l.pool.QueryRow(t.Context(), "SELECT pg_is_in_recovery(), (SELECT count(*) FROM settleonce.receipts)")
	if err := row.Scan(&recovering, &receipts); err != nil {
		t.Fatal(err)
	}
	if !recovering || receipts != 0 {
		t.Fatalf("in recovery: %v, with %d receipts; want a standby without", recovering, receipts)
	}
}

// execute runs one statement on a connection of its own.
func execute(t *testing.T, dsn, sql string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}
