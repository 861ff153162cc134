package pgstore_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/settleonce/settleonce/internal/lanes/lanestest"
	"github.com/settleonce/settleonce/internal/pgtest"
	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/outbox/outboxtest"
	"github.com/settleonce/settleonce/pgstore"
	"github.com/settleonce/settleonce/receipt"
	"github.com/settleonce/settleonce/receipt/receipttest"
)

// pooled returns pools on one database, through a PgBouncer in transaction mode,
// in each mode of pgx that needs no prepared statements.
func pooled(t *testing.T, test func(t *testing.T, pool *pgxpool.Pool)) {
	t.Helper()
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol} {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			dsn := pgtest.Pooler(t, pgtest.DSN(t), poolSize)
			test(t, pgtest.PoolOn(t, dsn, ofPoolSize, inMode(mode)))
		})
	}
}

func TestStoreBehindPgBouncer(t *testing.T) {
	t.Parallel()
	pooled(t, func(t *testing.T, pool *pgxpool.Pool) {
		t.Helper()
		receipttest.TestStore(t, storeSubject(fixtureOn(t, pool, pgstore.Config{})))
	})
}

func TestTableBehindPgBouncer(t *testing.T) {
	t.Parallel()
	pooled(t, func(t *testing.T, pool *pgxpool.Pool) {
		t.Helper()
		lanestest.TestTable(t, func(tb testing.TB) lanestest.Subject {
			tb.Helper()
			subject, _ := tableSubject(tb, pool, pool)
			return subject
		})
	})
}

func TestSourceBehindPgBouncer(t *testing.T) {
	t.Parallel()
	pooled(t, func(t *testing.T, pool *pgxpool.Pool) {
		t.Helper()
		outboxtest.TestSource(t, func(tb testing.TB) outboxtest.SourceSubject {
			tb.Helper()
			schema := "case_" + strings.ReplaceAll(receipt.NewID(), "-", "")
			return sourceSubject(tb, fixtureOn(tb, pool, pgstore.Config{Schema: schema}), schema, outbox.HoldBack)
		})
	})
}

// What the tests above rest on: one connection's transactions come to several
// sessions of the server.
func TestSessionsAreSharedBehindPgBouncer(t *testing.T) {
	t.Parallel()
	pooled(t, func(t *testing.T, pool *pgxpool.Pool) {
		t.Helper()
		connection, err := pool.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer connection.Release()
		other, err := pool.Begin(t.Context()) // It has a session, so there are two.
		if err != nil {
			t.Fatal(err)
		}
		sessions := make(map[int]bool)
		look := func() {
			var session int
			if err := connection.QueryRow(t.Context(), "SELECT pg_backend_pid()").Scan(&session); err != nil {
				t.Fatal(err)
			}
			sessions[session] = true
		}
		look()
		if err := other.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
		look()
		look()
		if len(sessions) < 2 {
			t.Errorf("three transactions of a connection came to the sessions %v, want two at least", slices.Collect(maps.Keys(sessions)))
		}
	})
}
