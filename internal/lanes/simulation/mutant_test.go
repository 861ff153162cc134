package simulation_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/settleonce/settleonce/internal/lanes"
	"github.com/settleonce/settleonce/internal/lanes/lanestest"
	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/outbox/event"
)

// within is how many schedules a mutant may survive. The rarest is found by one
// in some hundred: a write must be on its way while its lane is lost.
const within = 1000

// mutant is a fault, and what the simulation must say of it.
type mutant struct {
	name     string
	says     string
	mutation mutation
}

func mutants() []mutant {
	return []mutant{
		{"no epoch check", "whose lane is held by", mutation{table: withoutEpochCheck}},
		{"no ordering locks", "delivers position", mutation{memory: func(cfg *lanestest.MemoryConfig) { cfg.NoOrderingLocks = true }}},
		{"open transactions not looked at", "delivers position", mutation{table: func(_ *world, t lanes.Table) lanes.Table { return blind{t} }}},
		{"a table that forgets deletions", "had delivered and removed", mutation{table: func(_ *world, t lanes.Table) lanes.Table { return keeping{t} }}},
		{"lease let go of before the acknowledgement", "gives up the lane", mutation{source: func(s outbox.LeasedSource) outbox.LeasedSource { return earlyDone{s} }}},
		{"no lease asked for", "it lost the lane before the call", mutation{source: func(s outbox.LeasedSource) outbox.LeasedSource { return unleased{s} }}},
		{"wall clock alone", "it lost the lane before the call", mutation{clock: func(c lanes.Clock) lanes.Clock { return wallAlone{c, c.Now()} }}},
		{"monotonic clock alone", "it lost the lane before the call", mutation{clock: func(c lanes.Clock) lanes.Clock { return monotonicAlone{c, c.Now()} }}},
		{"later ones of released records handed out first", "delivers position", mutation{source: func(s outbox.LeasedSource) outbox.LeasedSource { return &disorder{LeasedSource: s} }}},
		{"records lost", "is lost", mutation{source: func(s outbox.LeasedSource) outbox.LeasedSource { return &lossy{LeasedSource: s} }}},
		{"acknowledgements forgotten", "which was acknowledged to it", mutation{source: func(s outbox.LeasedSource) outbox.LeasedSource { return forgetful{s} }}},
		{"delivered events buried", "buries", mutation{source: func(s outbox.LeasedSource) outbox.LeasedSource { return burying{s} }}},
		{"dead letters that hold nothing back", "delivers position", mutation{lanes: func(cfg *lanes.Config) { cfg.HoldBack = false }}},
		{"rests ignored", "after a failure", mutation{sender: func(s outbox.Sender) outbox.Sender { return insistent{s} }}},
		{"acknowledgements forged", "which was not delivered", mutation{sender: func(outbox.Sender) outbox.Sender { return forger{} }}},
		{"calls made twice at once", "while another of its calls", mutation{sender: func(s outbox.Sender) outbox.Sender { return hedging{s} }}},
		{"an order declared that is none", "two events of", mutation{declaresOrder: true}},
		{"a destination that breaks the order", "delivers position", mutation{breaksOrder: true}},
		{"every event delivered twice", "for no reason", mutation{deliversTwice: true}},
	}
}

// TestMutants puts one fault at a time between parts that are right, and wants
// the check to notice it whose matter it is.
func TestMutants(t *testing.T) {
	t.Parallel()
	for _, m := range mutants() {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			for seed := uint64(1); seed <= within; seed++ {
				if err := simulate(t, seed, &m.mutation, newTally(), nil); err != nil && strings.Contains(err.Error(), m.says) {
					t.Logf("found by seed %d: %.200v", seed, err)
					return
				}
			}
			t.Errorf("none of %d schedules says that somebody %q", within, m.says)
		})
	}
}

// forging is a table that does by a fresh membership what it does not do by the
// one that it is asked by.
type forging struct {
	lanes.Table
	memory *lanestest.Memory
}

func withoutEpochCheck(w *world, table lanes.Table) lanes.Table { return forging{table, w.memory} }

func (f forging) forge(ctx context.Context, err error, write func(lanes.Ticket) error) error {
	if !errors.Is(err, lanes.ErrFenced) {
		return err
	}
	ticket, err := f.memory.Join(ctx, lease)
	if err != nil {
		return err
	}
	return errors.Join(write(ticket), f.memory.Leave(ctx, ticket))
}

func (f forging) Delete(ctx context.Context, t lanes.Ticket, positions []int64) error {
	return f.forge(ctx, f.Table.Delete(ctx, t, positions), func(t lanes.Ticket) error {
		return f.memory.Delete(ctx, t, positions)
	})
}

func (f forging) Bury(ctx context.Context, t lanes.Ticket, position int64, why outbox.Refusal, holdBack bool) error {
	return f.forge(ctx, f.Table.Bury(ctx, t, position, why, holdBack), func(t lanes.Ticket) error {
		return f.memory.Bury(ctx, t, position, why, holdBack)
	})
}

