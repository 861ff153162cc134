package acceptance_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/acceptance/money"
	"github.com/settleonce/settleonce/internal/pgtest"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/pgstore"
	"github.com/settleonce/settleonce/receipt"
)

type (
	pgRunner = acceptance.Runner[pgx.Tx, placed]
	pgConfig = acceptance.Config[pgx.Tx, placed]
)

// patience ends a test that is stuck. No outcome depends on it.
const patience = 30 * time.Second

// booksSQL makes the tables of a house. A hold lies beside its wallet, whose
// row stays as it is: what is available is the balance without the open holds.
// Nothing but the runner keeps a bet from standing twice.
const booksSQL = `
CREATE TABLE wallets (id text PRIMARY KEY, currency text NOT NULL, balance numeric NOT NULL);
CREATE TABLE markets (id text PRIMARY KEY, version text NOT NULL, material text NOT NULL, odds numeric NOT NULL, status text NOT NULL);
CREATE TABLE bets (wallet text NOT NULL, id text NOT NULL, attempt text NOT NULL, stake numeric NOT NULL);
CREATE TABLE holds (wallet text NOT NULL, bet text NOT NULL, amount numeric NOT NULL);
CREATE INDEX ON holds (wallet);
CREATE TABLE desk (wallet text NOT NULL, id text NOT NULL);
INSERT INTO wallets VALUES ('ann', 'EUR', 100);
INSERT INTO markets VALUES ('1x2', 'v1', 'm1', 2.00, 'open');
`

// database is a migrated database of the test's own with the books of a house,
// and the test's own way to it, past every runner and proxy.
type database struct {
	dsn  string
	pool *pgxpool.Pool
}

func newDatabase(t testing.TB) *database {
	t.Helper()
	dsn := pgtest.DSN(t)
	db := &database{dsn, pgtest.PoolOn(t, dsn)}
	if err := pgstore.Migrate(t.Context(), db.pool, ""); err != nil {
		t.Fatal(err)
	}
	db.execute(t, booksSQL)
	return db
}

