package postgres_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/settleonce/settleonce/pgstore"
	"github.com/settleonce/settleonce/receipt"

	"github.com/settleonce/settleonce/examples/drill/drilltest"
	"github.com/settleonce/settleonce/examples/match/lobby/lobbytest"
	"github.com/settleonce/settleonce/examples/match/lobby/postgres"
)

// dsn is the server of all tests.
var dsn string

func TestMain(m *testing.M) {
	os.Exit(drilltest.WithServer(func(server string) int {
		dsn = server
		return m.Run()
	}))
}

// tables makes a schema with the lobby's tables, which goes with the test.
func tables(t *testing.T, players ...string) (pool *pgxpool.Pool, schema string) {
	t.Helper()
	schema = "arena_" + receipt.NewID()
	pool, err := postgres.Connect(t.Context(), dsn, schema)
	if err != nil {
		t.Fatal(err)
	}
	if err := postgres.Create(t.Context(), pool, schema, players); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, made := range []string{schema, schema + "_receipts"} {
			_, err := pool.Exec(context.WithoutCancel(t.Context()), "DROP SCHEMA IF EXISTS "+pgx.Identifier{made}.Sanitize()+" CASCADE")
			if err != nil {
				t.Error(err)
			}
		}
		pool.Close()
	})
	return pool, schema
}

func TestLobby(t *testing.T) {
	t.Parallel()
	lobbytest.Test(t, func(t *testing.T, players []string) lobbytest.Subject {
		t.Helper()
		pool, schema := tables(t, players...)
		if err := pgstore.Migrate(t.Context(), pool, schema+"_receipts"); err != nil {
			t.Fatal(err)
		}
		store, err := pgstore.New(pgstore.Config{Pool: pool, Schema: schema + "_receipts"})
		if err != nil {
			t.Fatal(err)
		}
		return lobbytest.Subject{Store: receipt.Map(store, postgres.NewRepository), Rooms: postgres.NewRooms(pool)}
	})
}

// A database whose default is stricter would let an operator's release fail
// beside a settlement, and Open miss a settlement that it has waited for.
func TestTransactionsAreReadCommittedWhateverTheDefault(t *testing.T) {
	t.Setenv("PGOPTIONS", "-c default_transaction_isolation=serializable")
	pool, err := postgres.Connect(t.Context(), dsn, "unused")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	var level string
	if err := pool.QueryRow(t.Context(), `SHOW transaction_isolation`).Scan(&level); err != nil || level != "read committed" {
		t.Errorf("transactions are %q, error %v", level, err)
	}
}

// Two settlements with players in common cannot deadlock, because ratings are
// locked in the order of the players' names.
func TestRatingsAreLockedInOneOrder(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	pool, _ := tables(t, "zoe", "ann")
	first, err := pool.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = first.Rollback(context.WithoutCancel(ctx)) }()
	if _, err := first.Exec(ctx, `SELECT FROM ratings WHERE player = 'ann' FOR UPDATE`); err != nil {
		t.Fatal(err)
	}
	// The second asks for zoe first. It must wait for ann without zoe.
	second, err := pool.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = second.Rollback(context.WithoutCancel(ctx)) }()
	waiting := make(chan error, 1)
	go func() {
		_, err := postgres.NewRepository(second).Ratings(ctx, []string{"zoe", "ann"})
		waiting <- err
	}()
	waitForLock(t, pool, second, waiting)
	if _, err := first.Exec(ctx, `SELECT FROM ratings WHERE player = 'zoe' FOR UPDATE NOWAIT`); err != nil {
		t.Errorf("the one that waits for ann holds zoe: %v", err)
	}
	if err := first.Rollback(ctx); err != nil {
		t.Fatal(err)
	}
	if err := <-waiting; err != nil {
		t.Error(err)
	}
}

// waitForLock waits until the transaction waits for a lock. What the statement
// returns instead comes in returned.
func waitForLock(t *testing.T, pool *pgxpool.Pool, tx pgx.Tx, returned <-chan error) {
	t.Helper()
	for waits := false; !waits; {
		select {
		case err := <-returned:
			t.Fatalf("it did not wait for the lock: error %v", err)
		default:
		}
		if err := pool.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $1 AND wait_event_type = 'Lock')`, int(tx.Conn().PgConn().PID())).Scan(&waits); err != nil {
			t.Fatal(err)
		}
	}
}

// An operator's release that comes while a match is being settled must not
// freeze ratings that the settlement does not look at any more.
func TestSettlementHoldsItsRoom(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	pool, _ := tables(t, "ann", "bob")
	if _, _, err := postgres.NewRooms(pool).Open(ctx, "r", "node-1", 1); err != nil {
		t.Fatal(err)
	}
	begin := func() pgx.Tx {
		tx, err := pool.Begin(ctx)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = tx.Rollback(context.WithoutCancel(ctx)) })
		return tx
	}
	settling, other := begin(), begin()
	if _, err := postgres.NewRepository(settling).Room(ctx, "r"); err != nil {
		t.Fatal(err)
	}
	waiting := make(chan error, 1)
	go func() {
		_, err := postgres.NewRepository(other).Room(ctx, "r")
		waiting <- err
	}()
	waitForLock(t, pool, other, waiting)
	if err := settling.Rollback(ctx); err != nil {
		t.Fatal(err)
	}
	if err := <-waiting; err != nil {
		t.Error(err)
	}
}

func TestUnknownPlayerIsAnError(t *testing.T) {
	t.Parallel()
	pool, _ := tables(t, "ann")
	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
	if _, err := postgres.NewRepository(tx).Ratings(t.Context(), []string{"ann", "nobody"}); err == nil || !strings.Contains(err.Error(), "found 1") {
		t.Errorf("error %v does not say that one of two was found", err)
	}
}
