package outboxtest

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/outbox/event"
)

// SourceSubject is a source under test with the other ends of it.
type SourceSubject struct {
	// Source is empty at first.
	Source outbox.Source
	// Put makes an event pending, at the end.
	Put func(ctx context.Context, e event.Event) error
	// Aside returns the reasons of the records that were set aside.
	Aside func(ctx context.Context) ([]string, error)
	// Reopen ends the source without further ado and returns one that has
	// what it kept. Nil: the source keeps nothing.
	Reopen func(tb testing.TB) SourceSubject
}

// TestSource checks that what open returns keeps the contract of
// [outbox.Source]. open is called once a case, and must clean up by itself.
func TestSource(t *testing.T, open func(tb testing.TB) SourceSubject) {
	t.Helper()
	for _, c := range []struct {
		name string
		// why is the rule of the contract.
		why string
		run func(t *testing.T, s SourceSubject)
	}{
		{"empty", "Nothing pending is an empty answer, not an error.", testSourceEmpty},
		{"order", "Next returns the oldest first, whole and unchanged, and again until removed.", testSourceOrder},
		{"limit", "Next returns at most limit records, from the oldest on.", testSourceLimit},
		{"except", "Next leaves out the ordering keys in except and no others.", testSourceExcept},
		{"ordering", "An event without an ordering key is ordered by its key.", testSourceOwnOrdering},
		{"remove", "A removed record is not returned; removing it again is no error.", testSourceRemove},
		{"remove several", "Remove takes out all that it is given.", testSourceRemoveSeveral},
		{"set aside", "A record set aside is kept with its reason and left out.", testSourceSetAside},
		{"set aside after remove", "Setting aside what is gone is no error and keeps nothing.", testSourceSetAsideGone},
		{"wake", "Wake returns one channel, which delivers a value after a record has become pending.", testSourceWake},
		{"owned", "The events that Next returned belong to the caller.", testSourceOwned},
		{"cancelled", "Next heeds its context.", testSourceCancelled},
		{"concurrent", "A source is safe for concurrent use.", testSourceConcurrent},
		{"reopen", "What is pending or set aside outlives the source.", testSourceReopen},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Log(c.why)
			c.run(t, open(t))
		})
	}
}

func testSourceEmpty(t *testing.T, s SourceSubject) {
	t.Helper()
	wantNext(t, s, 10, nil)
}

func testSourceOrder(t *testing.T, s SourceSubject) {
	t.Helper()
	events := putAll(t, s, "b/x", "a/y", "c/x")
	full := events[1]
	full.Subject, full.DataSchema = "subject", "https://example.com/schema"
	full.Extensions = map[string]any{"flag": true, "number": int32(7), "text": "über"}
	full.Key.ID, full.ID = "full", "full"
	mustPut(t, s, full)
	events = append(events, full)
	wantNext(t, s, 10, nil, events...)
	wantNext(t, s, 10, nil, events...)
}

func testSourceLimit(t *testing.T, s SourceSubject) {
	t.Helper()
	events := putAll(t, s, "a/x", "b/x", "c/y", "d/z")
	wantNext(t, s, 3, nil, events[:3]...)
	wantNext(t, s, 1, nil, events[0])
	wantNext(t, s, 1, lines("x"), events[2])
}

func testSourceExcept(t *testing.T, s SourceSubject) {
	t.Helper()
	events := putAll(t, s, "a/x", "b/y", "c/x", "d/z")
	wantNext(t, s, 10, lines("x"), events[1], events[3])
	wantNext(t, s, 10, lines("x", "z", "nobody"), events[1])
	wantNext(t, s, 10, lines("x", "y", "z"))
	wantNext(t, s, 10, nil, events...)
}

func testSourceOwnOrdering(t *testing.T, s SourceSubject) {
	t.Helper()
	events := putAll(t, s, "a/", "b/")
	wantNext(t, s, 10, []string{events[0].Ordering()}, events[1])
}

func testSourceRemove(t *testing.T, s SourceSubject) {
	t.Helper()
	events := putAll(t, s, "a/x", "b/x")
	records := next(t, s, 10, nil)
	for range 2 {
		if err := s.Source.Remove(t.Context(), records[:1]); err != nil {
			t.Fatalf("Remove: %v", err)
		}
		wantNext(t, s, 10, nil, events[1])
	}
}

func testSourceRemoveSeveral(t *testing.T, s SourceSubject) {
	t.Helper()
	events := putAll(t, s, "a/x", "b/y", "c/x")
	records := next(t, s, 10, nil)
	if err := s.Source.Remove(t.Context(), []outbox.Record{records[0], records[2]}); err != nil {
		t.Fatalf("Remove: %v", err)
	}
	wantNext(t, s, 10, nil, events[1])
}

