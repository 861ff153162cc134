package pgstore_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/pgstore"
	"github.com/settleonce/settleonce/receipt"
)

// raise makes a table refuse rows with the given code.
func raise(table, code string) string {
	return `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
		$$ BEGIN RAISE EXCEPTION 'refused' USING ERRCODE = '` + code + `'; END $$;
		CREATE TRIGGER refuse BEFORE INSERT ON ` + table + ` FOR EACH ROW EXECUTE FUNCTION refuse()`
}

// raiseAtCommit makes the COMMIT of a transaction that marks fail.
func raiseAtCommit(code string) string {
	return `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
		$$ BEGIN RAISE EXCEPTION 'refused' USING ERRCODE = '` + code + `'; END $$;
		CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON marks DEFERRABLE INITIALLY DEFERRED
		FOR EACH ROW EXECUTE FUNCTION refuse()`
}

// flushFailures has an error in each statement of the last flush.
var flushFailures = []struct {
	name      string
	prepare   string // run before the session begins
	rival     string // run while it is open
	deferred  string
	argument  any
	code      string // of the server's error, empty where it has none
	retryable bool
	says      string
}{
	{name: "deferred statement", deferred: "INSERT INTO marks VALUES ('a' || 1/$1::int)", argument: 0, code: "22012", says: "deferred statement 1"},
	{name: "deferred serialisation failure", prepare: raise("marks", "40001"), code: "40001", retryable: true},
	{name: "deferred deadlock", prepare: raise("marks", "40P01"), code: "40P01", retryable: true},
	{name: "deferred unique violation", prepare: "INSERT INTO marks VALUES ('effect')", code: "23505"},
	{name: "deferred row count", deferred: "UPDATE marks SET mark = $1", argument: "nobody's", code: "22P02", says: "must change 1 rows, changed 0"},
	{name: "deferred argument", deferred: "INSERT INTO marks VALUES ($1)", argument: make(chan int)},
	{name: "receipt", prepare: raise("settleonce.receipts", "P0001"), code: "P0001", says: "receipt"},
	{name: "receipt of a rival", rival: `INSERT INTO settleonce.receipts
		(tenant, scope, operation, id, revision, requested_kind, outcome_kind, fingerprint, ordering_key, attempt, recorded_at)
		VALUES ('tenant', 'match', 'settle', 'm1', 0, 'settled', 'settled', 'test/1:` + strings.Repeat("0", 64) + `',
		'', 'rival', now())`, code: "23505", retryable: true},
	{name: "receipt that does not fit", prepare: "ALTER TABLE settleonce.receipts ADD CONSTRAINT short CHECK (octet_length(value) < 3)", code: "23514"},
	{name: "ordering lock", rival: "lock the ordering key", code: "55P03", says: "events"},
	{name: "event", prepare: raise("settleonce.events", "P0001"), code: "P0001", says: "events"},
	{name: "commit", prepare: raiseAtCommit("P0001"), code: "P0001"},
	{name: "commit that cannot be serialised", prepare: raiseAtCommit("40001"), code: "40001", retryable: true},
}

func TestErrorInEachStatementOfTheLastFlush(t *testing.T) {
	t.Parallel()
	modes := []pgx.QueryExecMode{pgx.QueryExecModeCacheStatement, pgx.QueryExecModeExec}
	for _, mode := range modes {
		for _, failure := range flushFailures {
			t.Run(failure.name+" in "+mode.String(), func(t *testing.T) {
				t.Parallel()
				f := newFixture(t, func(cfg *pgxpool.Config) { cfg.ConnConfig.DefaultQueryExecMode = mode })
				execute(t, f.pool, failure.prepare)
				claim := claimOn("m1")
				claim.LockTimeout = 50 * time.Millisecond
				sent := eventOf(claim.Key, "line")
				session := f.begin(t, claim)
				f.rival(t, failure.rival, sent)
				before := len(f.marks(t))

				deferred, arguments := failure.deferred, []any{failure.argument}
				if deferred == "" {
					deferred, arguments = "INSERT INTO marks VALUES ($1)", []any{"effect"}
				}
				if err := pgstore.Defer(session.Tx(), 1, deferred, arguments...); err != nil {
					t.Fatal(err)
				}
				_, err := session.Commit(t.Context(), receiptFor(claim), sent)
				expectNotCommitted(t, f.store, err, failure.code, failure.retryable)
				if !strings.Contains(err.Error(), failure.says) {
					t.Errorf("error %q does not say %q", err, failure.says)
				}
				f.expectOnlyTheRival(t, before)
			})
		}
	}
}

