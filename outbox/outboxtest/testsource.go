package outboxtest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/outbox/event"
)

// SourceSubject is a source under test with the other ends of it. What the
// source can do beyond an [outbox.Source] (outbox.LeasedSource,
// outbox.LagSource, outbox.DeadLetters) is checked where it does it.
type SourceSubject struct {
	// Source is empty at first.
	Source outbox.Source
	// Put makes an event pending, at the end. When it has returned, the next
	// call of Next hands the event out, whatever connection or process it went
	// through.
	Put func(ctx context.Context, e event.Event) error
	// Policy is the source's: [outbox.HoldBack] or [outbox.GoOn]. Required
	// where the source is an [outbox.DeadLetters].
	Policy outbox.DeadLetterPolicy
	// Positions says that the source gives events their Position.
	Positions bool
	// Reopen ends the source, with records handed out, and returns one that
	// has what it kept and shares it with nobody. Nil: the source keeps
	// nothing.
	Reopen func(tb testing.TB) SourceSubject
	// TakeLeases makes everything that the source has another relay's, as
	// happens when its time is up, and returns what ends that other relay,
	// which gives nothing back before.
	// Required where the source is an [outbox.LeasedSource], else nil.
	TakeLeases func(tb testing.TB) (giveBack func())
}

// sourceCase is one rule of a source's contract.
type sourceCase struct {
	name string
	// why is the rule.
	why string
	run func(t *testing.T, s SourceSubject)
}

