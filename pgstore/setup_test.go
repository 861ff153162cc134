package pgstore_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/settleonce/settleonce/fingerprint"
	"github.com/settleonce/settleonce/internal/pgtest"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/pgstore"
	"github.com/settleonce/settleonce/receipt"
)

// patience ends a test that is stuck. No outcome depends on it.
const patience = time.Minute

// poolSize is what the conformance suite asks for, and some to look on with.
const poolSize = 12

// allowTestServer is what a test's server may lack: pgtest may run one without
// fsync, and a test never survives its machine.
var allowTestServer = []pgstore.Weakness{pgstore.FsyncOff, pgstore.SynchronousCommitOff}

// fixture is a migrated database of the test's own, with a table for effects.
type fixture struct {
	pool  *pgxpool.Pool
	store *pgstore.Store
}

func newFixture(t testing.TB, configure ...func(*pgxpool.Config)) *fixture {
	t.Helper()
	configure = append([]func(*pgxpool.Config){func(cfg *pgxpool.Config) { cfg.MaxConns = poolSize }}, configure...)
	return fixtureOn(t, pgtest.Pool(t, configure...), pgstore.Config{})
}

// fixtureOn migrates the pool's database. cfg needs no pool.
func fixtureOn(t testing.TB, pool *pgxpool.Pool, cfg pgstore.Config) *fixture {
	t.Helper()
	if err := pgstore.Migrate(t.Context(), pool, cfg.Schema); err != nil {
		t.Fatal(err)
	}
	execute(t, pool, "CREATE TABLE IF NOT EXISTS marks (mark text PRIMARY KEY)")
	return &fixture{pool, newStore(t, pool, cfg)}
}

func newStore(t testing.TB, pool *pgxpool.Pool, cfg pgstore.Config) *pgstore.Store {
	t.Helper()
	cfg.Pool, cfg.Allow = pool, allowTestServer
	store, err := pgstore.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// serverVersion returns the server's major version.
func serverVersion(t testing.TB, pool *pgxpool.Pool) (major int) {
	t.Helper()
	if err := pool.QueryRow(t.Context(), "SELECT current_setting('server_version_num')::int / 10000").Scan(&major); err != nil {
		t.Fatal(err)
	}
	return major
}

func execute(t testing.TB, pool *pgxpool.Pool, sql string) {
	t.Helper()
	if _, err := pool.Exec(t.Context(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func keyNamed(id string) receipt.Key {
	return receipt.Key{Tenant: "tenant", Scope: "match", Operation: "settle", ID: id}
}

func claimOn(id string) receipt.Claim {
	return receipt.Claim{Key: keyNamed(id), Attempt: receipt.NewID()}
}

// claimBeside is claimOn with that many keys beside.
func claimBeside(id string, count int) receipt.Claim {
	claim := claimOn(id)
	for i := range count {
		claim.Beside = append(claim.Beside, keyNamed(fmt.Sprintf("%s, beside %d", id, i)))
	}
	return claim
}

// rerunOf is the same claim for a fresh attempt.
func rerunOf(claim receipt.Claim) receipt.Claim {
	claim.Attempt = receipt.NewID()
	return claim
}

func digestOf(text string) fingerprint.Digest {
	sum := sha256.Sum256([]byte(text))
	digest, err := fingerprint.Parse("test/1:" + hex.EncodeToString(sum[:]))
	if err != nil {
		panic(err)
	}
	return digest
}

// receiptFor is a receipt that fits claim.
func receiptFor(claim receipt.Claim) receipt.Receipt {
	return receipt.Receipt{
		Key: claim.Key, Revision: claim.Revision, Requested: "settled", Outcome: "settled",
		Fingerprint: digestOf(claim.Key.ID), Value: []byte(`{"winner": 1}`), Attempt: claim.Attempt,
	}
}

// receiptsBeside are receipts for all keys beside the claim's, in their order.
func receiptsBeside(claim receipt.Claim) []receipt.Receipt {
	var beside []receipt.Receipt
	for _, key := range claim.Beside {
		beside = append(beside, receiptFor(receipt.Claim{Key: key, Attempt: claim.Attempt}))
	}
	return beside
}

// eventOf is an event about a key, in the line of orderingKey.
func eventOf(key receipt.Key, orderingKey string) event.Event {
	return event.Event{
		ID: receipt.NewID(), Source: "/test", Type: "match.settled", Data: []byte(`{"winner":1}`),
		Key: key, OrderingKey: orderingKey, Fingerprint: digestOf(key.ID),
	}
}

// begin opens a session that the test's end rolls back.
func (f *fixture) begin(t *testing.T, claim receipt.Claim) receipt.Session[pgx.Tx] {
	t.Helper()
	session, err := f.store.Begin(t.Context(), claim)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Rollback(context.Background()) })
	return session
}

// mark is an effect of a callback.
func mark(ctx context.Context, tx pgx.Tx, text string) error {
	_, err := tx.Exec(ctx, "INSERT INTO marks VALUES ($1)", text)
	return err
}

// marks returns the committed effects, sorted.
func (f *fixture) marks(t *testing.T) []string {
	t.Helper()
	marks, err := f.column(t.Context(), "SELECT mark FROM marks ORDER BY mark")
	if err != nil {
		t.Fatal(err)
	}
	return marks
}

// column returns a query's only column.
func (f *fixture) column(ctx context.Context, sql string) ([]string, error) {
	rows, err := f.pool.Query(ctx, sql)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// history returns the key's committed receipts.
func (f *fixture) history(t *testing.T, id string) []receipt.Receipt {
	t.Helper()
	history, err := f.store.History(t.Context(), keyNamed(id))
	if err != nil {
		t.Fatal(err)
	}
	return history
}

// expectNothing checks that an attempt on the key left nothing behind.
func (f *fixture) expectNothing(t *testing.T, id string) {
	t.Helper()
	if marks := f.marks(t); len(marks) != 0 {
		t.Errorf("effects = %q, want none", marks)
	}
	if history := f.history(t, id); len(history) != 0 {
		t.Errorf("receipts = %v, want none", history)
	}
	var events int
	if err := f.pool.QueryRow(t.Context(), "SELECT count(*) FROM settleonce.events").Scan(&events); err != nil {
		t.Fatal(err)
	}
	if events != 0 {
		t.Errorf("events = %d, want none", events)
	}
}

// await polls a condition on the server. It fails only when patience ends.
func await(t testing.TB, pool *pgxpool.Pool, what, condition string, arguments ...any) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		var holds bool
		if err := pool.QueryRow(ctx, "SELECT "+condition, arguments...).Scan(&holds); err != nil {
			t.Fatalf("waiting until %s: %v", what, err)
		}
		if holds {
			return
		}
		if err := pause(ctx); err != nil {
			t.Fatalf("waiting until %s: %v", what, err)
		}
	}
}

// pause yields between two looks at a condition.
func pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return fmt.Errorf("gave up: %w", ctx.Err())
	case <-time.After(2 * time.Millisecond):
		return nil
	}
}
