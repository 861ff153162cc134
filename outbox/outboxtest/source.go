package outboxtest

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/outbox/event"
)

// Source is an [outbox.Source] in memory. The zero Source is empty and ready.
//
// Safe for concurrent use. Do not copy one after its first use.
type Source struct {
	mu      sync.Mutex
	added   int
	pending []outbox.Record
	aside   []Aside
	faults  map[SourceCall][]error
	wake    chan struct{}
}

// Aside is a record that was set aside.
type Aside struct {
	Record outbox.Record
	Why    outbox.Refusal
}

// SourceCall names a method of a source.
type SourceCall string

// The calls that can fail.
const (
	Next     SourceCall = "Next"
	Remove   SourceCall = "Remove"
	SetAside SourceCall = "SetAside"
)

var _ outbox.Source = (*Source)(nil)

// Put adds an event at the end. Records are dated a second apart.
func (s *Source) Put(e event.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.added++
	s.pending = append(s.pending, outbox.Record{
		ID:    strconv.Itoa(s.added),
		Event: e.Clone(),
		Added: time.Unix(int64(s.added), 0).UTC(),
	})
	s.poke()
}

// Requeue puts the records that were set aside back into line, at their old
// places.
func (s *Source) Requeue() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, aside := range s.aside {
		s.pending = append(s.pending, aside.Record)
	}
	s.aside = nil
	slices.SortFunc(s.pending, func(a, b outbox.Record) int { return a.Added.Compare(b.Added) })
	s.poke()
}

// Fail lets the next calls of a method fail, one for each error, and change
// nothing.
func (s *Source) Fail(call SourceCall, errs ...error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.faults == nil {
		s.faults = make(map[SourceCall][]error)
	}
	s.faults[call] = append(s.faults[call], errs...)
}

// Pending returns copies of the pending events, in order.
func (s *Source) Pending() []event.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	events := make([]event.Event, len(s.pending))
	for i, record := range s.pending {
		events[i] = record.Event.Clone()
	}
	return events
}

// Aside returns what was set aside, in the order in which it was.
func (s *Source) Aside() []Aside {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.aside)
}

// Next returns pending records, as [outbox.Source] says.
func (s *Source) Next(ctx context.Context, limit int, except map[string]struct{}) ([]outbox.Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.fault(ctx, Next); err != nil {
		return nil, err
	}
	var records []outbox.Record
	for _, record := range s.pending {
		if len(records) == limit {
			break
		}
		if _, held := except[record.Event.Ordering()]; held {
			continue
		}
		record.Event = record.Event.Clone()
		records = append(records, record)
	}
	return records, nil
}

// Remove takes records out, as [outbox.Source] says.
func (s *Source) Remove(ctx context.Context, records []outbox.Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.fault(ctx, Remove); err != nil {
		return err
	}
	for _, record := range records {
		s.take(record.ID)
	}
	return nil
}

// SetAside takes a record out of line, as [outbox.Source] says.
func (s *Source) SetAside(ctx context.Context, record outbox.Record, why outbox.Refusal) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.fault(ctx, SetAside); err != nil {
		return err
	}
	if taken, found := s.take(record.ID); found {
		s.aside = append(s.aside, Aside{taken, why})
	}
	return nil
}

// Wake returns the channel that tells of new records.
func (s *Source) Wake() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.channel()
}

// channel is made at its first use, so that a test with a fake clock may
// declare its source anywhere.
func (s *Source) channel() chan struct{} {
	if s.wake == nil {
		s.wake = make(chan struct{}, 1)
	}
	return s.wake
}

func (s *Source) poke() {
	select {
	case s.channel() <- struct{}{}:
	default:
	}
}

func (s *Source) take(id string) (outbox.Record, bool) {
	i := slices.IndexFunc(s.pending, func(r outbox.Record) bool { return r.ID == id })
	if i < 0 {
		return outbox.Record{}, false
	}
	record := s.pending[i]
	s.pending = slices.Delete(s.pending, i, i+1)
	return record, true
}

func (s *Source) fault(ctx context.Context, call SourceCall) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("outboxtest: %s: %w", call, err)
	}
	if errs := s.faults[call]; len(errs) > 0 {
		s.faults[call] = errs[1:]
		return errs[0]
	}
	return nil
}
