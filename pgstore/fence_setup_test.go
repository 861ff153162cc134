package pgstore_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/settleonce/settleonce/pgstore"
	"github.com/settleonce/settleonce/receipt"
)

// betting is a database with markets that a fence guards.
type betting struct {
	*fixture
	fence *pgstore.Fence
}

func newBetting(t *testing.T, configure ...func(*pgxpool.Config)) *betting {
	t.Helper()
	f := newFixture(t, configure...)
	execute(t, f.pool, marketTables)
	return &betting{f, newFence(t, pgstore.FenceConfig{Name: "market"})}
}

func newFence(t testing.TB, cfg pgstore.FenceConfig) *pgstore.Fence {
	t.Helper()
	fence, err := pgstore.NewFence(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return fence
}

// market is the subject of a market of the tests' tenant.
func market(id string) pgstore.Subject { return pgstore.Subject{Tenant: "tenant", ID: id} }

func subjects(markets ...string) []pgstore.Subject {
	fenced := make([]pgstore.Subject, len(markets))
	for i, id := range markets {
		fenced[i] = market(id)
	}
	return fenced
}

const (
	marketTables = `CREATE TABLE markets (id text PRIMARY KEY, version int NOT NULL UNIQUE, status text NOT NULL);
		INSERT INTO markets VALUES ('m1', 1, 'open'), ('m2', 2, 'open');
		CREATE TABLE bets (market text NOT NULL, seen text NOT NULL);
		CREATE TABLE states (market text NOT NULL, status text NOT NULL);
		CREATE TABLE wallets (owner text PRIMARY KEY);
		INSERT INTO wallets VALUES ('alice')`

	readStatus    = "SELECT status FROM markets WHERE id = 'm1'"
	suspendMarket = "UPDATE markets SET status = 'suspended' WHERE id = 'm1'"
)

// party is one open transaction, a bet's or a writer's.
type party struct {
	pgx.Tx
	pid int
}

// newParty asks the server for the process id, since a session's transaction
// is handled with more care once its connection was asked for.
func newParty(t *testing.T, tx pgx.Tx) *party {
	t.Helper()
	p := &party{Tx: tx}
	if err := tx.QueryRow(t.Context(), "SELECT pg_backend_pid()").Scan(&p.pid); err != nil {
		t.Fatal(err)
	}
	return p
}

// plain begins a transaction that no store knows of. It has no snapshot yet.
func (b *betting) plain(t *testing.T, isolation pgx.TxIsoLevel) *party {
	t.Helper()
	tx, err := b.pool.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: isolation})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback(context.Background()) })
	return &party{tx, int(tx.Conn().PgConn().PID())}
}

// bet begins a store's session, which has a snapshot from then on.
func (b *betting) bet(t *testing.T, isolation receipt.Isolation) (*party, receipt.Session[pgx.Tx], receipt.Claim) {
	t.Helper()
	claim := claimOn(receipt.NewID())
	claim.Isolation, claim.LockTimeout = isolation, patience
	session := b.begin(t, claim)
	return newParty(t, session.Tx()), session, claim
}

func (p *party) execute(t *testing.T, sql string, arguments ...any) {
	t.Helper()
	if _, err := p.Exec(t.Context(), sql, arguments...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func (p *party) commit(t *testing.T) {
	t.Helper()
	if err := p.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// seen is what a bet learned of the market's state.
type seen struct {
	status string
	err    error
}

// share fences the markets and reads a state behind the fence, as a bet does.
func (b *betting) share(ctx context.Context, tx pgx.Tx, read string, markets ...string) (state seen) {
	var batch pgx.Batch
	if err := b.fence.Share(&batch, subjects(markets...)...); err != nil {
		return seen{err: err}
	}
	batch.Queue(read).QueryRow(func(row pgx.Row) error { return row.Scan(&state.status) })
	state.err = tx.SendBatch(ctx, &batch).Close()
	return state
}

// queueShare is share by a bet that must wait. It returns once the bet waits.
func (b *betting) queueShare(t *testing.T, bet *party, read string, markets ...string) <-chan seen {
	t.Helper()
	result := make(chan seen, 1)
	ctx := t.Context()
	go func() { result <- b.share(ctx, bet, read, markets...) }()
	b.awaitWaiting(t, bet)
	return result
}

// queueExclude does the same for a writer.
func (b *betting) queueExclude(t *testing.T, writer *party, markets ...string) <-chan error {
	t.Helper()
	return b.queue(t, writer, func(ctx context.Context) error {
		return b.fence.Exclude(ctx, writer, subjects(markets...)...)
	})
}

// queue runs what must wait, and returns once it does.
func (b *betting) queue(t *testing.T, waiter *party, call func(context.Context) error) <-chan error {
	t.Helper()
	result := make(chan error, 1)
	ctx := t.Context()
	go func() { result <- call(ctx) }()
	b.awaitWaiting(t, waiter)
	return result
}

func (b *betting) awaitWaiting(t *testing.T, waiter *party) {
	t.Helper()
	await(t, b.pool, "the transaction waits for a lock", "EXISTS (SELECT FROM pg_locks WHERE pid = $1 AND NOT granted)", waiter.pid)
}

// mustShare is share by a bet that need not wait.
func (b *betting) mustShare(t *testing.T, bet *party, read string, markets ...string) {
	t.Helper()
	if state := b.share(t.Context(), bet, read, markets...); state.err != nil || state.status != "open" {
		t.Fatalf("bet that nobody keeps waiting sees %+v, want an open market", state)
	}
}

func (b *betting) mustExclude(t *testing.T, writer *party, markets ...string) {
	t.Helper()
	if err := b.fence.Exclude(t.Context(), writer, subjects(markets...)...); err != nil {
		t.Fatal(err)
	}
}

// fences counts the advisory locks in the database, held and waited for.
func (b *betting) fences(t *testing.T, condition string) (count int) {
	t.Helper()
	err := b.pool.QueryRow(t.Context(), `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'
		AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND `+condition).Scan(&count)
	if err != nil {
		t.Fatal(err)
	}
	return count
}
