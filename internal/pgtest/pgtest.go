// Package pgtest gives tests a real PostgreSQL, each a database of its own.
//
// The server is the one that SETTLEONCE_TEST_DSN names (its user must be
// allowed to create databases), else a throwaway one that is started for the
// first test that asks and ends with the test binary; no TestMain is needed.
// Where there is neither, the test fails and says how to get PostgreSQL. It is
// never skipped: a skipped test looks like one that passed.
package pgtest

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/settleonce/settleonce/pgstore/pgtemp"
)

// Variable is the environment variable that names a server to use.
const Variable = "SETTLEONCE_TEST_DSN"

// patience bounds the start of a server and a clean-up. Only a machine that is
// stuck needs it.
const patience = 2 * time.Minute

// shared returns the connection string of the test binary's server, which the
// first call starts. Nobody stops it: a throwaway server ends with its owner.
var shared = sync.OnceValues(func() (string, error) { //nolint:gochecknoglobals // one server for the whole binary
	return open(os.Getenv(Variable), pgtemp.Config{})
})

// open returns dsn, or where it is empty that of a new throwaway server.
func open(dsn string, cfg pgtemp.Config) (string, error) {
	if dsn != "" {
		return dsn, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	server, err := pgtemp.Start(ctx, cfg)
	if err != nil {
		return "", fmt.Errorf("no PostgreSQL to test with (%s is not set): %w", Variable, err)
	}
	return server.DSN(), nil
}

// DSN returns the connection string of a fresh, empty database. It is dropped
// when the test ends, whoever is still connected.
func DSN(t testing.TB) string {
	t.Helper()
	dsn, err := shared()
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	return createDatabase(t, dsn)
}

// Pool returns a pool on a fresh, empty database, after configure has had its
// say on the settings. The pool is closed when the test ends, which waits for
// connections that the test still holds.
func Pool(t testing.TB, configure ...func(*pgxpool.Config)) *pgxpool.Pool {
	t.Helper()
	return PoolOn(t, DSN(t), configure...)
}

// PoolOn is [Pool] on the database that dsn names: for a second pool on one
// database, or one that goes through a proxy.
func PoolOn(t testing.TB, dsn string, configure ...func(*pgxpool.Config)) *pgxpool.Pool {
	t.Helper()
	cfg, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	for _, change := range configure {
		change(cfg)
	}
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	t.Cleanup(pool.Close)
	return pool
}

// Server returns a throwaway server for this test alone, to crash, restart or
// replicate. It is stopped when the test ends.
func Server(t testing.TB, cfg pgtemp.Config) *pgtemp.Server {
	t.Helper()
	server, err := pgtemp.Start(t.Context(), cfg)
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	stopAfter(t, server)
	return server
}

// Standby returns a streaming standby of primary. It is stopped when the test
// ends.
func Standby(t testing.TB, primary *pgtemp.Server) *pgtemp.Server {
	t.Helper()
	server, err := primary.Standby(t.Context())
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	stopAfter(t, server)
	return server
}

func stopAfter(t testing.TB, server *pgtemp.Server) {
	t.Helper()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := server.Stop(ctx); err != nil {
			t.Errorf("pgtest: %v", err)
		}
	})
}
