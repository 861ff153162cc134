package settle_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/settleonce/settleonce/internal/pgtest"
	"github.com/settleonce/settleonce/pgstore"
	"github.com/settleonce/settleonce/receipt"
	"github.com/settleonce/settleonce/settle"
)

type pgAttempt = settle.Attempt[pgx.Tx]

// patience ends a test that is stuck. No outcome depends on it.
const patience = 30 * time.Second

// gate is the advisory lock that COMMIT waits for where the transaction wrote
// into the table gates.
const gate = 7_000_007

// tablesSQL makes what the callbacks change. The sequence counts runs that a
// rollback does not undo. A row in gates holds its transaction at COMMIT for as
// long as somebody else holds the lock; a row in touches changes a rating at
// COMMIT, and so takes a row lock there.
const tablesSQL = `
CREATE TABLE ratings (player text PRIMARY KEY, rating int NOT NULL);
INSERT INTO ratings VALUES ('alice', 0), ('bob', 0);
CREATE SEQUENCE runs;

CREATE TABLE gates (lock bigint NOT NULL);
CREATE FUNCTION wait_for_gate() RETURNS trigger LANGUAGE plpgsql AS
	$$ BEGIN PERFORM pg_advisory_xact_lock_shared(NEW.lock); RETURN NULL; END $$;
CREATE CONSTRAINT TRIGGER wait_for_gate AFTER INSERT ON gates
	DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION wait_for_gate();

CREATE TABLE touches (player text NOT NULL);
CREATE FUNCTION touch() RETURNS trigger LANGUAGE plpgsql AS
	$$ BEGIN UPDATE ratings SET rating = rating + 1 WHERE player = NEW.player; RETURN NULL; END $$;
CREATE CONSTRAINT TRIGGER touch AFTER INSERT ON touches
	DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION touch();
`

// database is a migrated database of the test's own, and the test's own way
// to it, past every runner and proxy.
type database struct {
	dsn  string
	pool *pgxpool.Pool
}

func newDatabase(t testing.TB) *database {
	t.Helper()
	return prepareDatabase(t, pgtest.DSN(t))
}

func prepareDatabase(t testing.TB, dsn string) *database {
	t.Helper()
	db := &database{dsn, pgtest.PoolOn(t, dsn)}
	if err := pgstore.Migrate(t.Context(), db.pool, ""); err != nil {
		t.Fatal(err)
	}
	db.execute(t, tablesSQL)
	return db
}

