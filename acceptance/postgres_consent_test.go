package acceptance_test

import (
	"testing"

	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/receipt"
)

// TestConsentRaceOfProcesses: of two commands that consent to one requote at
// the same time, each in a process of its own, one is its successor. Both have
// found the requote without one before either may go on.
func TestConsentRaceOfProcesses(t *testing.T) {
	t.Parallel()
	bothLevels(t, func(t *testing.T, level receipt.Isolation) {
		t.Helper()
		db := newDatabase(t)
		first, second := startProcess(t, order{DSN: db.dsn, Isolation: level}), startProcess(t, order{DSN: db.dsn, Isolation: level})
		db.execute(t, "UPDATE markets SET version = 'v2', odds = 1.90")
		if heard := first.ask(t, single(t, "b1", "10.00")); heard.Verdict != acceptance.Requoted {
			t.Fatalf("reply: %+v", heard)
		}
		release := db.holdWallet(t, "ann")
		first.tell(t, consenting(t, "b2", "b1", "v2", "1.90"))
		db.await(t, waiters+" = 1")
		second.tell(t, consenting(t, "b3", "b1", "v2", "1.90"))
		db.await(t, waiters+" = 2")
		release()

		// The row goes to whoever queued for it first, but not where the
		// other asks for it anew.
		one, other := first.hear(t), second.hear(t)
		winner := "b2"
		if one.Verdict == "" {
			winner, one, other = "b3", other, one
		}
		if one.Verdict != acceptance.Accepted || other.Successor != winner {
			t.Errorf("replies: %+v and %+v", one, other)
		}
		if bets := db.text(t, "SELECT string_agg(id, ' ') FROM bets"); bets != winner {
			t.Errorf("bets %q, want %q", bets, winner)
		}
		if got, want := db.verdicts(t), "consent-to-requote b1 consented, place-bet b1 requoted, place-bet "+winner+" accepted"; got != want {
			t.Errorf("receipts %q, want %q", got, want)
		}
	})
}
