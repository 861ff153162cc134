package outboxtest

import (
	"testing"

	"github.com/settleonce/settleonce/outbox"
)

func releaseCases() []sourceCase {
	return []sourceCase{
		{"release", "What is released is handed out again, in the old order.", testRelease},
		{"release later ones", "Of an ordering key, those behind one that is out may be released alone.", testReleaseLaterOnes},
		{"release and put", "What is released comes before what was put later.", testReleaseAndPut},
		{"release what is gone", "Releasing what was removed or set aside changes nothing.", testReleaseWhatIsGone},
		{"release in part", "What is not released stays out.", testReleaseInPart},
	}
}

func testRelease(t *testing.T, s SourceSubject) {
	t.Helper()
	events := putAll(t, s, "a/x", "b/y", "c/x")
	for range 2 {
		s.Source.Release(wantNext(t, s, 10, nil, events...))
	}
	wantNext(t, s, 1, nil, events[0])
	wantNext(t, s, 10, nil, events[1:]...)
}

func testReleaseLaterOnes(t *testing.T, s SourceSubject) {
	t.Helper()
	events := putAll(t, s, "a/x", "b/x", "c/x")
	records := wantNext(t, s, 10, nil, events...)
	s.Source.Release(records[1:])
	again := wantNext(t, s, 10, nil, events[1:]...)
	s.Source.Release(append(records[:1:1], again...))
	wantNext(t, s, 10, nil, events...)
}

func testReleaseAndPut(t *testing.T, s SourceSubject) {
	t.Helper()
	events := putAll(t, s, "a/x", "b/y")
	records := wantNext(t, s, 10, nil, events...)
	events = append(events, putAll(t, s, "c/x", "d/z")...)
	s.Source.Release(records)
	wantNext(t, s, 3, nil, events[:3]...)
	wantNext(t, s, 10, nil, events[3])
}

func testReleaseWhatIsGone(t *testing.T, s SourceSubject) {
	t.Helper()
	events := putAll(t, s, "a/x", "b/y", "c/z")
	records := wantNext(t, s, 10, nil, events...)
	remove(t, s, records[:1])
	setAside(t, s, records[1], outbox.Refusal{Reason: "unknown room", Attempts: 1})
	s.Source.Release(records)
	s.Source.Release(records[:2])
	wantNext(t, s, 10, nil, events[2])
}

func testReleaseInPart(t *testing.T, s SourceSubject) {
	t.Helper()
	events := putAll(t, s, "a/x", "b/y", "c/x", "d/y")
	records := wantNext(t, s, 10, nil, events...)
	s.Source.Release([]outbox.Record{records[0], records[2]})
	wantNext(t, s, 10, lines("x"))
	wantNext(t, s, 10, nil, events[0], events[2])
}
