package outboxtest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/outbox"
)

func lagCases() []sourceCase {
	return []sourceCase{
		{"lag", "The lag counts what is pending, handed out or not, from the oldest on.", testLag},
		{"lag of dead letters", "The lag counts dead letters and the ordering keys that wait for one.", testLagOfDeadLetters},
	}
}

func testLag(t *testing.T, s SourceSubject) {
	t.Helper()
	source, ok := s.Source.(outbox.LagSource)
	if !ok {
		t.Log("the subject knows no lag")
		return
	}
	wantLag(t, source, outbox.Lag{})
	events := putAll(t, s, "a/x", "b/y", "c/x")
	records := wantNext(t, s, 2, nil, events[:2]...)
	wantLag(t, source, outbox.Lag{Pending: 3, Oldest: records[0].Added})
	remove(t, s, records[:1])
	wantLag(t, source, outbox.Lag{Pending: 2, Oldest: records[1].Added})
	remove(t, s, records[1:])
	remove(t, s, wantNext(t, s, 10, nil, events[2]))
	wantLag(t, source, outbox.Lag{})
}

func testLagOfDeadLetters(t *testing.T, s SourceSubject) {
	t.Helper()
	source, ok := s.Source.(outbox.LagSource)
	letters, keeps := s.Source.(outbox.DeadLetters)
	if !ok || !keeps {
		t.Log("the subject knows no lag, or no dead letters")
		return
	}
	events := putAll(t, s, "a/x", "b/y", "c/x", "d/z")
	records := wantNext(t, s, 10, nil, events...)
	setAside(t, s, records[0], outbox.Refusal{Reason: "unknown room", Attempts: 1})
	setAside(t, s, records[1], outbox.Refusal{Reason: "unknown room", Attempts: 1})
	s.Source.Release(records)
	want := outbox.Lag{Pending: 2, Oldest: records[2].Added, DeadLetters: 2}
	if s.Policy == outbox.HoldBack {
		want.HeldBack = 2
	}
	wantLag(t, source, want)
	listed := listAll(t, letters)
	if err := letters.Requeue(t.Context(), listed[0].ID); err != nil {
		t.Fatalf("Requeue: %v", err)
	}
	if err := letters.Discard(t.Context(), listed[1].ID, "the room is closed"); err != nil {
		t.Fatalf("Discard: %v", err)
	}
	wantLag(t, source, outbox.Lag{Pending: 3, Oldest: records[0].Added})
}

// wantLag compares with the lag as it is, of which Pending may be less where
// that is not exact.
func wantLag(t *testing.T, source outbox.LagSource, want outbox.Lag) {
	t.Helper()
	got, err := source.Lag(t.Context())
	if err != nil {
		t.Fatalf("Lag: %v", err)
	}
	if got.Age < 0 || want.Oldest.IsZero() && got.Age != 0 {
		t.Errorf("the oldest of %d pending has an age of %s", want.Pending, got.Age)
	}
	if !got.Exact && got.Pending <= want.Pending {
		got.Pending = want.Pending
	}
	got.Exact, got.Age = false, 0
	if diff := cmp.Diff(want, got, cmp.Comparer(time.Time.Equal)); diff != "" {
		t.Errorf("lag (-want +got):\n%s", diff)
	}
}
