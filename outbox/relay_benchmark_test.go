package outbox_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/outbox/outboxtest"
)

// slab is a source that has all its records ready. It can leave out and take
// back those of its only ordering key, which needs no list; with more of them,
// nothing in a benchmark makes the relay ask for that.
type slab struct {
	mu      sync.Mutex
	records []outbox.Record
	next    int
	left    int
	empty   chan struct{}
}

func (s *slab) Next(_ context.Context, limit int, except map[string]struct{}) ([]outbox.Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(except) > 0 {
		return nil, nil
	}
	first := s.next
	s.next = min(first+limit, len(s.records))
	return s.records[first:s.next:s.next], nil
}

func (s *slab) Release(records []outbox.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next -= len(records)
}

func (s *slab) Remove(_ context.Context, records []outbox.Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left -= len(records)
	if s.left == 0 {
		close(s.empty)
	}
	return nil
}

func (s *slab) SetAside(context.Context, outbox.Record, outbox.Refusal) error { return errDisk }
func (s *slab) Wake() <-chan struct{}                                         { return nil }

// broker acknowledges whatever it gets.
type broker struct{ batching outbox.Batching }

func (b broker) Batching() outbox.Batching { return b.batching }

func (b broker) Send(_ context.Context, batch []event.Event) []outbox.Answer {
	answers := make([]outbox.Answer, len(batch))
	for i := range batch {
		answers[i].Ack = outbox.Ack{Kind: outbox.AckPublished, EventID: batch[i].ID}
	}
	return answers
}

// BenchmarkRelay moves 100,000 records of 1 KiB each time. What it reports as
// cpu-ns/record is everything that the process did meanwhile, on all cores,
// garbage collection included.
func BenchmarkRelay(b *testing.B) {
	const records = 100_000
	for _, c := range []struct {
		name     string
		keys     int
		batching outbox.Batching
	}{
		{"batches of 500, each record its own key", records, outbox.Batching{MaxEvents: 500}},
		{"batches of 500, 1000 keys", 1000, outbox.Batching{MaxEvents: 500}},
		{"batches of 500 in order, 1000 keys", 1000, outbox.Batching{MaxEvents: 500, InOrder: true}},
		{"batches of 500 in order, one key", 1, outbox.Batching{MaxEvents: 500, InOrder: true}},
		{"one by one", records, outbox.Batching{}},
	} {
		b.Run(c.name, func(b *testing.B) {
			data := fmt.Appendf(nil, `{"text":%q}`, strings.Repeat("x", 1<<10-len(`{"text":""}`)))
			all := make([]outbox.Record, records)
			for i := range all {
				e := outboxtest.NewEvent(fmt.Sprint(i), fmt.Sprint("wallet-", i%c.keys))
				e.Data = data
				all[i] = outbox.Record{ID: fmt.Sprint(i), Event: e, Added: time.Unix(int64(i), 0)}
			}
			b.ReportAllocs()
			b.ResetTimer()
			before := cpu(b)
			for range b.N {
				drain(b, all, c.batching)
			}
			used := cpu(b) - before
			b.ReportMetric(float64(used)/float64(b.N)/records, "cpu-ns/record")
			b.ReportMetric(float64(b.Elapsed())/float64(b.N)/records, "ns/record")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func drain(b *testing.B, records []outbox.Record, batching outbox.Batching) {
	b.Helper()
	source := &slab{records: records, left: len(records), empty: make(chan struct{})}
	relay, err := outbox.NewRelay(outbox.RelayConfig{
		Source: source, Sender: broker{batching}, AcceptPublished: true, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithCancel(b.Context())
	result := make(chan error, 1)
	go func() { result <- relay.Run(ctx) }()
	select {
	case <-source.empty:
	case err := <-result:
		b.Fatalf("Run ended early: %v", err)
	}
	stop()
	if err := <-result; err != nil {
		b.Fatal(err)
	}
}

// cpu returns how long the process has used a processor.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
