package postgres_test

import (
	"context"
	"os"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/settleonce/settleonce/pgstore"
	"github.com/settleonce/settleonce/receipt"

	"github.com/settleonce/settleonce/examples/drill/drilltest"
	"github.com/settleonce/settleonce/examples/sportsbook/house/housetest"
	"github.com/settleonce/settleonce/examples/sportsbook/house/postgres"
)

// dsn is the server of all tests.
var dsn string

func TestMain(m *testing.M) {
	if code, is := runAsRival(); is {
		os.Exit(code)
	}
	os.Exit(drilltest.WithServer(func(server string) int {
		dsn = server
		return m.Run()
	}))
}

// books is the house's tables and receipts in schemas of their own, which go
// with the test.
type books struct {
	*postgres.Database
	pool   *pgxpool.Pool
	schema string
	store  *pgstore.Store
}

func newBooks(t testing.TB, isolation receipt.Isolation) *books {
	t.Helper()
	schema := "book_" + receipt.NewID()
	pool, err := postgres.Connect(t.Context(), dsn, schema)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	if err := postgres.Create(t.Context(), pool, schema); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, made := range []string{schema, schema + "_receipts"} {
			_, err := pool.Exec(context.WithoutCancel(t.Context()), "DROP SCHEMA IF EXISTS "+pgx.Identifier{made}.Sanitize()+" CASCADE")
			if err != nil {
				t.Error(err)
			}
		}
	})
	if err := pgstore.Migrate(t.Context(), pool, schema+"_receipts"); err != nil {
		t.Fatal(err)
	}
	return open(t, pool, schema, isolation)
}

// open joins a pool to tables that are there.
func open(t testing.TB, pool *pgxpool.Pool, schema string, isolation receipt.Isolation) *books {
	t.Helper()
	database, err := postgres.New(postgres.Config{Pool: pool, Schema: schema, Tenant: housetest.Tenant, Isolation: isolation})
	if err != nil {
		t.Fatal(err)
	}
	store, err := pgstore.New(pgstore.Config{Pool: pool, Schema: schema + "_receipts"})
	if err != nil {
		t.Fatal(err)
	}
	return &books{database, pool, schema, store}
}

func (b *books) subject(isolation receipt.Isolation) housetest.Subject {
	return housetest.Subject{
		Store: b.Database.Store(b.store), Books: b.Database, Cashier: b.Database, Trading: b.Database, Isolation: isolation,
	}
}

// isolations are those that are offered.
func isolations() []receipt.Isolation {
	return []receipt.Isolation{receipt.ReadCommitted, receipt.Serializable}
}

func TestHouse(t *testing.T) {
	t.Parallel()
	for _, isolation := range isolations() {
		t.Run(isolation.String(), func(t *testing.T) {
			t.Parallel()
			housetest.Test(t, func(t *testing.T) housetest.Subject {
				t.Helper()
				return newBooks(t, isolation).subject(isolation)
			})
		})
	}
}
