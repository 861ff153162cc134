package pgtest_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/settleonce/settleonce/internal/pgtest"
	"github.com/settleonce/settleonce/pgstore/pgtemp"
)

func TestEachPoolHasItsOwnDatabase(t *testing.T) {
	t.Parallel()
	one, other := pgtest.Pool(t), pgtest.Pool(t)
	if _, err := one.Exec(t.Context(), "CREATE TABLE mine ()"); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Exec(t.Context(), "CREATE TABLE mine ()"); err != nil {
		t.Errorf("the databases are shared: %v", err)
	}
}

func TestDatabaseIsDroppedThoughConnected(t *testing.T) {
	t.Parallel()
	var name string
	watcher := pgtest.Pool(t)
	t.Run("user", func(t *testing.T) {
		dsn := pgtest.DSN(t)
		pool, err := pgxpool.New(t.Context(), dsn) // left open on purpose
		if err != nil {
			t.Fatal(err)
		}
		if err := pool.QueryRow(t.Context(), "SELECT current_database()").Scan(&name); err != nil {
			t.Fatal(err)
		}
	})
	var left []string
	rows, err := watcher.Query(t.Context(), "SELECT datname::text FROM pg_database WHERE datname = $1", name)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		left = append(left, name)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string(nil), left); diff != "" || name == "" {
		t.Errorf("database %q left (-want +got):\n%s", name, diff)
	}
}

func TestPoolOnTakesItsSettings(t *testing.T) {
	t.Parallel()
	pool := pgtest.Pool(t, func(cfg *pgxpool.Config) { cfg.MaxConns = 3 })
	if got := pool.Config().MaxConns; got != 3 {
		t.Errorf("MaxConns = %d, want 3", got)
	}
}

func TestServerAndStandby(t *testing.T) {
	t.Parallel()
	primary := pgtest.Server(t, pgtemp.Config{})
	standby := pgtest.Standby(t, primary)
	var inRecovery bool
	row := pgtest.PoolOn(t, standby.DSN()).QueryRow(t.Context(), "SELECT pg_is_in_recovery()")
	if err := row.Scan(&inRecovery); err != nil {
		t.Fatal(err)
	}
	if !inRecovery {
		t.Error("the standby is a primary")
	}
}

// TestGivenServerIsUsed runs this binary again with a server of its own.
func TestGivenServerIsUsed(t *testing.T) {
	t.Parallel()
	server := pgtest.Server(t, pgtemp.Config{Parameters: map[string]string{"log_statement": "ddl"}})
	if output, err := runAgain(server.DSN()); err != nil {
		t.Fatalf("%v, output:\n%s", err, output)
	}
	log, err := os.ReadFile(server.LogFile())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(log), "CREATE DATABASE test_") {
		t.Error("the test used another server")
	}
}

// TestUnreachableServerFails runs this binary again with a server that is not
// there, and expects a failure, not a skip.
func TestUnreachableServerFails(t *testing.T) {
	t.Parallel()
	output, err := runAgain("host=/nowhere sslmode=disable")
	if err == nil || !strings.Contains(output, "--- FAIL: TestEachPoolHasItsOwnDatabase") {
		t.Errorf("error %v, output:\n%s", err, output)
	}
}

// runAgain runs a test of this binary on the server that dsn names.
func runAgain(dsn string) (string, error) {
	again := exec.Command(os.Args[0], "-test.run=^TestEachPoolHasItsOwnDatabase$", "-test.v")
	again.Env = append(os.Environ(), pgtest.Variable+"="+dsn)
	output, err := again.CombinedOutput()
	return string(output), err
}