func (db *database) execute(t testing.TB, sql string, arguments ...any) {
	t.Helper()
	if _, err := db.pool.Exec(t.Context(), sql, arguments...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// text returns the result of a query for one text.
func (db *database) text(t testing.TB, sql string) (found string) {
	t.Helper()
	if err := db.pool.QueryRow(t.Context(), sql).Scan(&found); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return found
}

// number returns the result of a query for one number.
func (db *database) number(t testing.TB, sql string, arguments ...any) (found int) {
	t.Helper()
	if err := db.pool.QueryRow(t.Context(), sql, arguments...).Scan(&found); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return found
}

// await polls until condition, an SQL expression, holds.
func (db *database) await(t testing.TB, condition string, arguments ...any) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		var holds bool
		if err := db.pool.QueryRow(ctx, "SELECT "+condition, arguments...).Scan(&holds); err != nil {
			t.Fatalf("waiting until %s: %v", condition, err)
		}
		if holds {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("gave up waiting until %s", condition)
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// waiters counts the connections that wait for a lock of any kind, and
// advisoryWaiters those that wait for a key or a fence.
const (
	waiters         = "(SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock')"
	advisoryWaiters = "(SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'advisory')"
)

// hold runs sql in a transaction of its own and leaves it open.
func (db *database) hold(t testing.TB, sql string, arguments ...any) (release func()) {
	t.Helper()
	tx, err := db.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback(context.Background()) })
	if _, err := tx.Exec(t.Context(), sql, arguments...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return func() {
		t.Helper()
		if err := tx.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// holdWallet locks a wallet as a bet on it does, and changes nothing.
func (db *database) holdWallet(t testing.TB, id string) (release func()) {
	t.Helper()
	return db.hold(t, "SELECT FROM wallets WHERE id = $1 FOR UPDATE", id)
}

// holdKey locks the key of Ann's command.
func (db *database) holdKey(t testing.TB, id string) (release func()) {
	t.Helper()
	store, err := pgstore.New(pgstore.Config{Pool: db.pool})
	if err != nil {
		t.Fatal(err)
	}
	session, err := store.Begin(t.Context(), receipt.Claim{Key: acceptance.PlacingKey("shop", "ann", id), Attempt: "the test's"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Rollback(context.Background()) })
	return func() {
		t.Helper()
		if err := session.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// verdicts returns the operation and outcome of every receipt, in the order of
// their keys.
func (db *database) verdicts(t testing.TB) string {
	t.Helper()
	return db.text(t, `SELECT coalesce(string_agg(operation || ' ' || id || ' ' || outcome, ', ' ORDER BY operation, id), '')
		FROM (SELECT operation, id, outcome_kind AS outcome FROM settleonce.receipts) AS found`)
}

// books are the callbacks of a house on PostgreSQL.
type books struct{ fence *pgstore.Fence }

func newBooks() (*books, error) {
	fence, err := pgstore.NewFence(pgstore.FenceConfig{Name: "market"})
	return &books{fence}, err
}

// manyAttempts are more than a test has rivals. At SERIALIZABLE the server takes
// strangers for rivals too where a table is small, since it watches whole pages.
const manyAttempts = 100

// config returns a Config with the steps that have no default, and events.
func (b *books) config(store receipt.Store[pgx.Tx], level receipt.Isolation) pgConfig {
	return pgConfig{
		Store: store, Isolation: level, MaxAttempts: manyAttempts,
		LockWallet: b.lockWallet, Quote: b.quote, Place: b.place, Events: b.events,
	}
}

// lockWallet reads the holds in a statement of its own, so that at READ
// COMMITTED it sees those that the wait for the row was for.
func (b *books) lockWallet(ctx context.Context, tx pgx.Tx, c *acceptance.Command) (wallet acceptance.Wallet, err error) {
	var currency, available string
	var batch pgx.Batch
	batch.Queue("SELECT FROM wallets WHERE id = $1 FOR UPDATE", c.Wallet)
	batch.Queue(`SELECT currency, (balance - coalesce((SELECT sum(amount) FROM holds WHERE wallet = $1), 0))::text
		FROM wallets WHERE id = $1`, c.Wallet).
		QueryRow(func(row pgx.Row) error { return row.Scan(&currency, &available) })
	switch err := tx.SendBatch(ctx, &batch).Close(); {
	case errors.Is(err, pgx.ErrNoRows):
		return acceptance.Wallet{Refusal: acceptance.CodeWalletUnknown}, nil
	case err != nil:
		return acceptance.Wallet{}, err
	}
	wallet.Available, err = new(money.Registry).Parse(available, currency)
	return wallet, err
}

// quote reads the markets behind the fence, with a row lock for the sake of
// SERIALIZABLE, and then the clock.
func (b *books) quote(ctx context.Context, tx pgx.Tx, c *acceptance.Command) (acceptance.Board, error) {
	board := acceptance.Board{Quotes: make([]acceptance.Quote, len(c.Legs))}
	var batch pgx.Batch
	subjects := make([]pgstore.Subject, len(c.Legs))
	for i := range c.Legs {
		subjects[i] = pgstore.Subject{Tenant: c.Tenant, ID: c.Legs[i].Market}
	}
	if err := b.fence.Share(&batch, subjects...); err != nil {
		return board, err
	}
	for i := range c.Legs {
		quote := &board.Quotes[i]
		batch.Queue("SELECT version, material, odds::text, status FROM markets WHERE id = $1 FOR SHARE", c.Legs[i].Market).
			QueryRow(func(row pgx.Row) error { return scanQuote(row, quote) })
	}
	batch.Queue("SELECT clock_timestamp()").
		QueryRow(func(row pgx.Row) error { return row.Scan(&board.Now) })
	return board, tx.SendBatch(ctx, &batch).Close()
}

func scanQuote(row pgx.Row, quote *acceptance.Quote) error {
	var odds string
	if err := row.Scan(&quote.Version, &quote.Material, &odds, &quote.Status); err != nil {
		return err
	}
	var err error
	quote.Odds, err = money.ParseOdds(odds)
	return err
}

func (b *books) place(_ context.Context, tx pgx.Tx, p *acceptance.Proposal) (placed, error) {
	bet := placed{ID: p.Command.ID, Stake: p.Stake, Odds: p.Legs[0].Quote.Odds}
	stake := p.Stake.Decimal().String()
	return bet, errors.Join(
		pgstore.Defer(tx, 1, "INSERT INTO bets VALUES ($1, $2, $3, $4)", p.Command.Wallet, p.Command.ID, p.Attempt, stake),
		pgstore.Defer(tx, 1, "INSERT INTO holds VALUES ($1, $2, $3)", p.Command.Wallet, p.Command.ID, stake),
	)
}

// record tells the trader's desk of a referred bet.
func (b *books) record(_ context.Context, tx pgx.Tx, p *acceptance.PendingBet) error {
	return pgstore.Defer(tx, 1, "INSERT INTO desk VALUES ($1, $2)", p.Command.Wallet, p.Command.ID)
}

func (b *books) events(c *acceptance.Command, d *answer) ([]event.Event, error) {
	sum, err := c.Fingerprint(false)
	return []event.Event{{Source: "/house", Type: "bet." + string(d.Verdict), Key: c.Key(), Fingerprint: sum}}, err
}

// branch is one runner on a database, with a pool of its own: to the others it
// is another process.
type branch struct {
	*pgRunner
	pool *pgxpool.Pool
}

// newBranch returns a runner on the database that dsn names, the database
// itself or a proxy before it. configure may be nil.
func newBranch(t testing.TB, dsn string, level receipt.Isolation, configure func(*books, *pgConfig), pool ...func(*pgxpool.Config)) *branch {
	t.Helper()
	made := &branch{pool: pgtest.PoolOn(t, dsn, pool...)}
	store, err := pgstore.New(pgstore.Config{Pool: made.pool, LockTimeout: patience})
	if err != nil {
		t.Fatal(err)
	}
	b, err := newBooks()
	if err != nil {
		t.Fatal(err)
	}
	config := b.config(store, level)
	if configure != nil {
		configure(b, &config)
	}
	if made.pgRunner, err = acceptance.New(config); err != nil {
		t.Fatal(err)
	}
	return made
}

// outcome is what a call of a runner returned.
type outcome struct {
	answer

	err error
}

// String says it in short.
func (o outcome) String() string {
	replayed := ""
	if o.Replayed {
		replayed = " replayed"
	}
	if o.err != nil {
		return fmt.Sprintf("error %v", o.err)
	}
	return fmt.Sprintf("%s %s%s", o.Verdict, o.Code, replayed)
}

// begin calls on a goroutine of its own.
func begin(call func() (answer, error)) <-chan outcome {
	outcomes := make(chan outcome, 1)
	go func() {
		decision, err := call()
		outcomes <- outcome{decision, err}
	}()
	return outcomes
}

// beginAccept accepts on a goroutine of its own.
func (b *branch) beginAccept(t testing.TB, c acceptance.Command) <-chan outcome {
	t.Helper()
	return begin(func() (answer, error) { return b.Accept(t.Context(), c) })
}

// accept fails the test on an error.
func (b *branch) accept(t testing.TB, c acceptance.Command) answer {
	t.Helper()
	decision, err := b.Accept(t.Context(), c)
	if err != nil {
		t.Fatalf("Accept of %q: %v", c.ID, err)
	}
	return decision
}

// bothLevels runs a test at each isolation level.
func bothLevels(t *testing.T, test func(*testing.T, receipt.Isolation)) {
	t.Helper()
	for _, level := range []receipt.Isolation{receipt.ReadCommitted, receipt.Serializable} {
		t.Run(level.String(), func(t *testing.T) {
			t.Parallel()
			test(t, level)
		})
	}
}