func (db *database) execute(t testing.TB, sql string) {
	t.Helper()
	if _, err := db.pool.Exec(t.Context(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// reset takes back what callbacks of win committed.
func (db *database) reset(t testing.TB) {
	t.Helper()
	db.execute(t, "TRUNCATE settleonce.receipts, settleonce.events")
	db.execute(t, "UPDATE ratings SET rating = 0")
}

// number returns the result of a query for one number.
func (db *database) number(t testing.TB, sql string) (n int) {
	t.Helper()
	if err := db.pool.QueryRow(t.Context(), sql).Scan(&n); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return n
}

// await polls until condition, an SQL expression, holds. It returns an error
// only when patience or ctx ends, so that callbacks can use it too.
func (db *database) await(ctx context.Context, condition string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		var holds bool
		if err := db.pool.QueryRow(ctx, "SELECT "+condition).Scan(&holds); err != nil || holds {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.New("gave up waiting until " + condition)
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// waitsForKey holds where a transaction waits for the lock of a key or an
// ordering key, waitsAtGate where one waits at the gate.
const (
	waitsForKey = "EXISTS (SELECT " + waiting + " AND NOT " + atGate + ")"
	waitsAtGate = "EXISTS (SELECT " + waiting + " AND " + atGate + ")"

	waiting  = advisory + " AND NOT granted"
	advisory = "FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
	atGate   = "(classid, objid, objsubid) = (0, 7000007, 1)" // gate, as pg_locks shows it
)

// holdGate closes the gate and returns what opens it.
func (db *database) holdGate(t *testing.T) (open func()) {
	t.Helper()
	conn, err := db.pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), "SELECT pg_advisory_lock($1)", gate); err != nil {
		t.Fatal(err)
	}
	open = sync.OnceFunc(func() {
		defer conn.Release()
		if _, err := conn.Exec(context.Background(), "SELECT pg_advisory_unlock($1)", gate); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(open)
	return open
}

// setup says how a lobby works, beyond the defaults of the tests.
type setup struct {
	dsn    string // empty: the database's own
	pool   func(*pgxpool.Config)
	store  pgstore.Config
	runner settle.Config[pgx.Tx]
}

// lobby is a runner on a database, with counts of what ran.
type lobby struct {
	db     *database
	pool   *pgxpool.Pool // the runner's
	runner *settle.Runner[pgx.Tx]

	mu                         sync.Mutex
	attempts                   []string // the id of each run of win
	hooks, onReceipt, onReplay int
}

// newLobby returns a runner on the database with a pool of its own.
func (db *database) newLobby(t testing.TB, s setup) *lobby {
	t.Helper()
	l := &lobby{db: db}
	if s.dsn == "" {
		s.dsn = db.dsn
	}
	l.pool = pgtest.PoolOn(t, s.dsn, func(cfg *pgxpool.Config) {
		if s.pool != nil {
			s.pool(cfg)
		}
	})
	s.store.Pool = l.pool
	store, err := pgstore.New(s.store)
	if err != nil {
		t.Fatal(err)
	}
	s.runner.Store, s.runner.OnReceipt = store, l.noteReceipt
	if l.runner, err = settle.New(s.runner); err != nil {
		t.Fatal(err)
	}
	return l
}

func (l *lobby) noteReceipt(_ context.Context, _ receipt.Receipt, replayed bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.onReceipt++
	if replayed {
		l.onReplay++
	}
	return nil
}

// win is the effect of the tests: the rating rises by 10, one event, one hook.
func (l *lobby) win(ctx context.Context, a *pgAttempt) (rating int, err error) {
	l.mu.Lock()
	l.attempts = append(l.attempts, a.ID())
	l.mu.Unlock()
	a.AfterCommit(func(context.Context) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.hooks++
	})
	if err := a.Emit(settledEvent("alice")); err != nil {
		return 0, err
	}
	err = a.Tx().QueryRow(ctx, "UPDATE ratings SET rating = rating + 10 WHERE player = 'alice' RETURNING rating").Scan(&rating)
	return rating, err
}

// winAnd is win, and then something more.
func (l *lobby) winAnd(more func(context.Context, *pgAttempt) error) func(context.Context, *pgAttempt) (int, error) {
	return func(ctx context.Context, a *pgAttempt) (int, error) {
		rating, err := l.win(ctx, a)
		if err != nil {
			return 0, err
		}
		return rating, more(ctx, a)
	}
}

func (l *lobby) do(ctx context.Context) (settle.Result[int], error) {
	return settle.Do(ctx, l.runner, request(), l.win)
}

// answer is what a call of Do returned.
type answer struct {
	result settle.Result[int]
	err    error
}

// start calls Do on a goroutine of its own.
func (l *lobby) start(ctx context.Context, effect func(context.Context, *pgAttempt) (int, error)) <-chan answer {
	answers := make(chan answer, 1)
	go func() {
		result, err := settle.Do(ctx, l.runner, request(), effect)
		answers <- answer{result, err}
	}()
	return answers
}

// check compares an answer, the lobby's counts and what is committed with
// want.
func (l *lobby) check(t *testing.T, got answer, want outcome) {
	t.Helper()
	if want.Err == nil && got.err != nil || !errors.Is(got.err, want.Err) {
		t.Errorf("err = %v, want %v", got.err, want.Err)
	}
	if want.Not != nil && errors.Is(got.err, want.Not) {
		t.Errorf("err = %v, must not be %v", got.err, want.Not)
	}
	seen := l.seen(t)
	seen.Err, seen.Not, seen.Replayed = want.Err, want.Not, got.result.Replayed
	if diff := cmp.Diff(want, seen, cmp.Comparer(errors.Is)); diff != "" {
		t.Errorf("outcome (-want +got):\n%s", diff)
	}
}

// seen returns the lobby's counts, and what is committed.
func (l *lobby) seen(t *testing.T) outcome {
	t.Helper()
	l.mu.Lock()
	seen := outcome{Calls: len(l.attempts), Hooks: l.hooks, OnReceipt: l.onReceipt, OnReplay: l.onReplay}
	l.mu.Unlock()
	seen.Rating = l.db.number(t, "SELECT rating FROM ratings WHERE player = 'alice'")
	seen.Events = l.db.number(t, "SELECT count(*) FROM settleonce.events")
	seen.Receipts = l.db.number(t, "SELECT count(*) FROM settleonce.receipts")
	return seen
}

// settledAfter is the outcome of a call that settled in its calls-th run of the
// callback.
func settledAfter(calls int) outcome {
	return outcome{Calls: calls, Hooks: 1, OnReceipt: 1, Rating: 10, Events: 1, Receipts: 1}
}

// replayed is the outcome of a call that ran its callback calls times and got
// another's receipt.
func replayed(calls int) outcome {
	return outcome{Calls: calls, OnReceipt: 1, OnReplay: 1, Replayed: true, Rating: 10, Events: 1, Receipts: 1}
}

// bothLevels returns the isolation levels.
func bothLevels() []receipt.Isolation {
	return []receipt.Isolation{receipt.ReadCommitted, receipt.Serializable}
}

// hasCode reports whether err holds an error of the server with that code.
func hasCode(err error, code string) bool {
	var server *pgconn.PgError
	return errors.As(err, &server) && server.Code == code
}