// TestSource checks that what open returns keeps the contract of
// [outbox.Source], and of what else it is. open is called once a case, and must
// clean up by itself.
//
// What becomes pending by other means than Put (a requeue, a reopening, a lease
// that comes back) may take the source a while: the suite then waits for its
// Wake.
func TestSource(t *testing.T, open func(tb testing.TB) SourceSubject) {
	t.Helper()
	cases := []sourceCase{
		{"empty", "Nothing pending is an empty answer, not an error.", testSourceEmpty},
		{"order", "Next hands out the oldest first, whole and unchanged, and each once.", testSourceOrder},
		{"later", "What is put later follows what was handed out before.", testSourceLater},
		{"limit", "Next hands out at most limit records, from the oldest on.", testSourceLimit},
		{"except", "Next leaves out the ordering keys in except and no others.", testSourceExcept},
		{"ordering", "An event without an ordering key is ordered by its key.", testSourceOwnOrdering},
		{"positions", "Positions rise strictly within an ordering key and never change.", testSourcePositions},
		{"remove", "A removed record is gone, released or not; removing it again is no error.", testSourceRemove},
		{"remove several", "Remove takes out all that it is given.", testSourceRemoveSeveral},
		{"wake", "Wake returns one channel, which delivers a value after a record has become pending.", testSourceWake},
		{"owned", "The events that Next hands out belong to the caller.", testSourceOwned},
		{"cancelled", "Next heeds its context.", testSourceCancelled},
		{"concurrent", "A source is safe for concurrent use, and hands each record to one caller.", testSourceConcurrent},
		{"reopen", "What is pending outlives the source, and nothing is handed out at first.", testSourceReopen},
	}
	for _, more := range [][]sourceCase{releaseCases(), deadLetterCases(), lagCases(), leaseCases()} {
		cases = append(cases, more...)
	}
	for _, c := range cases {
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
	full := events[1].Clone()
	full.Subject, full.DataSchema = "subject", "https://example.com/schema"
	full.Time = time.Date(2026, 1, 31, 15, 4, 5, 123456000, time.UTC)
	full.Extensions = map[string]any{"flag": true, "number": int32(7), "text": "über"}
	full.Key.ID, full.ID = "full", "full"
	bare := NewEvent("bare", "y")
	bare.Data = nil
	binary := NewEvent("binary", "y")
	binary.DataContentType, binary.Data = "application/octet-stream", []byte{0, 0xff, '\n'}
	for _, e := range []event.Event{full, bare, binary} {
		mustPut(t, s, e)
		events = append(events, e)
	}
	wantNext(t, s, 10, nil, events...)
	wantNext(t, s, 10, nil)
}

func testSourceLater(t *testing.T, s SourceSubject) {
	t.Helper()
	for _, name := range []string{"a/x", "b/x", "c/y"} {
		wantNext(t, s, 10, nil, putAll(t, s, name)...)
	}
}

func testSourceLimit(t *testing.T, s SourceSubject) {
	t.Helper()
	events := putAll(t, s, "a/x", "b/x", "c/y", "d/z", "e/x")
	wantNext(t, s, 3, nil, events[:3]...)
	wantNext(t, s, 1, nil, events[3])
	wantNext(t, s, 1, nil, events[4])
}

func testSourceExcept(t *testing.T, s SourceSubject) {
	t.Helper()
	events := putAll(t, s, "a/x", "b/y", "c/x", "d/z")
	wantNext(t, s, 10, lines("x", "y", "z"))
	wantNext(t, s, 10, lines("x", "z", "nobody"), events[1])
	wantNext(t, s, 1, lines("x"), events[3])
	wantNext(t, s, 10, nil, events[0], events[2])
}

func testSourceOwnOrdering(t *testing.T, s SourceSubject) {
	t.Helper()
	events := putAll(t, s, "a/", "b/")
	wantNext(t, s, 10, []string{events[0].Ordering()}, events[1])
}

func testSourcePositions(t *testing.T, s SourceSubject) {
	t.Helper()
	if !s.Positions {
		t.Log("the subject knows no positions, and says so")
		return
	}
	events := putAll(t, s, "a/x", "b/y", "c/x", "d/x")
	first := wantNext(t, s, 10, nil, events...)
	s.Source.Release(first)
	second := wantNext(t, s, 10, nil, events...)
	if diff := cmp.Diff(positions(first), positions(second)); diff != "" {
		t.Errorf("positions, handed out again (-first +second):\n%s", diff)
	}
}

func testSourceRemove(t *testing.T, s SourceSubject) {
	t.Helper()
	events := putAll(t, s, "a/x", "b/x")
	records := wantNext(t, s, 10, nil, events...)
	for range 2 {
		remove(t, s, records[:1])
		s.Source.Release(records[1:])
		wantNext(t, s, 10, nil, events[1])
	}
}

func testSourceRemoveSeveral(t *testing.T, s SourceSubject) {
	t.Helper()
	events := putAll(t, s, "a/x", "b/y", "c/x")
	records := wantNext(t, s, 10, nil, events...)
	remove(t, s, []outbox.Record{records[0], records[2]})
	s.Source.Release(records)
	wantNext(t, s, 10, nil, events[1])
}

func testSourceWake(t *testing.T, s SourceSubject) {
	t.Helper()
	if wake := s.Source.Wake(); wake != s.Source.Wake() {
		t.Fatal("Wake returned two channels")
	}
	var events []event.Event
	wantWake(t, s, func() { events = putAll(t, s, "a/x") })
	wantNext(t, s, 10, nil, events...)
}

func testSourceOwned(t *testing.T, s SourceSubject) {
	t.Helper()
	events := putAll(t, s, "a/x")
	records := wantNext(t, s, 10, nil, events...)
	records[0].Event.Data[0] = 'X'
	s.Source.Release(records)
	wantNext(t, s, 10, nil, events...)
}

func testSourceCancelled(t *testing.T, s SourceSubject) {
	t.Helper()
	events := putAll(t, s, "a/x")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	records, err := s.Source.Next(ctx, 1, nil)
	if err == nil {
		t.Errorf("Next under a cancelled context handed out %d records and no error", len(records))
	}
	s.Source.Release(records)
	wantNext(t, s, 10, nil, events...)
}

func testSourceConcurrent(t *testing.T, s SourceSubject) {
	t.Helper()
	names := []string{
		"a/u", "b/v", "c/w", "d/x", "e/y", "f/z", "g/u", "h/v", "i/w", "j/x", "k/y", "l/z",
		"m/u", "n/v", "o/w", "p/x", "q/y", "r/z", "s/u", "t/v", "u/w", "v/x", "w/y", "x/z",
	}
	want := make(map[string]int)
	for _, e := range putAll(t, s, names...) {
		want[e.ID] = 1
	}
	var mu sync.Mutex
	got := make(map[string]int)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for {
				records, err := s.Source.Next(t.Context(), 2, nil)
				if err != nil {
					t.Errorf("Next beside others: %v", err)
				}
				if len(records) == 0 {
					return
				}
				mu.Lock()
				for _, record := range records {
					got[record.Event.ID]++
				}
				mu.Unlock()
				if err := settle(s, records, func() error { return s.Source.Remove(t.Context(), records) }); err != nil {
					t.Errorf("Remove beside others: %v", err)
				}
			}
		})
	}
	group.Wait()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("how often each was handed out (-want +got):\n%s", diff)
	}
	wantNext(t, s, 10, nil)
}

func testSourceReopen(t *testing.T, s SourceSubject) {
	t.Helper()
	if s.Reopen == nil {
		t.Log("the subject keeps nothing, and says so")
		return
	}
	events := putAll(t, s, "a/x", "b/y", "c/x", "d/y")
	remove(t, s, wantNext(t, s, 3, nil, events[:3]...)[1:2])
	s = s.Reopen(t)
	events = append([]event.Event{events[0], events[2], events[3]}, putAll(t, s, "e/x")...)
	wantNext(t, s, 10, nil, events...)
}
