package pgstore_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/receipt"
)

const (
	// backlog is how many events a drain begins with, each with about 1 KiB
	// of data, in backlogLines ordering keys.
	backlog      = 100_000
	backlogLines = 10_000
	backlogBytes = 1 << 10
)

// drainer empties a table of its own, and is timed.
type drainer struct {
	name string
	// pool is its own. fill makes its backlog, drain takes it away.
	pool  *pgxpool.Pool
	fill  func(testing.TB)
	drain func(context.Context) error
	took  time.Duration
	times int
}

// rate returns the events drained per second.
func (d *drainer) rate() float64 { return float64(backlog*d.times) / d.took.Seconds() }

// race has all contestants fill and drain in turns, b.N times, so that a noise
// of the machine meets all alike, after a turn that does not count. The time of
// the benchmark is the first one's; the other ones' rates give the ratios.
func race(b *testing.B, contestants ...*drainer) {
	b.Helper()
	turn := func(d *drainer, first bool) {
		b.StopTimer()
		d.fill(b)
		if first {
			b.StartTimer()
		}
		start := time.Now()
		if err := d.drain(b.Context()); err != nil {
			b.Fatalf("%s: %v", d.name, err)
		}
		d.took += time.Since(start)
		d.times++
		b.StopTimer()
	}
	for _, d := range contestants {
		turn(d, false)
		d.took, d.times = 0, 0
	}
	b.ResetTimer()
	for range b.N {
		for i, d := range contestants {
			turn(d, i == 0)
		}
	}
	first := contestants[0]
	b.ReportMetric(first.rate(), first.name+"/s")
	for _, d := range contestants[1:] {
		b.ReportMetric(d.rate(), d.name+"/s")
		b.ReportMetric(first.rate()/d.rate(), "×"+d.name)
	}
}

// refill replaces what is in the table by a backlog.
func refill(pool *pgxpool.Pool) func(testing.TB) {
	return func(t testing.TB) {
		t.Helper()
		execute(t, pool, "TRUNCATE settleonce.events")
		fillEvents(t, pool, 0, backlog, backlogLines, backlogBytes)
	}
}

// addBacklog adds a backlog to a table that is not emptied of its dead rows.
func addBacklog(pool *pgxpool.Pool) func(testing.TB) {
	return func(t testing.TB) {
		t.Helper()
		fillEvents(t, pool, 0, backlog, backlogLines, backlogBytes)
	}
}

// bareLoop is the loop that the relay is measured against: one connection locks
// up to 500 rows, reads the columns, deletes the rows and commits.
func bareLoop(b *testing.B, name, columns string, scan func(pgx.Rows) (position int64, err error)) *drainer {
	b.Helper()
	pool := newEventsPool(b)
	read := "SELECT " + columns + " FROM settleonce.events ORDER BY position LIMIT 500 FOR UPDATE SKIP LOCKED"
	round := func(ctx context.Context, tx pgx.Tx) (int, error) {
		rows, err := tx.Query(ctx, read)
		if err != nil {
			return 0, err
		}
		positions := make([]int64, 0, 500)
		for rows.Next() {
			position, err := scan(rows)
			if err != nil {
				return 0, err
			}
			positions = append(positions, position)
		}
		if err := rows.Err(); err != nil {
			return 0, err
		}
		_, err = tx.Exec(ctx, "DELETE FROM settleonce.events WHERE position = ANY($1)", positions)
		return len(positions), err
	}
	return &drainer{name: name, pool: pool, fill: refill(pool), drain: func(ctx context.Context) error {
		connection, err := pool.Acquire(ctx)
		if err != nil {
			return err
		}
		defer connection.Release()
		for count := -1; count != 0; {
			err := pgx.BeginFunc(ctx, connection, func(tx pgx.Tx) (err error) {
				count, err = round(ctx, tx)
				return err
			})
			if err != nil {
				return err
			}
		}
		return nil
	}}
}

// bareLoops are the bare loop with the columns that the relay reads, and with
// nothing but an id and the data.
func bareLoops(b *testing.B) []*drainer {
	b.Helper()
	whole := bareLoop(b, "bare", eventColumns, scanEvent)
	payload := bareLoop(b, "bare-payload", "position, data", func(rows pgx.Rows) (position int64, err error) {
		var data []byte
		return position, rows.Scan(&position, &data)
	})
	return []*drainer{whole, payload}
}

