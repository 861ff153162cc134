package pgstore_test

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/settleonce/settleonce/internal/pgtest"
	"github.com/settleonce/settleonce/pgstore"
	"github.com/settleonce/settleonce/receipt"
)

func TestLockTimeoutIsInFlight(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	holder := f.begin(t, claimOn("m1"))
	// The shorter one must not be rounded down: to the server zero is for ever.
	for _, timeout := range []time.Duration{20 * time.Millisecond, time.Nanosecond} {
		waiter := claimOn("m1")
		waiter.LockTimeout = timeout
		_, err := f.store.Begin(t.Context(), waiter)
		if !errors.Is(err, receipt.ErrInFlight) {
			t.Errorf("Begin with a timeout of %v on a held key = %v, want ErrInFlight", timeout, err)
		}
	}
	f.begin(t, claimOn("another key")) // waits for nobody
	if err := holder.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.begin(t, claimOn("m1"))
}

func TestStoresLockTimeoutAppliesWithoutAClaims(t *testing.T) {
	t.Parallel()
	f := fixtureOn(t, pgtest.Pool(t), pgstore.Config{LockTimeout: 20 * time.Millisecond})
	f.begin(t, claimOn("m1"))
	if _, err := f.store.Begin(t.Context(), claimOn("m1")); !errors.Is(err, receipt.ErrInFlight) {
		t.Errorf("Begin on a held key = %v, want ErrInFlight", err)
	}
}

// expectFree waits for the key for as long as it takes.
func (f *fixture) expectFree(t *testing.T, id string) {
	t.Helper()
	claim := claimOn(id)
	claim.LockTimeout = patience
	f.begin(t, claim)
}

// A client that goes silent within its transaction loses it, and with it the
// key.
func TestSilentClientLosesTheKey(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	impatient := newStore(t, f.pool, pgstore.Config{IdleTimeout: 2 * time.Second}) // the client's own next step must come within it
	claim := claimOn("m1")
	silent, err := impatient.Begin(t.Context(), claim)
	if err != nil {
		t.Fatal(err)
	}
	conn := silent.Tx().Conn().PgConn() // while the server still answers
	f.expectFree(t, "m1")
	_, err = conn.ReceiveMessage(t.Context())
	var server *pgconn.PgError
	if errors.As(err, &server); server == nil || server.Code != "25P03" {
		t.Errorf("the server's last word to the silent client = %v, want 25P03", err)
	}
	if _, err := silent.Commit(t.Context(), receiptFor(claim)); !errors.Is(err, receipt.ErrNotCommitted) {
		t.Errorf("Commit on the connection that the server closed = %v, want ErrNotCommitted", err)
	}
	f.expectNothing(t, "m1")
}

// A client whose machine has gone while its statement runs loses the key long
// before the statement ends.
func TestVanishedClientLosesTheKey(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var socket atomic.Pointer[net.Conn]
	leaving := pgtest.PoolOn(t, f.pool.Config().ConnString(), func(cfg *pgxpool.Config) {
		dial := cfg.ConnConfig.DialFunc
		cfg.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dial(ctx, network, address)
			socket.CompareAndSwap(nil, &conn) // the first is the session's, a later one carries a cancellation
			return conn, err
		}
	})
	store := newStore(t, leaving, pgstore.Config{ClientCheckInterval: 20 * time.Millisecond})
	session, err := store.Begin(t.Context(), claimOn("m1"))
	if err != nil {
		t.Fatal(err)
	}
	failed := make(chan error, 1)
	go func() {
		_, err := session.Tx().Exec(context.Background(), "SELECT pg_sleep(3600)")
		failed <- err
	}()
	await(t, f.pool, "the statement runs", "EXISTS (SELECT FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = current_database())")
	if err := (*socket.Load()).Close(); err != nil {
		t.Fatal(err)
	}
	f.expectFree(t, "m1")
	if err := <-failed; err == nil {
		t.Error("the statement of the vanished client succeeded")
	}
	if err := session.Rollback(t.Context()); err != nil {
		t.Errorf("Rollback on a lost connection = %v, want nil: nothing is left to do", err)
	}
}

// A caller that gives up waiting leaves nothing behind that would keep the
// next one from the key.
func TestCancelledWaiterLeavesNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	holder := f.begin(t, claimOn("m1"))
	ctx, cancel := context.WithCancel(t.Context())
	refused := make(chan error, 1)
	go func() {
		claim := claimOn("m1")
		claim.LockTimeout = patience
		_, err := f.store.Begin(ctx, claim)
		refused <- err
	}()
	awaitAdvisoryWaits(t, f.pool, 1)
	cancel()
	if err := <-refused; !errors.Is(err, context.Canceled) || errors.Is(err, receipt.ErrInFlight) {
		t.Errorf("Begin of a cancelled caller = %v, want context.Canceled", err)
	}
	if err := holder.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.expectFree(t, "m1")
}

// awaitAdvisoryWaits waits until that many sessions wait for an advisory lock
// in the pool's database.
func awaitAdvisoryWaits(t *testing.T, pool *pgxpool.Pool, count int) {
	t.Helper()
	await(t, pool, "sessions wait for advisory locks", `(SELECT count(*) FROM pg_locks
		WHERE locktype = 'advisory' AND NOT granted
		AND database = (SELECT oid FROM pg_database WHERE datname = current_database())) = $1`, count)
}

// What a session sets ends with its transaction, so a pooler may give the
// server connection to anyone afterwards.
func TestNoSessionStateIsLeft(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(cfg *pgxpool.Config) { cfg.MaxConns = 1 })
	state := func() (settings [5]string, locks int) {
		err := f.pool.QueryRow(t.Context(), `SELECT coalesce(current_setting('settleonce.attempt', true), ''),
			current_setting('lock_timeout'), current_setting('idle_in_transaction_session_timeout'),
			current_setting('synchronous_commit'), coalesce(current_setting('client_connection_check_interval', true), ''), (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'
				AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))`).Scan(
			&settings[0], &settings[1], &settings[2], &settings[3], &settings[4], &locks)
		if err != nil {
			t.Fatal(err)
		}
		return settings, locks
	}
	before, _ := state()
	ends := map[string]func(receipt.Session[pgx.Tx], receipt.Claim) error{
		"commit": func(s receipt.Session[pgx.Tx], claim receipt.Claim) error {
			_, err := s.Commit(t.Context(), receiptFor(claim), eventOf(claim.Key, ""))
			return err
		},
		"rollback": func(s receipt.Session[pgx.Tx], _ receipt.Claim) error { return s.Rollback(t.Context()) },
	}
	for name, end := range ends {
		claim := claimOn(name)
		if err := end(f.begin(t, claim), claim); err != nil {
			t.Fatal(err)
		}
		if after, locks := state(); after != before || locks != 0 {
			t.Errorf("after %s: settings %q, %d locks; want %q, none", name, after, locks, before)
		}
	}
}

// A rollback must reach the server although its caller was cancelled.
func TestRollbackOutlivesItsCaller(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(cfg *pgxpool.Config) { cfg.MaxConns = 1 })
	var backend, next uint32
	session := f.begin(t, claimOn("m1"))
	if err := session.Tx().QueryRow(t.Context(), "SELECT pg_backend_pid()").Scan(&backend); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := session.Rollback(ctx); err != nil {
		t.Fatal(err)
	}
	if err := f.pool.QueryRow(t.Context(), "SELECT pg_backend_pid()").Scan(&next); err != nil {
		t.Fatal(err)
	}
	if backend != next {
		t.Error("the connection was given up although its rollback could be sent")
	}
}
