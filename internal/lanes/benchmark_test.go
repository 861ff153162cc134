package lanes_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/settleonce/settleonce/internal/lanes"
	"github.com/settleonce/settleonce/internal/lanes/lanestest"
	"github.com/settleonce/settleonce/outbox/outboxtest"
)

// endless is a table whose reads cost nothing: the same rows for ever.
type endless struct {
	lanes.Table
	rows []lanes.Row
}

func (e *endless) Read(_ context.Context, _ []lanes.Lane, after int64, limit int, _ []lanes.Row) ([]lanes.Row, []uint64, error) {
	rows := e.rows[:min(limit, len(e.rows))]
	for i := range rows {
		rows[i].Position = after + 1 + int64(i)
	}
	return rows, nil, nil
}

func (*endless) Delete(context.Context, lanes.Ticket, []int64) error { return nil }

func (*endless) Heads(context.Context, []lanes.Lane, int64, int64, int) ([]lanes.Head, error) {
	return nil, nil
}

// BenchmarkRecord is what a record costs beside the calls to the table: Next,
// Lease and Remove, of 500 records each.
func BenchmarkRecord(b *testing.B) {
	for _, keys := range []int{500, 20} {
		b.Run("keys="+strconv.Itoa(keys), func(b *testing.B) { benchmarkRecord(b, keys) })
	}
}

func benchmarkRecord(b *testing.B, keys int) {
	b.Helper()
	const limit = 500
	table := &endless{Table: lanestest.NewMemory(lanestest.MemoryConfig{})}
	for n := range limit {
		e := outboxtest.NewEvent(strconv.Itoa(n), "account-"+strconv.Itoa(n%keys))
		table.rows = append(table.rows, lanes.Row{Lane: lanes.Lane(n % lanes.Count), Ordering: e.Ordering(), Event: e, RecordedAt: time.Now()})
	}
	source, err := lanes.New(lanes.Config{Table: table})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = source.Close(context.Background()) }()
	b.ReportAllocs()
	records := 0
	for b.Loop() {
		records += drain(b, source, limit)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(records), "ns/record")
}

func drain(b *testing.B, source *lanes.Source, limit int) int {
	b.Helper()
	records, err := source.Next(b.Context(), limit, nil)
	if err != nil {
		b.Fatal(err)
	}
	leased, _, done := source.Lease(records)
	defer done()
	if err := source.Remove(b.Context(), leased); err != nil {
		b.Fatal(err)
	}
	return len(leased)
}
