package outboxtest

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/outbox/event"
)

func deadLetterCases() []sourceCase {
	return []sourceCase{
		{"set aside", "A record set aside is kept with its reason and left out.", testSetAside},
		{"set aside after remove", "Setting aside what is gone is no error and keeps nothing.", testSetAsideGone},
		{"dead letters", "A dead letter is listed with its event, and why it is one.", withDeadLetters(testDeadLetters)},
		{"dead letters in pages", "A page begins after an ID, though that is none any more.", withDeadLetters(testDeadLetterPages)},
		{"dead letters in order", "Those of one ordering key are listed in their old order.", withDeadLetters(testDeadLetterOrder)},
		{"policy", "What follows a dead letter waits or goes on, as the policy says; other ordering keys go on.", withDeadLetters(testPolicy)},
		{"requeue", "What is requeued is at its old place, before what it held back.", withDeadLetters(testRequeue)},
		{"requeue several", "Several of one ordering key are in their old order again.", withDeadLetters(testRequeueSeveral)},
		{"set aside again", "A requeued record may become a dead letter once more.", withDeadLetters(testSetAsideAgain)},
		{"discard", "What is discarded is gone for good, and what it held back goes on.", withDeadLetters(testDiscard)},
		{"wake for a dead letter", "Whoever waits for records is woken when an operator's word makes some pending.", withDeadLetters(testDeadLetterWakes)},
		{"no dead letter", "An ID that is none, or none any more, says so and changes nothing.", withDeadLetters(testNoDeadLetter)},
		{"reopen dead letters", "Dead letters, what they hold back and what was discarded outlive the source.", withDeadLetters(testReopenDeadLetters)},
	}
}

// withDeadLetters runs a case on a subject that has them.
func withDeadLetters(run func(*testing.T, SourceSubject, outbox.DeadLetters)) func(*testing.T, SourceSubject) {
	return func(t *testing.T, s SourceSubject) {
		t.Helper()
		letters, ok := s.Source.(outbox.DeadLetters)
		if !ok {
			t.Log("the subject has no dead letters for an operator")
			return
		}
		if s.Policy != outbox.HoldBack && s.Policy != outbox.GoOn {
			t.Fatal("the subject has dead letters and doesn't say their policy")
		}
		run(t, s, letters)
	}
}

func testSetAside(t *testing.T, s SourceSubject) {
	t.Helper()
	events := putAll(t, s, "a/x", "b/y")
	records := wantNext(t, s, 10, nil, events...)
	setAside(t, s, records[0], outbox.Refusal{Reason: "unknown room", Attempts: 3})
	s.Source.Release(records[1:])
	wantNext(t, s, 10, nil, events[1])
	wantReasons(t, s, "unknown room")
}

func testSetAsideGone(t *testing.T, s SourceSubject) {
	t.Helper()
	records := wantNext(t, s, 10, nil, putAll(t, s, "a/x")...)
	remove(t, s, records)
	setAside(t, s, records[0], outbox.Refusal{Reason: "too late"})
	wantReasons(t, s)
}

