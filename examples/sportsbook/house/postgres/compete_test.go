package postgres_test

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// roundSize is how many calls a benchmark makes of one kind before it makes as
// many of the next, so that a noise of the machine meets all kinds alike.
const roundSize = 256

// contestant is one of the things that a benchmark compares.
type contestant struct {
	name  string
	call  func(ctx context.Context, number int64) error
	took  time.Duration
	calls []time.Duration
}

// compete makes b.N calls of each contestant, in turns, from as many callers.
// The time of the benchmark is the first one's. It reports throughput and 99th
// percentile of each, and of the first one how many times the others' they are.
func compete(b *testing.B, callers int, contestants ...*contestant) {
	b.Helper()
	var numbers atomic.Int64
	for _, c := range contestants {
		c.round(b, &numbers, callers, 4*callers) // every connection is open and has prepared its statements
		c.took, c.calls = 0, nil
	}
	b.ResetTimer()
	for done := 0; done < b.N; done += roundSize {
		calls := min(roundSize, b.N-done)
		contestants[0].round(b, &numbers, callers, calls)
		b.StopTimer()
		for _, c := range contestants[1:] {
			c.round(b, &numbers, callers, calls)
		}
		b.StartTimer()
	}
	first := contestants[0]
	for _, c := range contestants {
		b.ReportMetric(c.rate(), c.name+"/s")
		b.ReportMetric(float64(c.p99().Microseconds())/1000, c.name+"-p99-ms")
	}
	for _, c := range contestants[1:] {
		b.ReportMetric(first.rate()/c.rate(), "×"+c.name)
		b.ReportMetric(float64(first.p99())/float64(c.p99()), "p99×"+c.name)
	}
}

// round makes so many calls from so many callers.
func (c *contestant) round(b *testing.B, numbers *atomic.Int64, callers, calls int) {
	b.Helper()
	var left atomic.Int64
	left.Store(int64(calls))
	var working sync.WaitGroup
	times := make([][]time.Duration, callers)
	start := time.Now()
	for caller := range callers {
		working.Go(func() {
			for left.Add(-1) >= 0 {
				began := time.Now()
				if err := c.call(b.Context(), numbers.Add(1)); err != nil {
					b.Error(err)
					return
				}
				times[caller] = append(times[caller], time.Since(began))
			}
		})
	}
	working.Wait()
	c.took += time.Since(start)
	c.calls = append(c.calls, slices.Concat(times...)...)
}

// rate returns the calls per second.
func (c *contestant) rate() float64 { return float64(len(c.calls)) / c.took.Seconds() }

// p99 returns the time within which 99 of 100 calls were done.
func (c *contestant) p99() time.Duration {
	if len(c.calls) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(c.calls))
	return sorted[len(sorted)*99/100]
}
