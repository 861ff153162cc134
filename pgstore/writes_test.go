package pgstore_test

import (
	"context"
	"fmt"
	"maps"
	"net"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
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

// settleCounted settles a key with an event, a deferred statement and receipts
// of that many keys beside.
func settleCounted(t *testing.T, f *fixture, writes *atomic.Int64, id string, beside int) flushes {
	t.Helper()
	claim := claimBeside(id, beside)
	start := writes.Load()
	session := f.begin(t, claim)
	begun := writes.Load()
	if err := pgstore.Defer(session.Tx(), 1, "INSERT INTO marks VALUES ($1)", id); err != nil {
		t.Fatal(err)
	}
	session.Add(receiptsBeside(claim)...)
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
			for _, beside := range []int{0, 1, receipt.MaxBeside} {
				// Each number of keys has a text of its own to prepare.
				settleCounted(t, f, &writes, fmt.Sprintf("warms the connection, %d beside", beside), beside)
				got := settleCounted(t, f, &writes, fmt.Sprintf("warm, %d beside", beside), beside)
				if diff := cmp.Diff(flushes{1, 1}, got); diff != "" {
					t.Errorf("writes with %d keys beside (-want +got):\n%s", beside, diff)
				}
			}
		})
	}
}

func TestFailedFlushCostsTheNextOnesTheirStatements(t *testing.T) {
	t.Parallel()
	var writes atomic.Int64
	f := newFixture(t, countWrites(&writes, pgx.QueryExecModeCacheStatement))
	settleCounted(t, f, &writes, "warms the connection", 0)

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
	if diff := cmp.Diff(flushes{2, 2}, settleCounted(t, f, &writes, "after", 0)); diff != "" {
		t.Errorf("writes after a failed flush (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(flushes{1, 1}, settleCounted(t, f, &writes, "warm again", 0)); diff != "" {
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
			claim := claimBeside("m1", 2)
			session := f.begin(t, claim)
			if err := mark(t.Context(), session.Tx(), "effect"); err != nil {
				t.Fatal(err)
			}
			if err := pgstore.Defer(session.Tx(), 1, "INSERT INTO marks VALUES ($1)", "deferred"); err != nil {
				t.Fatal(err)
			}
			session.Add(receiptsBeside(claim)...)
			stored, err := session.Commit(t.Context(), receiptFor(claim), eventOf(claim.Key, ""))
			if err != nil {
				t.Fatal(err)
			}
			later := f.begin(t, rerunOf(claim))
			claimed, _ := later.Prior()
			if diff := cmp.Diff(&stored, claimed); diff != "" {
				t.Errorf("receipt read back (-want +got):\n%s", diff)
			}
			beside := receiptsBeside(claim)
			ignoreTime := cmpopts.IgnoreFields(receipt.Receipt{}, "RecordedAt")
			if diff := cmp.Diff(beside, later.Beside(), ignoreTime); diff != "" {
				t.Errorf("receipts beside read back (-want +got):\n%s", diff)
			}
			history, err := f.store.History(t.Context(), append(claim.Beside, claim.Key)...)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(append(beside, stored), history, ignoreTime); diff != "" {
				t.Errorf("histories (-want +got):\n%s", diff)
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
			var inTransaction bool
			err := session.Tx().QueryRow(t.Context(), "SELECT $1 BETWEEN now() AND clock_timestamp()", session.BeganAt()).Scan(&inTransaction)
			if err != nil || !inTransaction {
				t.Errorf("began at %v: not in the transaction by the server's clock, %v", session.BeganAt(), err)
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