func testDeadLetters(t *testing.T, s SourceSubject, letters outbox.DeadLetters) {
	t.Helper()
	wantReasons(t, s)
	events := putAll(t, s, "a/x", "b/y")
	records := wantNext(t, s, 10, nil, events...)
	setAside(t, s, records[0], outbox.Refusal{Reason: "unknown room", Attempts: 3})
	setAside(t, s, records[1], outbox.Refusal{Reason: "zu groß\n", Attempts: 1})
	listed := listAll(t, letters)
	if len(listed) != 2 {
		t.Fatalf("%d dead letters, want 2: %+v", len(listed), listed)
	}
	found := make([]event.Event, 0, len(listed))
	for _, letter := range listed {
		if letter.Event == nil {
			t.Fatalf("dead letter %s has no event", letter.ID)
		}
		found = append(found, *letter.Event)
		if letter.Size <= 0 || letter.Time.IsZero() || letter.HoldsBack != (s.Policy == outbox.HoldBack) {
			t.Errorf("dead letter %s has %d bytes, is of %s, and holds back: %t", letter.ID, letter.Size, letter.Time, letter.HoldsBack)
		}
	}
	if diff := cmp.Diff(texts(events), texts(withoutPositions(s, found))); diff != "" {
		t.Errorf("the dead letters' events (-want +got):\n%s", diff)
	}
	got := []outbox.Refusal{{Reason: listed[0].Reason, Attempts: listed[0].Attempts}, {Reason: listed[1].Reason, Attempts: listed[1].Attempts}}
	want := []outbox.Refusal{{Reason: "unknown room", Attempts: 3}, {Reason: "zu groß\n", Attempts: 1}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("why (-want +got):\n%s", diff)
	}
}

func testDeadLetterPages(t *testing.T, s SourceSubject, letters outbox.DeadLetters) {
	t.Helper()
	// More than nine, because the IDs of some sources are numbers.
	events := putAll(t, s, "a/m", "b/n", "c/o", "d/p", "e/q", "f/r", "g/s", "h/t", "i/u", "j/v", "k/w")
	for _, record := range wantNext(t, s, 20, nil, events...) {
		setAside(t, s, record, outbox.Refusal{Reason: record.Event.Key.ID, Attempts: 1})
	}
	var got []string
	after := ""
	for range len(events) {
		page, err := letters.DeadLetters(t.Context(), after, 2)
		if err != nil {
			t.Fatalf("DeadLetters after %q: %v", after, err)
		}
		if len(page) > 2 {
			t.Fatalf("a page of at most 2 has %d dead letters", len(page))
		}
		for _, letter := range page {
			got = append(got, letter.Reason)
		}
		if len(page) < 2 {
			break
		}
		after = page[1].ID
		if len(got)%4 != 0 {
			continue
		}
		if err := letters.Requeue(t.Context(), after); err != nil {
			t.Fatalf("Requeue: %v", err)
		}
	}
	want := []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("in pages (-want +got):\n%s", diff)
	}
}

// testDeadLetterOrder has names that a source which sorts by them gets wrong.
func testDeadLetterOrder(t *testing.T, s SourceSubject, _ outbox.DeadLetters) {
	t.Helper()
	events := putAll(t, s, "c/x", "a/x", "b/x")
	records := wantNext(t, s, 10, nil, events...)
	for _, i := range []int{2, 0, 1} {
		setAside(t, s, records[i], outbox.Refusal{Reason: records[i].Event.Key.ID, Attempts: 1})
	}
	wantReasons(t, s, "c", "a", "b")
}

func testPolicy(t *testing.T, s SourceSubject, _ outbox.DeadLetters) {
	t.Helper()
	events := putAll(t, s, "a/x", "b/x", "c/y", "d/x")
	records := wantNext(t, s, 3, nil, events[:3]...)
	remove(t, s, records[:1]) // what precedes a dead letter is settled by then
	setAside(t, s, records[1], outbox.Refusal{Reason: "unknown room", Attempts: 1})
	s.Source.Release(records)
	if s.Policy == outbox.HoldBack {
		wantNext(t, s, 10, nil, events[2])
		putAll(t, s, "e/x")
		wantNext(t, s, 10, nil)
		return
	}
	wantNext(t, s, 10, nil, events[2], events[3])
	wantNext(t, s, 10, nil, putAll(t, s, "e/x")...)
}