func testSourceSetAside(t *testing.T, s SourceSubject) {
	t.Helper()
	events := putAll(t, s, "a/x", "b/y")
	records := next(t, s, 10, nil)
	if err := s.Source.SetAside(t.Context(), records[0], outbox.Refusal{Reason: "unknown room", Attempts: 3}); err != nil {
		t.Fatalf("SetAside: %v", err)
	}
	wantNext(t, s, 10, nil, events[1])
	wantAside(t, s, "unknown room")
}

func testSourceSetAsideGone(t *testing.T, s SourceSubject) {
	t.Helper()
	putAll(t, s, "a/x")
	records := next(t, s, 10, nil)
	if err := s.Source.Remove(t.Context(), records); err != nil {
		t.Fatalf("Remove: %v", err)
	}
	if err := s.Source.SetAside(t.Context(), records[0], outbox.Refusal{Reason: "too late"}); err != nil {
		t.Fatalf("SetAside: %v", err)
	}
	wantAside(t, s)
}

func testSourceWake(t *testing.T, s SourceSubject) {
	t.Helper()
	if wake := s.Source.Wake(); wake != s.Source.Wake() {
		t.Fatal("Wake returned two channels")
	}
	select { // A source may have woken us for nothing.
	case <-s.Source.Wake():
	default:
	}
	putAll(t, s, "a/x")
	select {
	case <-s.Source.Wake():
	case <-t.Context().Done():
		t.Fatal("Wake delivered nothing")
	}
}

func testSourceOwned(t *testing.T, s SourceSubject) {
	t.Helper()
	events := putAll(t, s, "a/x")
	records := next(t, s, 10, nil)
	records[0].Event.Data[0] = 'X'
	records[0].Event.Key = event.Key{}
	wantNext(t, s, 10, nil, events...)
}

func testSourceCancelled(t *testing.T, s SourceSubject) {
	t.Helper()
	putAll(t, s, "a/x")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if records, err := s.Source.Next(ctx, 1, nil); err == nil {
		t.Fatalf("Next under a cancelled context returned %d records and no error", len(records))
	}
}

func testSourceConcurrent(t *testing.T, s SourceSubject) {
	t.Helper()
	events := putAll(t, s, "a/u", "b/v", "c/w", "d/x", "e/y", "f/z")
	records := next(t, s, 10, nil)
	if len(records) != len(events) {
		t.Fatalf("Next returned %d records, want %d", len(records), len(events))
	}
	var group sync.WaitGroup
	for _, record := range records[1:] {
		group.Go(func() {
			if err := s.Source.Remove(t.Context(), []outbox.Record{record}); err != nil {
				t.Errorf("Remove: %v", err)
			}
		})
		group.Go(func() {
			found, err := s.Source.Next(t.Context(), 10, nil)
			if err != nil || len(found) == 0 || found[0].ID != records[0].ID {
				t.Errorf("Next beside Remove returned %d records and %v, want the oldest first", len(found), err)
			}
		})
	}
	group.Wait()
	wantNext(t, s, 10, nil, events[0])
}

func testSourceReopen(t *testing.T, s SourceSubject) {
	t.Helper()
	if s.Reopen == nil {
		t.Log("the subject keeps nothing, and says so")
		return
	}
	events := putAll(t, s, "a/x", "b/y", "c/x")
	records := next(t, s, 10, nil)
	if err := s.Source.SetAside(t.Context(), records[1], outbox.Refusal{Reason: "refused"}); err != nil {
		t.Fatalf("SetAside: %v", err)
	}
	s = s.Reopen(t)
	wantNext(t, s, 10, nil, events[0], events[2])
	wantAside(t, s, "refused")
	wantNext(t, s, 10, nil, append([]event.Event{events[0], events[2]}, putAll(t, s, "d/x")...)...)
}

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

func wantNext(t *testing.T, s SourceSubject, limit int, except []string, want ...event.Event) {
	t.Helper()
	records := next(t, s, limit, except)
	got := make([]event.Event, len(records))
	for i, record := range records {
		got[i] = record.Event
	}
	if diff := cmp.Diff(texts(want), texts(got)); diff != "" {
		t.Errorf("Next(%d, except %q) (-want +got):\n%s", limit, except, diff)
	}
	for i := 1; i < len(records); i++ {
		if records[i].Added.Before(records[i-1].Added) {
			t.Errorf("record %d was added at %v, before the one that it follows, at %v", i, records[i].Added, records[i-1].Added)
		}
	}
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

func wantAside(t *testing.T, s SourceSubject, want ...string) {
	t.Helper()
	got, err := s.Aside(t.Context())
	if err != nil {
		t.Fatalf("listing what was set aside: %v", err)
	}
	if diff := cmp.Diff(append([]string{}, want...), append([]string{}, got...)); diff != "" {
		t.Errorf("set aside (-want +got):\n%s", diff)
	}
}
