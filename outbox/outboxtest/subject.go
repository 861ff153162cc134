package outboxtest

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/outbox/event"
)

// patience is how long the suite waits for a source that hands out too little.
// It decides nothing: it ends a test that has failed.
const patience = 10 * time.Second

// lines returns the lines of ordering keys, as Next knows them.
func lines(orderingKeys ...string) []string {
	names := make([]string, len(orderingKeys))
	for i, key := range orderingKeys {
		e := NewEvent("any", key)
		names[i] = e.Ordering()
	}
	return names
}

// putAll puts events that are named "id/ordering".
func putAll(t *testing.T, s SourceSubject, names ...string) []event.Event {
	t.Helper()
	events := make([]event.Event, len(names))
	for i, name := range names {
		events[i] = NewEvent(name[:1], name[2:])
		mustPut(t, s, events[i])
	}
	return events
}

func mustPut(t *testing.T, s SourceSubject, e event.Event) {
	t.Helper()
	if err := s.Put(t.Context(), e.Clone()); err != nil {
		t.Fatalf("Put %s: %v", e.Key, err)
	}
}

// settle tells a source what became of records, under a lease where it gives
// leases.
func settle(s SourceSubject, records []outbox.Record, tell func() error) error {
	if source, ok := s.Source.(outbox.LeasedSource); ok {
		_, _, done := source.Lease(records)
		defer done()
	}
	return tell()
}

func remove(t *testing.T, s SourceSubject, records []outbox.Record) {
	t.Helper()
	if err := settle(s, records, func() error { return s.Source.Remove(t.Context(), records) }); err != nil {
		t.Fatalf("Remove: %v", err)
	}
}

func setAside(t *testing.T, s SourceSubject, record outbox.Record, why outbox.Refusal) {
	t.Helper()
	if err := settle(s, []outbox.Record{record}, func() error { return s.Source.SetAside(t.Context(), record, why) }); err != nil {
		t.Fatalf("SetAside: %v", err)
	}
}

// wakes waits for the source's Wake. It reports false if there was none in all
// patience.
func wakes(s SourceSubject) bool {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-s.Source.Wake():
		return true
	case <-timer.C:
		return false
	}
}

// wantWake checks that what happens wakes whoever waits for records.
func wantWake(t *testing.T, s SourceSubject, happen func()) {
	t.Helper()
	select { // A source may have woken us for nothing.
	case <-s.Source.Wake():
	default:
	}
	happen()
	if !wakes(s) {
		t.Fatalf("Wake delivered nothing in %s", patience)
	}
}

// wantNext asks for records until the source has handed out as many as wanted,
// or others, and compares. It returns them.
func wantNext(t *testing.T, s SourceSubject, limit int, except []string, want ...event.Event) []outbox.Record {
	t.Helper()
	records := next(t, s, limit, except)
	enough := time.NewTimer(patience)
	defer enough.Stop()
	for len(records) < len(want) && slices.Equal(texts(want[:len(records)]), texts(eventsOf(s, records))) {
		select {
		case <-s.Source.Wake():
		case <-enough.C:
			wantRecords(t, s, records, want...)
			t.Fatalf("no further record in %s", patience)
		}
		records = append(records, next(t, s, limit-len(records), except)...)
	}
	wantRecords(t, s, records, want...)
	if len(records) != len(want) {
		t.FailNow() // The case goes on with what it has been handed out.
	}
	return records
}

func next(t *testing.T, s SourceSubject, limit int, except []string) []outbox.Record {
	t.Helper()
	held := make(map[string]struct{})
	for _, line := range except {
		held[line] = struct{}{}
	}
	before := maps.Clone(held)
	records, err := s.Source.Next(t.Context(), limit, held)
	if err != nil {
		t.Fatalf("Next: %v", err)
	}
	if diff := cmp.Diff(before, held); diff != "" {
		t.Errorf("Next changed except (-before +after):\n%s", diff)
	}
	return records
}

// wantRecords compares records that were handed out together.
func wantRecords(t *testing.T, s SourceSubject, records []outbox.Record, want ...event.Event) {
	t.Helper()
	if diff := cmp.Diff(texts(want), texts(eventsOf(s, records))); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	last := make(map[string]int64)
	for i, record := range records {
		if i > 0 && record.Added.Before(records[i-1].Added) {
			t.Errorf("record %d was added at %v, before the one that it follows, at %v", i, record.Added, records[i-1].Added)
		}
		ordering := record.Event.Ordering()
		if s.Positions && record.Event.Position <= last[ordering] {
			t.Errorf("record %d has position %d, after %d in its ordering key", i, record.Event.Position, last[ordering])
		}
		last[ordering] = record.Event.Position
	}
}

func positions(records []outbox.Record) []int64 {
	positions := make([]int64, len(records))
	for i, record := range records {
		positions[i] = record.Event.Position
	}
	return positions
}

// eventsOf returns the events of records as they were put.
func eventsOf(s SourceSubject, records []outbox.Record) []event.Event {
	events := make([]event.Event, len(records))
	for i, record := range records {
		events[i] = record.Event
	}
	return withoutPositions(s, events)
}

// withoutPositions returns events without the positions that the subject gives
// them.
func withoutPositions(s SourceSubject, events []event.Event) []event.Event {
	if !s.Positions {
		return events
	}
	events = slices.Clone(events)
	for i := range events {
		events[i].Position = 0
	}
	return events
}

// texts returns the events as JSON, which is what must not change.
func texts(events []event.Event) []string {
	texts := make([]string, len(events))
	for i, e := range events {
		text, err := e.MarshalJSON()
		if err != nil {
			text = fmt.Append(nil, err)
		}
		texts[i] = string(text)
	}
	return texts
}
