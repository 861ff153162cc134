package pgstore_test

import (
	"context"
	"flag"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/outbox/event"
)

// soakEvents makes TestSoak a long run, which leaves the vacuum to the server
// and also judges rates:
//
//	go test -run=TestSoak -timeout=2h -v ./pgstore -soak=20000000
var soakEvents = flag.Int("soak", 0, "how many events TestSoak sends through the table; 0 is a short run")

const (
	soakWaves = 20
	soakLines = 1_000
	soakBytes = 256
	shortSoak = 100_000
	// soakChunk is how many events a writer commits at once, and soakAhead how
	// many may be pending before it waits.
	soakChunk = 10_000
	soakAhead = 100_000
)

// TestSoak sends events through the table in waves, while two relays drain it,
// without and with a snapshot that is held open all the time. It prints what
// became of the table's size, and of the rate.
func TestSoak(t *testing.T) { //nolint:paralleltest // a long run measures rates
	for _, held := range []bool{false, true} { //nolint:paralleltest // as above
		t.Run(fmt.Sprintf("snapshot held=%t", held), func(t *testing.T) {
			s := newSoak(t)
			if held {
				holdSnapshot(t, s.pool)
			}
			waves := s.run(t)
			if !held {
				judgeSizes(t, waves)
			}
			if *soakEvents > 0 {
				judgeRates(t, waves)
			}
		})
	}
}

// soak is one run.
type soak struct {
	pool  *pgxpool.Pool
	done  *tally
	lines lineCheck
	wave  int // events
}

func newSoak(t *testing.T) *soak {
	t.Helper()
	total := *soakEvents
	if total == 0 {
		total = shortSoak
	}
	// The relays have as many connections as they may have calls at once.
	pool := newEventsPool(t, func(cfg *pgxpool.Config) { cfg.MaxConns = 24 })
	s := &soak{pool: pool, done: newTally(), wave: max(total/soakWaves, soakLines)}
	to := &sink{batching: outbox.Batching{MaxEvents: 500, InOrder: true}, take: s.lines.take}
	for range 2 {
		startStation(t, s.pool, to, s.done)
	}
	await(t, s.pool, "the relays share the lanes", evenShares(2))
	return s
}

// wave is what was measured when all events of a wave, and of those before it,
// were delivered and removed.
type wave struct {
	Events  int // up to its end
	Took    time.Duration
	Rate    float64 // events per second, written and delivered
	Table   int64   // bytes
	Indexes int64
	Rows    int64 // that are left
	Dead    int64 // rows, as the server estimates
	Vacuums int64 // by autovacuum, so far
}

// run sends all waves through the table.
func (s *soak) run(t *testing.T) []wave {
	t.Helper()
	var waves []wave
	fmt.Fprintln(t.Output(), waveHeader)
	for n := range soakWaves {
		start := time.Now()
		end := (n + 1) * s.wave
		for first := n * s.wave; first < end; first += soakChunk {
			s.mustAwait(t, first-soakAhead)
			fillEvents(t, s.pool, first, min(soakChunk, end-first), soakLines, soakBytes)
		}
		s.mustAwait(t, end)
		took := time.Since(start)
		if *soakEvents == 0 { // a short run is over before the server thinks of it
			execute(t, s.pool, "VACUUM settleonce.events")
		}
		w := wave{Events: end, Took: took, Rate: float64(s.wave) / took.Seconds()}
		s.measure(t, &w)
		w.print(t)
		waves = append(waves, w)
	}
	s.lines.expect(t, soakWaves*s.wave)
	return waves
}

// mustAwait waits until so many events are delivered and removed.
func (s *soak) mustAwait(t *testing.T, count int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := s.done.await(ctx, count); err != nil {
		t.Fatal(err)
	}
}

func (s *soak) measure(t *testing.T, w *wave) {
	t.Helper()
	const sizes = `SELECT pg_table_size(relid), pg_indexes_size(relid), n_dead_tup, autovacuum_count,
		(SELECT count(*) FROM settleonce.events)
		FROM pg_stat_user_tables WHERE relid = 'settleonce.events'::regclass`
	if err := s.pool.QueryRow(t.Context(), sizes).Scan(&w.Table, &w.Indexes, &w.Dead, &w.Vacuums, &w.Rows); err != nil {
		t.Fatal(err)
	}
	if w.Rows != 0 {
		t.Errorf("%d rows are left when all events are removed", w.Rows)
	}
}

// waveHeader stands above what wave.print writes.
const waveHeader = "    events seconds events/s   rows  dead rows table MiB indexes MiB autovacuums"

// print writes a line of the table of all waves.
func (w *wave) print(t *testing.T) {
	t.Helper()
	const megabyte = 1 << 20
	fmt.Fprintf(t.Output(), "%10d %7.1f %8.0f %6d %10d %9d %11d %11d\n", w.Events, w.Took.Seconds(), w.Rate, w.Rows, w.Dead,
		w.Table/megabyte, w.Indexes/megabyte, w.Vacuums)
}

// judgeSizes wants the table to stop growing: as many events as made it as large
// as it is half-way would make it twice as large at the end. Under a snapshot
// that is held it does. A long run that ends before autovacuum has come twice
// says nothing about it: nobody has given space back yet.
func judgeSizes(t *testing.T, waves []wave) {
	t.Helper()
	const growth, rounds = 1.5, 2
	half, last := waves[len(waves)/2-1], waves[len(waves)-1]
	if *soakEvents > 0 && last.Vacuums < rounds {
		t.Logf("the size is not judged: autovacuum has come %d times, want %d; send more events", last.Vacuums, rounds)
		return
	}
	if now, bound := last.Table+last.Indexes, growth*float64(half.Table+half.Indexes); float64(now) > bound {
		t.Errorf("table and indexes have %d bytes at the end, more than %.1f times those half-way", now, growth)
	}
}

// judgeRates wants the last wave to be about as fast as the second: in the first
// the relays begin.
func judgeRates(t *testing.T, waves []wave) {
	t.Helper()
	const share = 0.7
	if early, last := waves[1], waves[len(waves)-1]; last.Rate < share*early.Rate {
		t.Errorf("the last wave had %.0f events/s, less than %.1f of the second's %.0f", last.Rate, share, early.Rate)
	}
}

// lineCheck is told of every event that arrives, and sees whether one was left
// out of its line.
type lineCheck struct {
	mu      sync.Mutex
	counts  [soakLines]int // that arrived of each line
	wrong   []string
	repeats int
}

// take judges one event by its number.
func (c *lineCheck) take(e *event.Event) {
	number, err := strconv.Atoi(e.ID)
	c.mu.Lock()
	defer c.mu.Unlock()
	line, place := number%soakLines, number/soakLines
	switch {
	case err != nil:
		c.wrong = append(c.wrong, err.Error())
	case place == c.counts[line]:
		c.counts[line]++
	case place < c.counts[line]:
		c.repeats++
	default:
		c.wrong = append(c.wrong, fmt.Sprintf("event %d of line %d came when %d were due", place, line, c.counts[line]))
	}
}

// expect checks that all events arrived, in order, and none twice: nothing has
// happened to the relays.
func (c *lineCheck) expect(t *testing.T, total int) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, wrong := range c.wrong[:min(10, len(c.wrong))] {
		t.Error(wrong)
	}
	arrived := 0
	for _, count := range c.counts {
		arrived += count
	}
	if arrived != total || c.repeats != 0 {
		t.Errorf("%d events arrived, %d of them again; want %d, once", arrived, c.repeats, total)
	}
}