// rival runs what another client does while the session is open.
func (f *fixture) rival(t *testing.T, sql string, sent event.Event) {
	t.Helper()
	if sql != "lock the ordering key" {
		execute(t, f.pool, sql)
		return
	}
	tx, err := f.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback(context.Background()) })
	lock := pgstore.OrderingLocks("settleonce", []event.Event{sent})[0]
	if _, err := tx.Exec(t.Context(), "SELECT pg_advisory_xact_lock($1)", lock); err != nil {
		t.Fatal(err)
	}
}

func expectNotCommitted(t *testing.T, store *pgstore.Store, err error, code string, retryable bool) {
	t.Helper()
	if !errors.Is(err, receipt.ErrNotCommitted) || errors.Is(err, receipt.ErrOutcomeUnknown) {
		t.Fatalf("error = %v, want ErrNotCommitted alone", err)
	}
	var server *pgconn.PgError
	if errors.As(err, &server); server != nil && server.Code != code || server == nil && code != "" {
		t.Errorf("cause = %v, want code %q", server, code)
	}
	if got := store.Retryable(err); got != retryable {
		t.Errorf("Retryable(%v) = %t, want %t", err, got, retryable)
	}
}

// expectOnlyTheRival checks that the failed flush left nothing and that every
// connection is sound.
func (f *fixture) expectOnlyTheRival(t *testing.T, marksBefore int) {
	t.Helper()
	if marks := f.marks(t); len(marks) != marksBefore {
		t.Errorf("effects = %q, want %d", marks, marksBefore)
	}
	for _, stored := range f.history(t, "m1") {
		if stored.Attempt != "rival" {
			t.Errorf("receipt of the failed attempt is there: %v", stored)
		}
	}
	var left int
	if err := f.pool.QueryRow(t.Context(), `SELECT count(*) FROM settleonce.events`).Scan(&left); err != nil || left != 0 {
		t.Errorf("events = %d, %v, want none", left, err)
	}
}

func TestRowCountHasItsName(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	claim := claimOn("m1")
	session := f.begin(t, claim)
	if err := pgstore.Defer(session.Tx(), 1, "UPDATE marks SET mark = 'x' WHERE mark = 'nobody''s' -- guard"); err != nil {
		t.Fatal(err)
	}
	if _, err := session.Commit(t.Context(), receiptFor(claim)); !errors.Is(err, pgstore.ErrRowCount) {
		t.Errorf("Commit = %v, want ErrRowCount", err)
	}
}

// Errors that look like those of the receipt's own INSERT are the caller's: a
// unique violation counts as a rival's receipt, and a missing attempt as a
// transaction that was ended, only by our own table, constraint and column.
func TestForeignErrorsAreTheCallers(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ prepare, deferred, code string }{
		"unique, another table of that name": {
			"CREATE TABLE public.receipts (id int CONSTRAINT receipts_pkey PRIMARY KEY); INSERT INTO receipts VALUES (1)",
			"INSERT INTO public.receipts VALUES (1)", "23505",
		},
		"unique, another constraint of our table": {
			`CREATE FUNCTION public.taken() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
				RAISE unique_violation USING SCHEMA = 'settleonce', TABLE = 'receipts', CONSTRAINT = 'another'; END $$;
				CREATE TRIGGER taken BEFORE INSERT ON marks FOR EACH ROW EXECUTE FUNCTION public.taken()`,
			"INSERT INTO marks VALUES ('x')", "23505",
		},
		"null, another table of that name": {
			"CREATE TABLE public.receipts (attempt text NOT NULL)",
			"INSERT INTO public.receipts VALUES (NULL)", "23502",
		},
		"null, another column of our table": {
			`CREATE FUNCTION public.missing() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
				RAISE not_null_violation USING SCHEMA = 'settleonce', TABLE = 'receipts', COLUMN = 'tenant'; END $$;
				CREATE TRIGGER missing BEFORE INSERT ON marks FOR EACH ROW EXECUTE FUNCTION public.missing()`,
			"INSERT INTO marks VALUES ('x')", "23502",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			execute(t, f.pool, test.prepare)
			claim := claimOn("m1")
			session := f.begin(t, claim)
			if err := pgstore.Defer(session.Tx(), 1, test.deferred); err != nil {
				t.Fatal(err)
			}
			_, err := session.Commit(t.Context(), receiptFor(claim))
			expectNotCommitted(t, f.store, err, test.code, false)
			if errors.Is(err, receipt.ErrTransactionEnded) {
				t.Errorf("Commit = %v, which accuses the callback of having ended the transaction", err)
			}
		})
	}
}

