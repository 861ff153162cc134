package outboxtest

import (
	"errors"
	"testing"
	"time"

	"github.com/settleonce/settleonce/outbox"
)

func leaseCases() []sourceCase {
	return []sourceCase{
		{"lease", "What is this relay's is leased, in order, for a time to come.", testLease},
		{"lease lost", "What another relay has is neither leased, removed nor set aside, and comes back whole.", testLeaseLost},
	}
}

func testLease(t *testing.T, s SourceSubject) {
	t.Helper()
	source, ok := s.Source.(outbox.LeasedSource)
	if !ok {
		t.Log("the subject shares its records with nobody")
		return
	}
	events := putAll(t, s, "a/x", "b/y", "c/x")
	records := wantNext(t, s, 10, nil, events...)
	leased, until, done := source.Lease(records)
	defer done()
	wantRecords(t, s, leased, events...)
	now := time.Now
	if !until.After(now()) {
		t.Errorf("leased until %s, which is over", until)
	}
	if err := s.Source.Remove(t.Context(), leased); err != nil {
		t.Errorf("Remove: %v", err)
	}
}

func testLeaseLost(t *testing.T, s SourceSubject) {
	t.Helper()
	source, ok := s.Source.(outbox.LeasedSource)
	if !ok {
		t.Log("the subject shares its records with nobody")
		return
	}
	if s.TakeLeases == nil {
		t.Fatal("the subject is a LeasedSource and doesn't say how its leases are taken away")
	}
	events := putAll(t, s, "a/x", "b/y", "c/x", "d/z")
	records := wantNext(t, s, 3, nil, events[:3]...)
	giveBack := s.TakeLeases(t)
	if err := s.Source.Remove(t.Context(), records[:1]); !errors.Is(err, outbox.ErrLeaseLost) {
		t.Errorf("Remove of another's record: %v, want %v", err, outbox.ErrLeaseLost)
	}
	if err := s.Source.SetAside(t.Context(), records[1], outbox.Refusal{Reason: "unknown room"}); !errors.Is(err, outbox.ErrLeaseLost) {
		t.Errorf("SetAside of another's record: %v, want %v", err, outbox.ErrLeaseLost)
	}
	leased, _, done := source.Lease(records) // Remove has told the source, at the latest.
	done()
	wantRecords(t, s, leased)
	wantNext(t, s, 10, nil)
	wantReasons(t, s)
	wantWake(t, s, giveBack)
	wantNext(t, s, 10, nil, events...)
}
