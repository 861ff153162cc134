package outbox_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/outbox/outboxtest"
)

// claims is a source in memory that knows what it handed out, and holds the
// relay to it: when Next is called, what is handed out of an ordering key is the
// oldest that it has, without a gap.
type claims struct {
	tb testing.TB

	mu      sync.Mutex
	added   int
	pending []outbox.Record // by the order in which they were put
	out     map[string]bool // by ID
	aside   []outbox.Record
	// holdBack is the policy for what follows a record that is set aside.
	holdBack bool
	// elsewhere is an ordering key that another relay has.
	elsewhere string
	wake      chan struct{}
	// most is the most that was handed out at any time.
	most     int
	released []string // ids of events' keys, in order
	// onNext is called when a Next has chosen its records, and they are not yet
	// with the relay.
	onNext func()
	// onRemove says with which error Remove of some records fails. Nil: none.
	onRemove func(ids []string) error
}

func newClaims(tb testing.TB) *claims {
	tb.Helper()
	return &claims{tb: tb, out: make(map[string]bool), wake: make(chan struct{}, 1)}
}

func (s *claims) put(events ...event.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range events {
		s.added++
		s.pending = append(s.pending, outbox.Record{ID: fmt.Sprint(s.added), Event: e, Added: time.Unix(int64(s.added), 0)})
	}
	s.poke()
}

func (s *claims) poke() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *claims) Wake() <-chan struct{} { return s.wake }

func (s *claims) Next(ctx context.Context, limit int, except map[string]struct{}) ([]outbox.Record, error) {
	records, err := s.choose(ctx, limit, except)
	if s.onNext != nil {
		s.onNext()
	}
	return records, err
}

func (s *claims) choose(ctx context.Context, limit int, except map[string]struct{}) ([]outbox.Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.checkGaps()
	var records []outbox.Record
	for _, record := range s.pending {
		ordering := record.Event.Ordering()
		_, left := except[ordering]
		if len(records) < limit && !left && !s.out[record.ID] && !s.waits(record) && !s.isElsewhere(record) {
			s.out[record.ID] = true
			records = append(records, record)
		}
	}
	s.most = max(s.most, len(s.out))
	return records, nil
}

// waits reports whether a record set aside holds back the given one.
func (s *claims) waits(record outbox.Record) bool {
	return s.holdBack && slices.ContainsFunc(s.aside, func(before outbox.Record) bool {
		return before.Event.Ordering() == record.Event.Ordering() && before.Added.Before(record.Added)
	})
}

func (s *claims) isElsewhere(record outbox.Record) bool {
	return s.elsewhere != "" && record.Event.OrderingKey == s.elsewhere
}

// checkGaps fails the test where a record is handed out and an older one of its
// ordering key is not.
func (s *claims) checkGaps() {
	gaps := make(map[string]string)
	for _, record := range s.pending {
		ordering := record.Event.Ordering()
		switch {
		case !s.out[record.ID] && gaps[ordering] == "":
			gaps[ordering] = record.ID
		case s.out[record.ID] && gaps[ordering] != "":
			s.tb.Errorf("record %s is at hand though record %s before it in %s was released", record.ID, gaps[ordering], ordering)
		}
	}
}

func (s *claims) Remove(_ context.Context, records []outbox.Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := make([]string, 0, len(records))
	for _, record := range records {
		ids = append(ids, record.Event.Key.ID)
	}
	if s.onRemove != nil {
		if err := s.onRemove(ids); err != nil {
			return err
		}
	}
	if slices.ContainsFunc(records, func(r outbox.Record) bool { return !s.out[r.ID] }) {
		return outbox.ErrLeaseLost
	}
	for _, record := range records {
		s.take(record.ID)
	}
	return nil
}

func (s *claims) SetAside(_ context.Context, record outbox.Record, _ outbox.Refusal) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.out[record.ID] {
		return outbox.ErrLeaseLost
	}
	s.take(record.ID)
	s.aside = append(s.aside, record)
	return nil
}

func (s *claims) take(id string) {
	s.pending = slices.DeleteFunc(s.pending, func(r outbox.Record) bool { return r.ID == id })
	delete(s.out, id)
}