// blind is a table that knows of no open transaction.
type blind struct{ lanes.Table }

func (b blind) Read(ctx context.Context, of []lanes.Lane, after int64, limit int, into []lanes.Row) ([]lanes.Row, []uint64, error) {
	rows, _, err := b.Table.Read(ctx, of, after, limit, into)
	return rows, nil, err
}

// keeping is a table that says that it has deleted what it has not.
type keeping struct{ lanes.Table }

func (keeping) Delete(context.Context, lanes.Ticket, []int64) error { return nil }

// earlyDone is a source that is told at once that a call is over.
type earlyDone struct{ outbox.LeasedSource }

func (s earlyDone) Lease(records []outbox.Record) ([]outbox.Record, time.Time, func()) {
	leased, until, done := s.LeasedSource.Lease(records)
	done()
	return leased, until, func() {}
}

// unleased is a source that lets everything be sent.
type unleased struct{ outbox.LeasedSource }

func (s unleased) Lease(records []outbox.Record) ([]outbox.Record, time.Time, func()) {
	_, _, done := s.LeasedSource.Lease(records)
	return records, time.Now().Add(time.Hour), done
}

// wallAlone is a clock whose monotonic part follows the wall clock.
type wallAlone struct {
	lanes.Clock
	start lanes.Instant
}

func (c wallAlone) Now() lanes.Instant {
	now := c.Clock.Now()
	return lanes.Instant{Wall: now.Wall, Monotonic: c.start.Monotonic + now.Wall.Sub(c.start.Wall)}
}

// monotonicAlone is a clock whose wall part follows the monotonic clock.
type monotonicAlone struct {
	lanes.Clock
	start lanes.Instant
}

func (c monotonicAlone) Now() lanes.Instant {
	now := c.Clock.Now()
	return lanes.Instant{Wall: c.start.Wall.Add(now.Monotonic - c.start.Monotonic), Monotonic: now.Monotonic}
}

// disorder is a source that gets the first of several released records back
// only after it has handed out those behind it.
type disorder struct {
	outbox.LeasedSource
	mu   sync.Mutex
	kept []outbox.Record
}

func (s *disorder) Release(records []outbox.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(records) > 1 && len(s.kept) == 0 && records[0].Event.Ordering() == records[1].Event.Ordering() {
		s.kept, records = records[:1:1], records[1:]
	}
	s.LeasedSource.Release(records)
}

func (s *disorder) Next(ctx context.Context, limit int, except map[string]struct{}) ([]outbox.Record, error) {
	records, err := s.LeasedSource.Next(ctx, limit, except)
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(records) > 0 {
		s.LeasedSource.Release(s.kept)
		s.kept = nil
	}
	return records, err
}

// insistent is a sender that sends again at once what failed.
type insistent struct{ outbox.Sender }

func (s insistent) Send(ctx context.Context, batch []event.Event) []outbox.Answer {
	answers := s.Sender.Send(ctx, batch)
	for i := range answers {
		if answers[i].Err != nil && ctx.Err() == nil {
			return s.Sender.Send(ctx, batch)
		}
	}
	return answers
}

// forgetful is a source that says that it has removed what it has not.
type forgetful struct{ outbox.LeasedSource }

func (s forgetful) Remove(_ context.Context, records []outbox.Record) error {
	s.Release(records)
	return nil
}

// lossy is a source that loses a record in ten.
type lossy struct {
	outbox.LeasedSource
	handedOut int
}

func (s *lossy) Next(ctx context.Context, limit int, except map[string]struct{}) ([]outbox.Record, error) {
	records, err := s.LeasedSource.Next(ctx, limit, except)
	var kept []outbox.Record
	for _, record := range records {
		s.handedOut++
		if s.handedOut%10 > 0 {
			kept = append(kept, record)
		}
	}
	return kept, err
}

// burying is a source that makes dead letters of what was delivered.
type burying struct{ outbox.LeasedSource }

func (s burying) Remove(ctx context.Context, records []outbox.Record) error {
	var errs []error
	for _, record := range records {
		errs = append(errs, s.SetAside(ctx, record, outbox.Refusal{Reason: "delivered"}))
	}
	return errors.Join(errs...)
}

// forger is a sender that answers for a destination that it never asked.
type forger struct{}

func (forger) Send(_ context.Context, batch []event.Event) []outbox.Answer {
	answers := make([]outbox.Answer, len(batch))
	for i := range batch {
		answers[i].Ack = outbox.Ack{Kind: outbox.AckReceipt, Key: batch[i].Key, Fingerprint: batch[i].Fingerprint}
	}
	return answers
}

// hedging is a sender that makes each call twice, to have the faster answer.
type hedging struct{ outbox.Sender }

func (s hedging) Send(ctx context.Context, batch []event.Event) []outbox.Answer {
	first := make(chan []outbox.Answer, 2)
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() { first <- s.Sender.Send(ctx, batch) })
	}
	both.Wait()
	return <-first
}
