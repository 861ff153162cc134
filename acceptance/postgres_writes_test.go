package acceptance_test

import (
	"context"
	"net"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/settleonce/settleonce/acceptance"
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
func countWrites(writes *atomic.Int64) func(*pgxpool.Config) {
	return func(cfg *pgxpool.Config) {
		cfg.MaxConns = 1
		cfg.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return false }
		dial := cfg.ConnConfig.DialFunc
		cfg.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dial(ctx, network, address)
			return countingConn{conn, writes}, err
		}
	}
}

// trips is how often a call wrote, up to each callback and in all.
type trips struct{ BeforeLockWallet, BeforeQuote, BeforePlace, InAll int64 }

// TestRoundTrips: the look for a stored decision, the first flush and the last
// are one write each, and the rest are the callbacks'. A replay is one.
func TestRoundTrips(t *testing.T) {
	t.Parallel()
	bothLevels(t, func(t *testing.T, level receipt.Isolation) {
		t.Helper()
		db := newDatabase(t)
		var writes atomic.Int64
		var started int64
		var seen trips
		b := newBranch(t, db.dsn, level, func(b *books, config *pgConfig) {
			config.LockWallet = func(ctx context.Context, tx pgx.Tx, c *acceptance.Command) (acceptance.Wallet, error) {
				seen.BeforeLockWallet = writes.Load() - started
				return b.lockWallet(ctx, tx, c)
			}
			config.Quote = func(ctx context.Context, tx pgx.Tx, c *acceptance.Command) (acceptance.Board, error) {
				seen.BeforeQuote = writes.Load() - started
				return b.quote(ctx, tx, c)
			}
			config.Place = func(ctx context.Context, tx pgx.Tx, p *acceptance.Proposal) (placed, error) {
				seen.BeforePlace = writes.Load() - started
				return b.place(ctx, tx, p)
			}
		}, countWrites(&writes))
		count := func(c acceptance.Command) trips {
			started, seen = writes.Load(), trips{}
			b.accept(t, c)
			seen.InAll = writes.Load() - started
			return seen
		}
		count(single(t, "warms", "1.00"))
		if diff := cmp.Diff(trips{2, 3, 4, 5}, count(single(t, "b1", "1.00"))); diff != "" {
			t.Errorf("accepted (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(trips{InAll: 1}, count(single(t, "b1", "1.00"))); diff != "" {
			t.Errorf("replayed (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(trips{2, 3, 0, 5}, count(single(t, "poor", "1000.00"))); diff != "" {
			t.Errorf("rejected (-want +got):\n%s", diff)
		}
	})
}
