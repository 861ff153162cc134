package pgstore_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/settleonce/settleonce/pgstore"
	"github.com/settleonce/settleonce/receipt"
)

// quietEvents are woken by nothing but a commit.
func quietEvents(t *testing.T, store *pgstore.Store) *pgstore.Events {
	t.Helper()
	events := newEvents(t, pgstore.EventsConfig{Store: store, MinPoll: time.Hour, MaxPoll: time.Hour})
	woken(events)
	return events
}

func woken(events *pgstore.Events) bool {
	select {
	case <-events.Wake():
		return true
	default:
		return false
	}
}

// A commit wakes the relays of its own process, all of those on its store, by
// the time that it returns.
func TestCommitWakesItsOwnRelays(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	one, other := quietEvents(t, f.store), quietEvents(t, f.store)
	stranger := quietEvents(t, newStore(t, f.pool, pgstore.Config{}))
	left := quietEvents(t, f.store)
	if err := left.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := f.settle(t.Context(), eventOf(keyNamed("m1"), "")); err != nil {
			t.Fatal(err)
		}
		if !woken(one) || !woken(other) {
			t.Error("a relay of the store was not woken")
		}
	}
	if woken(stranger) || woken(left) {
		t.Error("a relay of another store, or one that was closed, was woken")
	}
}

func TestCommitWithoutEventsWakesNobody(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	events := quietEvents(t, f.store)
	if err := f.settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	claim := claimOn("m1")
	session := f.begin(t, claim)
	if _, err := session.Tx().Exec(t.Context(), "no such statement"); err == nil {
		t.Fatal("it was executed")
	}
	if _, err := session.Commit(context.Background(), receiptFor(claim), eventOf(claim.Key, "")); !errors.Is(err, receipt.ErrNotCommitted) {
		t.Fatalf("Commit = %v, want ErrNotCommitted", err)
	}
	if woken(events) {
		t.Error("a commit without events, or one that failed, woke a relay")
	}
}
