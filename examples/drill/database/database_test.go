package database_test

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/settleonce/settleonce/examples/drill/database"
	"github.com/settleonce/settleonce/examples/drill/drilltest"
)

// dsn is a server that the tests share.
var dsn string

func TestMain(m *testing.M) {
	os.Exit(drilltest.WithServer(func(server string) int {
		dsn = server
		return m.Run()
	}))
}

// connect opens a pool and looks at no schema.
func connect(ctx context.Context, dsn, _ string) (*pgxpool.Pool, error) {
	return pgxpool.New(ctx, dsn)
}

// A run that is interrupted while it opens its database leaves none of its
// schemas behind.
func TestInterruptedOpenLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	ctx, interrupt := context.WithCancel(t.Context())
	var made string
	create := func(ctx context.Context, pool *pgxpool.Pool, schema string) error {
		made = schema
		_, err := pool.Exec(ctx, "CREATE SCHEMA "+pgx.Identifier{schema}.Sanitize())
		interrupt() // the receipts' schema is still to come
		return err
	}
	_, err := database.Open(ctx, database.Config{DSN: dsn, Name: "interrupted", Connect: connect, Create: create})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the interrupted context", err)
	}
	pool, err := connect(t.Context(), dsn, "")
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	var left int
	if err := pool.QueryRow(t.Context(), `SELECT count(*) FROM pg_namespace WHERE nspname = $1`, made).Scan(&left); err != nil {
		t.Fatal(err)
	}
	if left != 0 {
		t.Errorf("schema %s is left behind", made)
	}
}
