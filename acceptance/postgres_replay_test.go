package acceptance_test

import (
	"testing"
	"time"

	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/receipt"
)

// TestReplayFromAnotherProcess: the market is closed, the wallet empty and the
// player's house another, and every command gets the answer that it had, byte
// for byte.
func TestReplayFromAnotherProcess(t *testing.T) {
	t.Parallel()
	bothLevels(t, func(t *testing.T, level receipt.Isolation) {
		t.Helper()
		db := newDatabase(t)
		b := newBranch(t, db.dsn, level, nil)
		commands := []acceptance.Command{single(t, "accepted", "70.00"), single(t, "poor", "70.00"), single(t, "requoted", "1.00")}
		commands[2].Legs[0].Odds = odds(t, "2.10")
		var first []reply
		for _, c := range commands {
			first = append(first, replyTo(b.Accept(t.Context(), c)))
		}
		desk := newBranch(t, db.dsn, level, referringFor(time.Hour))
		commands = append(commands, single(t, "pending", "1.00"))
		first = append(first, replyTo(desk.Accept(t.Context(), commands[3])))

		db.execute(t, "UPDATE markets SET version = 'v9', odds = 1.01, status = 'closed'")
		db.execute(t, "DELETE FROM wallets")
		other := startProcess(t, order{DSN: db.dsn, Isolation: level, Changed: true})
		want := []acceptance.Verdict{acceptance.Accepted, acceptance.Rejected, acceptance.Requoted, acceptance.Pending}
		for i, c := range commands {
			again := other.ask(t, c)
			if first[i].Verdict != want[i] || first[i].Replayed || !again.Replayed {
				t.Errorf("%q: first %+v, then %+v", c.ID, first[i], again)
			}
			if again.Receipt != first[i].Receipt {
				t.Errorf("%q: another receipt:\n%s\n%s", c.ID, first[i].Receipt, again.Receipt)
			}
		}
	})
}