func (s *claims) Release(records []outbox.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, record := range records {
		s.released = append(s.released, record.Event.Key.ID)
		delete(s.out, record.ID)
	}
}

// lose takes all that is handed out of an ordering key away from the relay, and
// lets it be handed out again at once.
func (s *claims) lose(orderingKey string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, record := range s.pending {
		if record.Event.OrderingKey == orderingKey {
			delete(s.out, record.ID)
		}
	}
	s.poke()
}

// moveAway loses an ordering key to another relay, until moveBack.
func (s *claims) moveAway(orderingKey string) {
	s.lose(orderingKey)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.elsewhere = orderingKey
}

func (s *claims) moveBack() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.elsewhere = ""
	s.poke()
}

func (s *claims) has(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out[id]
}

// left returns the ids of the keys of what is pending, and how many of them are
// handed out.
func (s *claims) left() (ids []string, out int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids = []string{}
	for _, record := range s.pending {
		ids = append(ids, record.Event.Key.ID)
	}
	return ids, len(s.out)
}

// leasing is a source whose records are a relay's for a time.
type leasing struct {
	*claims
	// until says when a lease that begins now ends.
	until func() time.Time
	// onLease is called at the start of each Lease.
	onLease func()
	mu      sync.Mutex
	open    int   // leases that are not done
	during  []int // how many were open at each Release
}

func (s *leasing) Release(records []outbox.Record) {
	s.mu.Lock()
	s.during = append(s.during, s.open)
	s.mu.Unlock()
	s.claims.Release(records)
}

func (s *leasing) Lease(records []outbox.Record) ([]outbox.Record, time.Time, func()) {
	if s.onLease != nil {
		s.onLease()
	}
	leased := slices.DeleteFunc(slices.Clone(records), func(r outbox.Record) bool { return !s.has(r.ID) })
	s.add(1)
	return leased, s.until(), func() { s.add(-1) }
}

func (s *leasing) add(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open += n
}

func (s *leasing) leases() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open
}

// courier is a sender that takes batches to a destination with faults.
type courier struct {
	*outboxtest.Sender
	batching outbox.Batching
	// before is called at the start of each call.
	before func(ctx context.Context)

	mu    sync.Mutex
	calls [][]string // ids of the events' keys
	out   map[string]int
	mixed int // calls that broke a promise of the relay's about ordering keys
}

func (c *courier) Batching() outbox.Batching { return c.batching }

func (c *courier) Send(ctx context.Context, batch []event.Event) []outbox.Answer {
	c.enter(batch)
	defer c.leave(batch)
	if c.before != nil {
		c.before(ctx)
	}
	failed := make(map[string]bool)
	answers := make([]outbox.Answer, 0, len(batch))
	for _, e := range batch {
		if c.batching.InOrder && failed[e.Ordering()] {
			answers = append(answers, outbox.Answer{Err: outboxtest.ErrUnavailable})
			continue
		}
		got := c.Sender.Send(ctx, []event.Event{e})
		failed[e.Ordering()] = len(got) != 1 || got[0].Err != nil || got[0].Ack.Kind != outbox.AckReceipt
		answers = append(answers, got...)
	}
	return answers
}

// enter notes a call, and whether it has an ordering key that is out, or twice.
func (c *courier) enter(batch []event.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var ids []string
	inCall := make(map[string]bool)
	if c.out == nil {
		c.out = make(map[string]int)
	}
	for _, e := range batch {
		ordering := e.Ordering()
		ids = append(ids, e.Key.ID)
		if c.out[ordering] > 0 && !inCall[ordering] || inCall[ordering] && !c.batching.InOrder {
			c.mixed++
		}
		inCall[ordering] = true
		c.out[ordering]++
	}
	if len(batch) > max(1, c.batching.MaxEvents) {
		c.mixed++
	}
	c.calls = append(c.calls, ids)
}

func (c *courier) leave(batch []event.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range batch {
		c.out[e.Ordering()]--
	}
}

// sent returns the ids of the events' keys by call.
func (c *courier) sent() [][]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.calls)
}

func (c *courier) wantKeysApart(tb testing.TB) {
	tb.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mixed != 0 {
		tb.Errorf("%d times an ordering key was out twice, or a call was too large", c.mixed)
	}
}
