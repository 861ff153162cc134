package pgstore_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/settleonce/settleonce/internal/pgtest"
	"github.com/settleonce/settleonce/pgstore"
)

// guard is one way to keep a bet and a suspension of its market apart.
type guard struct {
	name    string
	share   func(*pgx.Batch) error // before the read
	read    string
	exclude func(context.Context, pgx.Tx) error // before the change

	betting     time.Duration
	bets        int
	suspending  atomic.Int64 // nanoseconds, of all suspensions together
	suspensions atomic.Int64
}

func guards(fence *pgstore.Fence) []*guard {
	nothing := func(*pgx.Batch) error { return nil }
	nobody := func(context.Context, pgx.Tx) error { return nil }
	return []*guard{
		{
			name: "fence", read: readStatus,
			share:   func(batch *pgx.Batch) error { return fence.Share(batch, market("m1")) },
			exclude: func(ctx context.Context, tx pgx.Tx) error { return fence.Exclude(ctx, tx, market("m1")) },
		},
		{name: "forshare", read: readStatus + " FOR SHARE", share: nothing, exclude: nobody},
		{name: "none", read: readStatus, share: nothing, exclude: nobody},
	}
}

// bet reads the market and writes the bet, in four round trips whatever the
// guard.
func (g *guard) bet(ctx context.Context, pool *pgxpool.Pool) error {
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		var batch pgx.Batch
		if err := g.share(&batch); err != nil {
			return err
		}
		var status string
		batch.Queue(g.read).QueryRow(func(row pgx.Row) error { return row.Scan(&status) })
		if err := tx.SendBatch(ctx, &batch).Close(); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, "INSERT INTO bets VALUES ('m1', $1)", status)
		return err
	})
}

func (g *guard) suspend(ctx context.Context, pool *pgxpool.Pool) error {
	start := time.Now()
	err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if err := g.exclude(ctx, tx); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, suspendMarket)
		return err
	})
	g.suspending.Add(int64(time.Since(start)))
	g.suspensions.Add(1)
	return err
}

// round has all callers at once make so many calls: bets, and where suspending
// is set a suspension once in a while.
func (g *guard) round(b *testing.B, pool *pgxpool.Pool, callers, bets int, suspending bool) {
	b.Helper()
	var left atomic.Int64
	left.Store(int64(bets))
	var working sync.WaitGroup
	start := time.Now()
	for range callers {
		working.Go(func() {
			for n := left.Add(-1); n >= 0; n = left.Add(-1) {
				call := g.bet
				if suspending && n%suspendEvery == suspendEvery/2 {
					call = g.suspend
				}
				if err := call(b.Context(), pool); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	working.Wait()
	g.betting += time.Since(start)
	g.bets += bets
}

const (
	// betRound is how many bets are placed behind one guard before as many
	// behind the next, so that a noise of the machine meets all alike.
	betRound = 256
	// suspendEvery is of how many calls one is a suspension.
	suspendEvery = 64
)

// BenchmarkFence has all callers bet on one market, behind the fence, behind a
// row share lock, and behind nothing at all, with and without suspensions.
func BenchmarkFence(b *testing.B) {
	for _, callers := range []int{8, 32} {
		for _, suspending := range []bool{false, true} {
			b.Run(fmt.Sprintf("callers=%d/suspending=%t", callers, suspending), func(b *testing.B) {
				pool := pgtest.Pool(b, func(cfg *pgxpool.Config) { cfg.MaxConns = int32(callers) })
				execute(b, pool, marketTables)
				contestants := guards(newFence(b, pgstore.FenceConfig{Name: "market"}))
				for _, g := range contestants {
					g.round(b, pool, callers, 2*callers, false) // every connection is open and has prepared its statements
					g.betting, g.bets = 0, 0
				}
				b.ResetTimer()
				for done := 0; done < b.N; done += betRound {
					contestants[0].round(b, pool, callers, betRound, suspending)
					b.StopTimer() // the time of the benchmark is the fence's
					for _, g := range contestants[1:] {
						g.round(b, pool, callers, betRound, suspending)
					}
					b.StartTimer()
				}
				report(b, contestants)
			})
		}
	}
}

// report gives the throughput behind each guard, that of the first as a ratio
// to the others', and how long a suspension took.
func report(b *testing.B, contestants []*guard) {
	b.Helper()
	first := contestants[0]
	for _, g := range contestants {
		b.ReportMetric(g.rate(), g.name+"/s")
		if g != first {
			b.ReportMetric(first.rate()/g.rate(), "×"+g.name)
		}
		if count := g.suspensions.Load(); count > 0 {
			b.ReportMetric(float64(g.suspending.Load())/float64(count)/float64(time.Millisecond), g.name+"-ms/suspension")
		}
	}
}

// rate returns the calls per second.
func (g *guard) rate() float64 { return float64(g.bets) / g.betting.Seconds() }