// relays drain with that many relays of this process, which share the lanes.
func relays(b *testing.B, name string, count int, fill func(*pgxpool.Pool) func(testing.TB)) *drainer {
	b.Helper()
	pool := newEventsPool(b, func(cfg *pgxpool.Config) { cfg.MaxConns = 24 })
	done := newTally()
	to := &sink{batching: outbox.Batching{MaxEvents: 500, InOrder: true}}
	stations := make([]*station, count)
	for i := range stations {
		stations[i] = startStation(b, pool, to, done)
	}
	await(b, pool, "the relays share the lanes", evenShares(count))
	return &drainer{name: name, pool: pool, fill: fill(pool), drain: func(ctx context.Context) error {
		target := done.delivered() + backlog + count
		for _, s := range stations {
			if err := s.poke(ctx); err != nil {
				return err
			}
		}
		return done.await(ctx, target)
	}}
}

// BenchmarkEventsDrain compares a relay, to a destination in memory, with the
// bare loop.
func BenchmarkEventsDrain(b *testing.B) {
	race(b, append([]*drainer{relays(b, "relay", 1, refill)}, bareLoops(b)...)...)
}

// BenchmarkEventsDrainShared compares two relays with one.
func BenchmarkEventsDrainShared(b *testing.B) {
	race(b, relays(b, "two-relays", 2, refill), relays(b, "one-relay", 1, refill))
}

// BenchmarkEventsDrainUnderSnapshot compares a relay on a table in which the
// dead rows of all former drains stay, because a snapshot from before the first
// fill is held open, with a relay on a fresh table.
func BenchmarkEventsDrainUnderSnapshot(b *testing.B) {
	held := relays(b, "snapshot", 1, addBacklog)
	holdSnapshot(b, held.pool)
	race(b, held, relays(b, "fresh", 1, refill))
}

// BenchmarkEventsLatency compares the time from the beginning of a commit to the
// event's arrival, with nothing else to do, to a commit of one row. All are
// medians.
func BenchmarkEventsLatency(b *testing.B) {
	pool := newEventsPool(b)
	execute(b, pool, "CREATE TABLE plain (n bigint PRIMARY KEY)")
	arrived := make(chan time.Time, 1)
	to := &sink{take: func(*event.Event) { arrived <- time.Now() }}
	done := newTally()
	s := startStation(b, pool, to, done)
	await(b, pool, "the relay has its lanes", evenShares(1))
	var plain, arrival, afterCommit []time.Duration
	for n := range b.N {
		start := time.Now()
		if _, err := pool.Exec(b.Context(), "INSERT INTO plain VALUES ($1)", n); err != nil {
			b.Fatal(err)
		}
		plain = append(plain, time.Since(start))

		claim := claimOn(receipt.NewID())
		session, err := s.store.Begin(b.Context(), claim)
		if err != nil {
			b.Fatal(err)
		}
		start = time.Now()
		if _, err := session.Commit(b.Context(), receiptFor(claim), eventOf(claim.Key, "line")); err != nil {
			b.Fatal(err)
		}
		committed := time.Now()
		at := <-arrived
		arrival = append(arrival, at.Sub(start))
		afterCommit = append(afterCommit, at.Sub(committed))
		if err := done.await(b.Context(), n+1); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(median(plain).Microseconds()), "µs/commit")
	b.ReportMetric(float64(median(arrival).Microseconds()), "µs/arrival")
	b.ReportMetric(float64(median(afterCommit).Microseconds()), "µs/arrival-after-commit")
	b.ReportMetric(float64(median(arrival))/float64(median(plain)), "×commit")
}

func median(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)/2]
}

// BenchmarkEventsIdle counts what a relay asks the server when there is nothing
// to do: round trips per second, for as many seconds as b.N.
func BenchmarkEventsIdle(b *testing.B) {
	var trips tripCounter
	pool := newEventsPool(b, func(cfg *pgxpool.Config) { cfg.ConnConfig.Tracer = &trips })
	startStation(b, pool, &sink{}, newTally())
	await(b, pool, "the relay has its lanes", evenShares(1))
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	const settling = 5 // until it polls as rarely as it will
	for range settling {
		<-tick.C
	}
	trips.Store(0)
	b.ResetTimer()
	for range b.N {
		<-tick.C
	}
	b.ReportMetric(float64(trips.Load())/b.Elapsed().Seconds(), "queries/s")
}

// tripCounter counts round trips to the server.
type tripCounter struct{ atomic.Int64 }

var (
	_ pgx.QueryTracer = (*tripCounter)(nil)
	_ pgx.BatchTracer = (*tripCounter)(nil)
)

// TraceQueryStart counts one.
func (c *tripCounter) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	c.Add(1)
	return ctx
}

// TraceQueryEnd does nothing.
func (c *tripCounter) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// TraceBatchStart counts one.
func (c *tripCounter) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	c.Add(1)
	return ctx
}

// TraceBatchQuery does nothing: a batch is one round trip.
func (c *tripCounter) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

// TraceBatchEnd does nothing.
func (c *tripCounter) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}