// failures are the ways in which a callback can swallow an error of the
// server, each with the code that the test wants back.
var failures = map[string]func(ctx context.Context, tx pgx.Tx, sql string){
	"exec":  func(ctx context.Context, tx pgx.Tx, sql string) { _, _ = tx.Exec(ctx, sql) },
	"query": func(ctx context.Context, tx pgx.Tx, sql string) { rows, _ := tx.Query(ctx, sql); rows.Close() },
	"rows": func(ctx context.Context, tx pgx.Tx, sql string) {
		rows, _ := tx.Query(ctx, sql)
		for rows.Next() {
			continue // only the end matters
		}
	},
	"query row": func(ctx context.Context, tx pgx.Tx, sql string) { _ = tx.QueryRow(ctx, sql).Scan() },
	"batch": func(ctx context.Context, tx pgx.Tx, sql string) {
		var batch pgx.Batch
		batch.Queue(sql)
		_ = tx.SendBatch(ctx, &batch).Close()
	},
	"batch with a callback": func(ctx context.Context, tx pgx.Tx, sql string) {
		var batch pgx.Batch
		batch.Queue(sql).Query(func(rows pgx.Rows) error { rows.Close(); return nil })
		_ = tx.SendBatch(ctx, &batch).Close()
	},
	"savepoint released": func(ctx context.Context, tx pgx.Tx, sql string) {
		nested, err := tx.Begin(ctx)
		if err == nil {
			_, _ = nested.Exec(ctx, sql)
			_ = nested.Commit(ctx)
		}
	},
	"before the bare connection is asked for": func(ctx context.Context, tx pgx.Tx, sql string) {
		_, _ = tx.Exec(ctx, sql)
		_ = tx.Conn()
	},
	"followed by others": func(ctx context.Context, tx pgx.Tx, sql string) {
		_, _ = tx.Exec(ctx, sql)
		_, _ = tx.Exec(ctx, "SELECT 1")
	},
}

func TestSwallowedErrorIsRemembered(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	execute(t, f.pool, `CREATE FUNCTION fail(code text) RETURNS int LANGUAGE plpgsql AS
		$$ BEGIN RAISE EXCEPTION 'swallowed' USING ERRCODE = code; END $$`)
	for name, fail := range failures {
		for code, retryable := range map[string]bool{"40001": true, "40P01": true, "P0001": false} {
			t.Run(name+" "+code, func(t *testing.T) {
				t.Parallel()
				claim := claimOn(t.Name())
				session := f.begin(t, claim)
				if err := mark(t.Context(), session.Tx(), t.Name()); err != nil {
					t.Fatal(err)
				}
				fail(t.Context(), session.Tx(), "SELECT fail('"+code+"')")
				_, err := session.Commit(t.Context(), receiptFor(claim))
				expectNotCommitted(t, f.store, err, code, retryable)
				f.expectNothing(t, t.Name())
			})
		}
	}
}

// What the receipt or an event breaks is found before anything is sent.
func TestCommitRefusesBadInput(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	tests := map[string]func(r *receipt.Receipt, e *event.Event){
		"kind":      func(r *receipt.Receipt, _ *event.Event) { r.Outcome = "Not A Kind" },
		"key":       func(r *receipt.Receipt, _ *event.Event) { r.Key.ID = "another" },
		"revision":  func(r *receipt.Receipt, _ *event.Event) { r.Revision = 1 },
		"attempt":   func(r *receipt.Receipt, _ *event.Event) { r.Attempt = "another" },
		"event":     func(_ *receipt.Receipt, e *event.Event) { e.Type = "" },
		"data text": func(_ *receipt.Receipt, e *event.Event) { e.Data = []byte("{") },
	}
	for name, spoil := range tests {
		claim := claimOn(name)
		session := f.begin(t, claim)
		r, e := receiptFor(claim), eventOf(claim.Key, "")
		spoil(&r, &e)
		if _, err := session.Commit(t.Context(), r, e); !errors.Is(err, receipt.ErrNotCommitted) {
			t.Errorf("%s: Commit = %v, want ErrNotCommitted", name, err)
		}
		f.expectNothing(t, name)
	}
}

func TestCommitUnderADoneContextIsNotCommitted(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	claim := claimOn("m1")
	session := f.begin(t, claim)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := session.Commit(ctx, receiptFor(claim))
	expectNotCommitted(t, f.store, err, "", false)
	f.begin(t, claimOn("m1")) // the key is free
}
