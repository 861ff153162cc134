package outboxtest_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/outbox/outboxtest"
)

func nextAll(t *testing.T, source outbox.Source) []outbox.Record {
	t.Helper()
	records, err := source.Next(t.Context(), 100, nil)
	if err != nil {
		t.Fatal(err)
	}
	return records
}

// TestOrderedFailuresChangeNothing fails each call once.
func TestOrderedFailuresChangeNothing(t *testing.T) {
	t.Parallel()
	source := &outboxtest.Source{Policy: outbox.HoldBack}
	for _, e := range batch("a/x", "b/x", "c/y") {
		source.Put(e)
	}
	records := nextAll(t, source)
	ctx := t.Context()
	why := outbox.Refusal{Reason: "no", Attempts: 2}
	fails := errors.New("ordered")
	for _, c := range []struct {
		call outboxtest.SourceCall
		run  func() error
	}{
		{outboxtest.Next, func() error { _, err := source.Next(ctx, 1, nil); return err }},
		{outboxtest.Remove, func() error { return source.Remove(ctx, records[2:]) }},
		{outboxtest.SetAside, func() error { return source.SetAside(ctx, records[0], why) }},
		{outboxtest.Lag, func() error { _, err := source.Lag(ctx); return err }},
		{outboxtest.Requeue, func() error { return source.Requeue(ctx, records[0].ID) }},
	} {
		source.Fail(c.call, fails)
		before := len(source.Pending())
		if err := c.run(); !errors.Is(err, fails) || len(source.Pending()) != before {
			t.Errorf("%s: %v, and %d of %d are pending", c.call, err, len(source.Pending()), before)
		}
		if err := c.run(); err != nil {
			t.Errorf("%s again: %v", c.call, err)
		}
	}
	if err := source.SetAside(ctx, records[0], why); err != nil {
		t.Fatal(err)
	}
	source.Fail(outboxtest.Discard, fails)
	if err := source.Discard(ctx, records[0].ID, "enough"); !errors.Is(err, fails) || len(source.Aside()) != 1 {
		t.Errorf("Discard: %v, want it to fail and change nothing", err)
	}
	if err := source.Discard(ctx, records[0].ID, "enough"); err != nil {
		t.Errorf("Discard again: %v", err)
	}
	got := source.Discarded()
	if len(got) != 1 || got[0].Reason != "enough" || got[0].Why != why || len(source.Aside()) != 0 {
		t.Errorf("discarded %+v", got)
	}
}

// TestTheSourcesClock dates records and their lag.
func TestTheSourcesClock(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 31, 15, 4, 5, 0, time.UTC)
	for name, c := range map[string]struct {
		now  func() time.Time
		want outbox.Lag
	}{
		"none": {nil, outbox.Lag{Pending: 3, Exact: true, Oldest: time.Unix(1, 0).UTC(), Age: 2 * time.Second}},
		"set": {func() time.Time {
			at = at.Add(time.Minute)
			return at
		}, outbox.Lag{Pending: 3, Exact: true, Oldest: at.Add(time.Minute), Age: 3 * time.Minute}},
	} {
		source := &outboxtest.Source{Now: c.now}
		for _, e := range batch("a/x", "b/y", "c/z") {
			source.Put(e)
		}
		lag, err := source.Lag(t.Context())
		if diff := cmp.Diff(c.want, lag); diff != "" || err != nil {
			t.Errorf("clock %s: %v, lag (-want +got):\n%s", name, err, diff)
		}
	}
}

// TestLeasesGoByOrderingKey takes one away of two, and gives it back.
func TestLeasesGoByOrderingKey(t *testing.T) {
	t.Parallel()
	source := &outboxtest.LeasedSource{Term: -time.Second}
	events := batch("a/x", "b/y", "c/x")
	for _, e := range events {
		source.Put(e)
	}
	records := nextAll(t, source)
	source.TakeAway(events[0].Ordering())
	leased, until, done := source.Lease(records)
	if len(leased) != 1 || leased[0].ID != records[1].ID || until.After(time.Now()) {
		t.Errorf("leased %+v until %s, want b alone, and over", leased, until)
	}
	if source.Leases() != 1 {
		t.Errorf("%d leases are open, want 1", source.Leases())
	}
	done()
	done()
	if source.Leases() != 0 {
		t.Errorf("%d leases are open, want 0", source.Leases())
	}
	if err := source.Remove(t.Context(), records); !errors.Is(err, outbox.ErrLeaseLost) {
		t.Errorf("Remove: %v, want %v", err, outbox.ErrLeaseLost)
	}
	if left := len(source.Pending()); left != 2 {
		t.Errorf("%d are pending, want what was another's", left)
	}
	source.GiveBack(events[1].Ordering()) // Never taken away: nothing changes.
	source.GiveBack(events[0].Ordering())
	if out := source.Out(); len(out) != 0 {
		t.Errorf("%q are handed out, want none", out)
	}
	if again := nextAll(t, source); len(again) != 2 {
		t.Errorf("%d were handed out again, want 2", len(again))
	}
}
