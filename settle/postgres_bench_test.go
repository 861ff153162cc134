package settle_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/settleonce/settleonce/receipt"
	"github.com/settleonce/settleonce/settle"
)

// roundSize is how many calls a benchmark makes of one kind before it makes as
// many of the next, so that a noise of the machine meets all kinds alike.
const roundSize = 128

// The three business statements of the benchmarks. No two calls meet in a row.
const (
	insertMatch  = "INSERT INTO matches VALUES ($1, $2)"
	raiseRating  = "UPDATE bench_ratings SET rating = rating + 1 WHERE player = $1"
	insertReplay = "INSERT INTO replays VALUES ($1, $2)"
)

const benchTablesSQL = `
CREATE TABLE matches (id bigint PRIMARY KEY, winner int NOT NULL);
CREATE TABLE replays (match bigint PRIMARY KEY, path text NOT NULL);
CREATE TABLE bench_ratings (player int PRIMARY KEY, rating int NOT NULL);
INSERT INTO bench_ratings SELECT generate_series(0, 9999), 0;
`

// ranks hands out the number of each call, so that all write rows of their own.
type ranks struct{ atomic.Int64 }

func (r *ranks) next() int64 { return r.Add(1) }

func work(ctx context.Context, tx pgx.Tx, number int64) error {
	if _, err := tx.Exec(ctx, insertMatch, number, number%10_000); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, raiseRating, number%10_000); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, insertReplay, number, "replays/match.bin")
	return err
}

// contestant is one of the things that a benchmark compares.
type contestant struct {
	name string
	call func(context.Context, int64) error
	took time.Duration
	made int
}

// compete makes b.N calls of each contestant, in turns, from as many callers.
// The time of the benchmark is the first one's; the other ones' throughput
// gives the ratios.
func compete(b *testing.B, callers int, contestants ...*contestant) {
	b.Helper()
	var numbers ranks
	round := func(c *contestant, calls int) {
		var left atomic.Int64
		left.Store(int64(calls))
		var working sync.WaitGroup
		start := time.Now()
		for range callers {
			working.Go(func() {
				for left.Add(-1) >= 0 {
					if err := c.call(b.Context(), numbers.next()); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
		working.Wait()
		c.took += time.Since(start)
		c.made += calls
	}
	for _, c := range contestants {
		round(c, 2*callers) // every connection is open and has prepared its statements
		c.took, c.made = 0, 0
	}
	b.ResetTimer()
	for done := 0; done < b.N; done += roundSize {
		calls := min(roundSize, b.N-done)
		round(contestants[0], calls)
		b.StopTimer()
		for _, c := range contestants[1:] {
			round(c, calls)
		}
		b.StartTimer()
	}
	first := contestants[0]
	b.ReportMetric(first.rate(), first.name+"/s")
	for _, c := range contestants[1:] {
		b.ReportMetric(c.rate(), c.name+"/s")
		b.ReportMetric(first.rate()/c.rate(), "×"+c.name)
	}
}

// rate returns the calls per second.
func (c *contestant) rate() float64 { return float64(c.made) / c.took.Seconds() }

// benchLobby returns a lobby with a connection for every caller.
func benchLobby(b *testing.B, callers int) *lobby {
	b.Helper()
	db := newDatabase(b)
	db.execute(b, benchTablesSQL)
	l := db.newLobby(b, setup{pool: func(cfg *pgxpool.Config) { cfg.MaxConns = int32(callers) }})
	return l
}

// parallelism returns few and many callers.
func parallelism() []int { return []int{8, 32} }

// settleNumbered settles a key of its own for each number, with the three
// statements and an event.
func (l *lobby) settleNumbered(ctx context.Context, number int64) error {
	q := request()
	q.Key.ID = fmt.Sprint(number)
	_, err := settle.Do(ctx, l.runner, q, func(ctx context.Context, a *pgAttempt) (int, error) {
		if err := a.Emit(settledEvent(q.Key.ID)); err != nil {
			return 0, err
		}
		return 1, work(ctx, a.Tx(), number)
	})
	return err
}

// plain makes the same three statements in a serial transaction by hand,
// without lock, look-up, receipt and event.
func (l *lobby) plain(ctx context.Context, number int64) error {
	return pgx.BeginFunc(ctx, l.pool, func(tx pgx.Tx) error { return work(ctx, tx, number) })
}

// BenchmarkDo compares Do with the same statements in a transaction without any
// of what Do adds.
func BenchmarkDo(b *testing.B) {
	for _, callers := range parallelism() {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			l := benchLobby(b, callers)
			compete(b, callers,
				&contestant{name: "do", call: l.settleNumbered},
				&contestant{name: "plain", call: l.plain})
		})
	}
}

// BenchmarkReplay compares the answer to a key that is settled with a plain
// SELECT of the same row by its primary key, and with Do.
func BenchmarkReplay(b *testing.B) {
	for _, callers := range parallelism() {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			const settled = 1_000
			l := benchLobby(b, callers)
			key := func(number int64) receipt.Key {
				k := request().Key
				k.ID = fmt.Sprint("settled-", number%settled)
				return k
			}
			replay := func(ctx context.Context, number int64) error {
				q := request()
				q.Key = key(number)
				_, err := settle.Do(ctx, l.runner, q, func(context.Context, *pgAttempt) (int, error) { return 1, nil })
				return err
			}
			for number := range int64(settled) {
				if err := replay(b.Context(), number); err != nil {
					b.Fatal(err)
				}
			}
			const read = "SELECT value FROM settleonce.receipts WHERE tenant = $1 AND scope = $2 AND operation = $3 AND id = $4 AND revision = 0"
			compete(b, callers,
				&contestant{name: "replay", call: replay},
				&contestant{name: "select", call: func(ctx context.Context, number int64) error {
					k := key(number)
					var value []byte
					return l.pool.QueryRow(ctx, read, k.Tenant, k.Scope, k.Operation, k.ID).Scan(&value)
				}},
				&contestant{name: "do", call: l.settleNumbered})
		})
	}
}
