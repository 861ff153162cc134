package pgstore_test

import (
	"context"
	"maps"
	"net"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/settleonce/settleonce/pgstore"
	"github.com/settleonce/settleonce/receipt"
)

// countingConn counts the writes to a socket.
type countingConn struct {
	net.Conn
	writes *atomic.Int64
}

func (c countingConn) Write(b []byte) (int, error) {
	c.writes.Add(1)
	return c.Conn.Write(b)
}

// countWrites has a pool of one connection count its writes.
func countWrites(writes *atomic.Int64, mode pgx.QueryExecMode) func(*pgxpool.Config) {
	return func(cfg *pgxpool.Config) {
		cfg.MaxConns = 1
		cfg.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return false }
		cfg.ConnConfig.DefaultQueryExecMode = mode
		dial := cfg.ConnConfig.DialFunc
		cfg.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dial(ctx, network, address)
			return countingConn{conn, writes}, err
		}
	}
}

// flushes is how many writes Begin and Commit took.
type flushes struct{ Begin, Commit int64 }

// settleCounted settles a key with an event and a deferred statement.
func settleCounted(t *testing.T, f *fixture, writes *atomic.Int64, id string) flushes {
	t.Helper()
	claim := claimOn(id)
	start := writes.Load()
	session := f.begin(t, claim)
	begun := writes.Load()
	if err := pgstore.Defer(session.Tx(), 1, "INSERT INTO marks VALUES ($1)", id); err != nil {
		t.Fatal(err)
	}
	if _, err := session.Commit(t.Context(), receiptFor(claim), eventOf(claim.Key, "")); err != nil {
		t.Fatal(err)
	}
	return flushes{begun - start, writes.Load() - begun}
}

func TestSessionIsTwoFlushes(t *testing.T) {
	t.Parallel()
	modes := []pgx.QueryExecMode{pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeExec}
	for _, mode := range modes {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			var writes atomic.Int64
			f := newFixture(t, countWrites(&writes, mode))
			settleCounted(t, f, &writes, "warms the connection")
			if diff := cmp.Diff(flushes{1, 1}, settleCounted(t, f, &writes, "warm")); diff != "" {
				t.Errorf("writes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFailedFlushCostsTheNextOnesTheirStatements(t *testing.T) {
	t.Parallel()
	var writes atomic.Int64
	f := newFixture(t, countWrites(&writes, pgx.QueryExecModeCacheStatement))
	settleCounted(t, f, &writes, "warms the connection")

	claim := claimOn("fails")
	session := f.begin(t, claim)
	if err := pgstore.Defer(session.Tx(), 2, "INSERT INTO marks VALUES ($1)", "one row, not two"); err != nil {
		t.Fatal(err)
	}
	if _, err := session.Commit(t.Context(), receiptFor(claim), eventOf(claim.Key, "")); err == nil {
		t.Fatal("a commit with a wrong row count succeeded")
	}
	// pgx forgets the statements of a failed batch: the next flush throws
	// them out on the server, and whoever needs one prepares it again.
	if diff := cmp.Diff(flushes{2, 2}, settleCounted(t, f, &writes, "after")); diff != "" {
		t.Errorf("writes after a failed flush (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(flushes{1, 1}, settleCounted(t, f, &writes, "warm again")); diff != "" {
		t.Errorf("writes once warm again (-want +got):\n%s", diff)
	}
}

func TestEveryExecModeSettles(t *testing.T) {
	t.Parallel()
	modes := []pgx.QueryExecMode{
		pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec,
		pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol,
	}
	for _, mode := range modes {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, func(cfg *pgxpool.Config) { cfg.ConnConfig.DefaultQueryExecMode = mode })
			claim := claimOn("m1")
			session := f.begin(t, claim)
			if err := mark(t.Context(), session.Tx(), "effect"); err != nil {
				t.Fatal(err)
			}
			if err := pgstore.Defer(session.Tx(), 1, "INSERT INTO marks VALUES ($1)", "deferred"); err != nil {
				t.Fatal(err)
			}
			stored, err := session.Commit(t.Context(), receiptFor(claim), eventOf(claim.Key, ""))
			if err != nil {
				t.Fatal(err)
			}
			claimed, _ := f.begin(t, claimOn("m1")).Prior()
			if diff := cmp.Diff(&stored, claimed); diff != "" {
				t.Errorf("receipt read back (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{"deferred", "effect"}, f.marks(t)); diff != "" {
				t.Errorf("effects (-want +got):\n%s", diff)
			}
		})
	}
}

// In pgx's modes without a description of the results they come as texts,
// whose form settings decide: the server's, and what a callback makes of them.
func TestOutputSettingsDoNotReachTheStore(t *testing.T) {
	t.Parallel()
	settings := map[string]string{"datestyle": "SQL, DMY", "timezone": "Asia/Kolkata", "bytea_output": "escape"}
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeCacheStatement, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol} {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, func(cfg *pgxpool.Config) {
				cfg.ConnConfig.DefaultQueryExecMode = mode
				maps.Copy(cfg.ConnConfig.RuntimeParams, settings)
			})
			claim := claimOn("m1")
			session := f.begin(t, claim)
			if _, err := session.Tx().Exec(t.Context(), "SET LOCAL datestyle = 'German'"); err != nil {
				t.Fatal(err)
			}
			written := receiptFor(claim)
			written.Value, written.Canonical = []byte("\x00\\ \xff"), []byte{}
			stored, err := session.Commit(t.Context(), written)
			if err != nil {
				t.Fatal(err)
			}
			var same bool
			err = f.pool.QueryRow(t.Context(), "SELECT recorded_at = $1 FROM settleonce.receipts", stored.RecordedAt).Scan(&same)
			if err != nil || !same {
				t.Errorf("recorded at %v: the server has another time, %v", stored.RecordedAt, err)
			}
			claimed, _ := f.begin(t, claimOn("m1")).Prior()
			for from, got := range map[string]*receipt.Receipt{"Begin": claimed, "History": &f.history(t, "m1")[0]} {
				if diff := cmp.Diff(&stored, got); diff != "" {
					t.Errorf("receipt read back by %s (-want +got):\n%s", from, diff)
				}
			}
		})
	}
}