func testRequeue(t *testing.T, s SourceSubject, letters outbox.DeadLetters) {
	t.Helper()
	events := putAll(t, s, "a/x", "b/y", "c/x")
	records := wantNext(t, s, 2, nil, events[:2]...)
	setAside(t, s, records[0], outbox.Refusal{Reason: "unknown room", Attempts: 1})
	if err := letters.Requeue(t.Context(), listAll(t, letters)[0].ID); err != nil {
		t.Fatalf("Requeue: %v", err)
	}
	wantReasons(t, s)
	again := wantNext(t, s, 1, nil, events[0])
	again = append(again, wantNext(t, s, 10, nil, events[2])...)
	s.Source.Release(append(again, records[1]))
	remove(t, s, wantNext(t, s, 10, nil, events...))
}

func testRequeueSeveral(t *testing.T, s SourceSubject, letters outbox.DeadLetters) {
	t.Helper()
	events := putAll(t, s, "c/x", "a/x", "b/x", "d/x")
	records := wantNext(t, s, 10, nil, events...)
	for _, i := range []int{0, 1, 2} {
		setAside(t, s, records[i], outbox.Refusal{Reason: "unknown room", Attempts: 1})
	}
	s.Source.Release(records)
	listed := listAll(t, letters)
	if len(listed) != 3 {
		t.Fatalf("%d dead letters, want 3", len(listed))
	}
	for _, i := range []int{2, 0, 1} {
		if err := letters.Requeue(t.Context(), listed[i].ID); err != nil {
			t.Fatalf("Requeue: %v", err)
		}
	}
	wantNext(t, s, 10, nil, events...)
}

func testSetAsideAgain(t *testing.T, s SourceSubject, letters outbox.DeadLetters) {
	t.Helper()
	events := putAll(t, s, "a/x", "b/x")
	for _, reason := range []string{"unknown room", "still unknown"} {
		records := wantNext(t, s, 1, nil, events[0])
		setAside(t, s, records[0], outbox.Refusal{Reason: reason, Attempts: 1})
		wantReasons(t, s, reason)
		if err := letters.Requeue(t.Context(), listAll(t, letters)[0].ID); err != nil {
			t.Fatalf("Requeue: %v", err)
		}
	}
	wantNext(t, s, 10, nil, events...)
}

func testDiscard(t *testing.T, s SourceSubject, letters outbox.DeadLetters) {
	t.Helper()
	events := putAll(t, s, "a/x", "b/y", "c/x")
	records := wantNext(t, s, 10, nil, events...)
	setAside(t, s, records[0], outbox.Refusal{Reason: "unknown room", Attempts: 1})
	setAside(t, s, records[1], outbox.Refusal{Reason: "too large", Attempts: 1})
	s.Source.Release(records)
	id := listAll(t, letters)[0].ID
	if err := letters.Discard(t.Context(), id, ""); err == nil {
		t.Error("Discard without a reason succeeded")
	}
	wantReasons(t, s, "unknown room", "too large")
	if err := letters.Discard(t.Context(), id, "the room is closed"); err != nil {
		t.Fatalf("Discard: %v", err)
	}
	wantReasons(t, s, "too large")
	wantNext(t, s, 10, nil, events[2])
	wantNoDeadLetter(t, letters, id)
}

func testDeadLetterWakes(t *testing.T, s SourceSubject, letters outbox.DeadLetters) {
	t.Helper()
	events := putAll(t, s, "a/x", "b/y", "c/x")
	records := wantNext(t, s, 10, nil, events...)
	setAside(t, s, records[0], outbox.Refusal{Reason: "unknown room", Attempts: 1})
	setAside(t, s, records[1], outbox.Refusal{Reason: "too large", Attempts: 1})
	listed := listAll(t, letters)
	wantWake(t, s, func() {
		if err := letters.Requeue(t.Context(), listed[1].ID); err != nil {
			t.Errorf("Requeue: %v", err)
		}
	})
	if s.Policy != outbox.HoldBack {
		return // Nothing waits for the other.
	}
	wantWake(t, s, func() {
		if err := letters.Discard(t.Context(), listed[0].ID, "the room is closed"); err != nil {
			t.Errorf("Discard: %v", err)
		}
	})
}

