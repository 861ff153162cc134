package outboxtest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/outbox/event"
)

// Source is an [outbox.Source] in memory, which knows its lag and keeps dead
// letters. The zero Source is empty and ready. [LeasedSource] is one whose
// records another relay may take.
//
// Safe for concurrent use, except setting its fields. Do not copy one after its
// first use.
type Source struct {
	// Policy says what becomes of the ordering key of a record that is set
	// aside. [outbox.DefaultPolicy] is [outbox.GoOn]. A dead letter keeps to
	// the policy under which it was set aside.
	Policy outbox.DeadLetterPolicy

	// Positions gives each event its Position: the record's number, from 1.
	Positions bool

	// Now dates records and is the clock of the [outbox.Lag]. Nil: records are
	// dated a second apart, and the clock stands at the newest.
	Now func() time.Time

	mu        sync.Mutex
	added     int
	pending   []*row // by number
	dead      []*row // by number
	aside     []Aside
	discarded []Discarded
	lost      map[string]bool // ordering keys that are another relay's
	faults    map[SourceCall][]error
	wake      chan struct{}
}

// row is one record of a source.
type row struct {
	number int
	record outbox.Record
	out    bool // handed out

	// Of a dead letter.
	why       outbox.Refusal
	asideAt   time.Time
	holdsBack bool
}

// SourceCall names a method of a source.
type SourceCall string

// The calls that can fail.
const (
	Next     SourceCall = "Next"
	Remove   SourceCall = "Remove"
	SetAside SourceCall = "SetAside"
	Lag      SourceCall = "Lag"
	Requeue  SourceCall = "Requeue"
	Discard  SourceCall = "Discard"
)

var _ outbox.LagSource = (*Source)(nil)

// Put adds an event at the end.
func (s *Source) Put(e event.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.added++
	e = e.Clone()
	if s.Positions {
		e.Position = int64(s.added)
	}
	s.pending = append(s.pending, &row{
		number: s.added,
		record: outbox.Record{ID: strconv.Itoa(s.added), Event: e, Added: s.clock()},
	})
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

// Pending returns copies of the pending events, in order, those that are handed
// out or held back included.
func (s *Source) Pending() []event.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	events := make([]event.Event, len(s.pending))
	for i, r := range s.pending {
		events[i] = r.record.Event.Clone()
	}
	return events
}

// Out returns the IDs of the records that are handed out, in order.
func (s *Source) Out() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ids []string
	for _, r := range s.pending {
		if r.out {
			ids = append(ids, r.record.ID)
		}
	}
	return ids
}

// Next hands out pending records, as [outbox.Source] says.
func (s *Source) Next(ctx context.Context, limit int, except map[string]struct{}) ([]outbox.Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.fault(ctx, Next); err != nil {
		return nil, err
	}
	holding := s.holding()
	var records []outbox.Record
	for _, r := range s.pending {
		if len(records) >= limit {
			break
		}
		ordering := r.record.Event.Ordering()
		_, excepted := except[ordering]
		first, held := holding[ordering]
		if excepted || r.out || s.lost[ordering] || held && first < r.number {
			continue
		}
		r.out = true
		record := r.record
		record.Event = record.Event.Clone()
		records = append(records, record)
	}
	return records, nil
}

// Release takes records back, as [outbox.Source] says.
func (s *Source) Release(records []outbox.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, record := range records {
		if r, found := find(s.pending, record.ID); found {
			r.out = false
		}
	}
}

// Remove takes records out, as [outbox.Source] says.
func (s *Source) Remove(ctx context.Context, records []outbox.Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.fault(ctx, Remove); err != nil {
		return err
	}
	var err error
	for _, record := range records {
		if s.lost[record.Event.Ordering()] {
			err = outbox.ErrLeaseLost
			continue
		}
		s.pending, _ = take(s.pending, record.ID)
	}
	return err
}

// SetAside makes a record a dead letter, as [outbox.Source] says.
func (s *Source) SetAside(ctx context.Context, record outbox.Record, why outbox.Refusal) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.fault(ctx, SetAside); err != nil {
		return err
	}
	if s.lost[record.Event.Ordering()] {
		return outbox.ErrLeaseLost
	}
	rest, r := take(s.pending, record.ID)
	if r == nil {
		return nil
	}
	s.pending = rest
	s.bury(r, why)
	return nil
}

// Wake returns the channel that tells of new records.
func (s *Source) Wake() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.channel()
}

// Lag returns the lag, as [outbox.LagSource] says. It is exact.
func (s *Source) Lag(ctx context.Context) (outbox.Lag, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.fault(ctx, Lag); err != nil {
		return outbox.Lag{}, err
	}
	lag := outbox.Lag{
		Pending:     int64(len(s.pending)),
		Exact:       true,
		DeadLetters: int64(len(s.dead)),
		HeldBack:    int64(len(s.holding())),
	}
	if len(s.pending) > 0 {
		lag.Oldest = s.pending[0].record.Added
		lag.Age = s.clock().Sub(lag.Oldest)
	}
	return lag, nil
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

func (s *Source) clock() time.Time {
	if s.Now != nil {
		return s.Now()
	}
	return time.Unix(int64(s.added), 0).UTC()
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

// position returns where the row of an ID stands in rows, or would stand.
func position(rows []*row, id string) (at int, found bool) {
	number, err := strconv.Atoi(id)
	if err != nil {
		return 0, false // not of this source
	}
	return slices.BinarySearchFunc(rows, number, func(r *row, number int) int { return cmp.Compare(r.number, number) })
}

func find(rows []*row, id string) (*row, bool) {
	at, found := position(rows, id)
	if !found {
		return nil, false
	}
	return rows[at], true
}

// take returns rows without the one of an ID, and that one or nil.
func take(rows []*row, id string) ([]*row, *row) {
	at, found := position(rows, id)
	if !found {
		return rows, nil
	}
	r := rows[at]
	return slices.Delete(rows, at, at+1), r
}

// insert returns rows with r at its place.
func insert(rows []*row, r *row) []*row {
	at, _ := position(rows, r.record.ID)
	return slices.Insert(rows, at, r)
}