func testNoDeadLetter(t *testing.T, s SourceSubject, letters outbox.DeadLetters) {
	t.Helper()
	events := putAll(t, s, "a/x", "b/y", "c/z")
	records := wantNext(t, s, 2, nil, events[:2]...)
	setAside(t, s, records[0], outbox.Refusal{Reason: "unknown room", Attempts: 1})
	id := listAll(t, letters)[0].ID
	if err := letters.Requeue(t.Context(), id); err != nil {
		t.Fatalf("Requeue: %v", err)
	}
	wantNoDeadLetter(t, letters, id)
	// One that is pending, and what no source would name so.
	for _, none := range []string{records[1].ID, "", "nobody", "-1", "99999999999999999999"} {
		wantNoDeadLetter(t, letters, none)
	}
	wantNext(t, s, 10, nil, events[0], events[2])
}

func testReopenDeadLetters(t *testing.T, s SourceSubject, letters outbox.DeadLetters) {
	t.Helper()
	if s.Reopen == nil {
		t.Log("the subject keeps nothing, and says so")
		return
	}
	events := putAll(t, s, "a/x", "b/y", "c/x", "d/z")
	records := wantNext(t, s, 10, nil, events...)
	setAside(t, s, records[0], outbox.Refusal{Reason: "unknown room", Attempts: 1})
	setAside(t, s, records[1], outbox.Refusal{Reason: "too large", Attempts: 1})
	if err := letters.Discard(t.Context(), listAll(t, letters)[1].ID, "the room is closed"); err != nil {
		t.Fatalf("Discard: %v", err)
	}
	s = s.Reopen(t)
	if s.Policy == outbox.HoldBack {
		wantNext(t, s, 10, nil, events[3])
	} else {
		remove(t, s, wantNext(t, s, 10, nil, events[2], events[3]))
	}
	wantReasons(t, s, "unknown room")
	letters, ok := s.Source.(outbox.DeadLetters)
	if !ok {
		t.Fatal("the reopened source has no dead letters")
	}
	if err := letters.Requeue(t.Context(), listAll(t, letters)[0].ID); err != nil {
		t.Fatalf("Requeue: %v", err)
	}
	if s.Policy == outbox.HoldBack {
		wantNext(t, s, 10, nil, events[0], events[2])
	} else {
		wantNext(t, s, 10, nil, events[0])
	}
	wantNext(t, s, 10, nil)
}

func wantNoDeadLetter(t *testing.T, letters outbox.DeadLetters, id string) {
	t.Helper()
	if err := letters.Requeue(t.Context(), id); !errors.Is(err, outbox.ErrNoDeadLetter) {
		t.Errorf("Requeue of %q: %v, want %v", id, err, outbox.ErrNoDeadLetter)
	}
	if err := letters.Discard(t.Context(), id, "nobody knows it"); !errors.Is(err, outbox.ErrNoDeadLetter) {
		t.Errorf("Discard of %q: %v, want %v", id, err, outbox.ErrNoDeadLetter)
	}
}

// listAll lists every dead letter at once.
func listAll(t *testing.T, letters outbox.DeadLetters) []outbox.DeadLetter {
	t.Helper()
	listed, err := letters.DeadLetters(t.Context(), "", 100)
	if err != nil {
		t.Fatalf("DeadLetters: %v", err)
	}
	return listed
}

// wantReasons compares the reasons of the dead letters, where a subject has
// them.
func wantReasons(t *testing.T, s SourceSubject, want ...string) {
	t.Helper()
	letters, ok := s.Source.(outbox.DeadLetters)
	if !ok {
		return
	}
	got := []string{}
	for _, letter := range listAll(t, letters) {
		got = append(got, letter.Reason)
	}
	if diff := cmp.Diff(append([]string{}, want...), got); diff != "" {
		t.Errorf("reasons of the dead letters (-want +got):\n%s", diff)
	}
}
