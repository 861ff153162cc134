package acceptance_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/pgstore/pgfault"
	"github.com/settleonce/settleonce/receipt"
)

// TestCommitWithoutAnswer cuts the connection at COMMIT in each way, for each
// thing that a command may come to. The decision is the call's own, whichever
// attempt of it committed, and what it did is done once (I5).
func TestCommitWithoutAnswer(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name string
		// arrange makes what the call needs, past the proxy.
		arrange   func(*testing.T, *database, *branch)
		configure func(*books, *pgConfig)
		call      func(context.Context, *branch) (answer, error)
		verdict   acceptance.Verdict
		verdicts  string
		bets      string
		desk      int
	}{
		{
			name:    "accepted",
			call:    accepts(single(t, "b1", "70.00")),
			verdict: acceptance.Accepted, verdicts: "place-bet b1 accepted", bets: "b1",
		},
		{
			name:    "rejected",
			call:    accepts(single(t, "b1", "170.00")),
			verdict: acceptance.Rejected, verdicts: "place-bet b1 rejected",
		},
		{
			name: "pending", configure: referringFor(time.Hour),
			call:    accepts(single(t, "b1", "70.00")),
			verdict: acceptance.Pending, verdicts: "refer-bet b1 pending", desk: 1,
		},
		{
			name: "consent", arrange: requoteB1,
			call:    accepts(consenting(t, "b2", "b1", "v2", "1.90")),
			verdict: acceptance.Accepted, bets: "b2",
			verdicts: "consent-to-requote b1 consented, place-bet b1 requoted, place-bet b2 accepted",
		},
		{
			name: "consent that is referred", arrange: requoteB1, configure: referringFor(time.Hour),
			call:    accepts(consenting(t, "b2", "b1", "v2", "1.90")),
			verdict: acceptance.Pending, desk: 1,
			verdicts: "consent-to-requote b1 consented, place-bet b1 requoted, refer-bet b2 pending",
		},
		{
			name: "resolution", arrange: referB1,
			call: func(ctx context.Context, b *branch) (answer, error) {
				return b.Resolve(ctx, "shop", "ann", "b1", approving())
			},
			verdict: acceptance.Accepted, verdicts: "place-bet b1 accepted, refer-bet b1 pending", bets: "b1", desk: 1,
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			bothLevels(t, func(t *testing.T, level receipt.Isolation) {
				t.Helper()
				for _, fault := range pgfault.Faults() {
					t.Run(string(fault), func(t *testing.T) {
						db := newDatabase(t)
						if row.arrange != nil {
							row.arrange(t, db, newBranch(t, db.dsn, level, nil))
						}
						proxy, trap := newTrap(t, db.dsn, fault)
						b := newBranch(t, proxy.DSN(), level, row.configure)
						outcomes := begin(func() (answer, error) { return row.call(t.Context(), b) })
						if fault == pgfault.CommitHeld {
							<-trap.Sprung()
							db.await(t, advisoryWaiters+" = 1") // the resolution
							trap.Release()
						}
						got := <-outcomes
						if got.err != nil || got.Verdict != row.verdict || got.Replayed {
							t.Fatalf("answer: %s", got)
						}
						db.checkOwn(t, got.answer, row.verdicts, row.bets, row.desk)
						if again, err := row.call(t.Context(), b); err != nil || !again.Replayed || string(again.Receipt.Value) != string(got.Receipt.Value) {
							t.Errorf("once more: %+v, %v", again, err)
						}
						db.checkOwn(t, got.answer, row.verdicts, row.bets, row.desk)
					})
				}
			})
		})
	}
}

func accepts(c acceptance.Command) func(context.Context, *branch) (answer, error) {
	return func(ctx context.Context, b *branch) (answer, error) { return b.Accept(ctx, c) }
}

// requoteB1 leaves Ann with the offer of version v2 at 1.90.
func requoteB1(t *testing.T, db *database, b *branch) {
	t.Helper()
	db.execute(t, "UPDATE markets SET version = 'v2', odds = 1.90")
	if got := b.accept(t, single(t, "b1", "10.00")); got.Verdict != acceptance.Requoted {
		t.Fatalf("first: %+v", got)
	}
}

// referB1 leaves Ann's bet b1 to a trader.
func referB1(t *testing.T, db *database, _ *branch) {
	t.Helper()
	desk := newBranch(t, db.dsn, receipt.ReadCommitted, referringFor(time.Hour))
	if got := desk.accept(t, single(t, "b1", "70.00")); got.Verdict != acceptance.Pending {
		t.Fatalf("first: %+v", got)
	}
}

// newTrap returns a proxy before the database that breaks its first COMMIT.
func newTrap(t *testing.T, dsn string, fault pgfault.Fault) (*pgfault.Proxy, *pgfault.Trap) {
	t.Helper()
	proxy, err := pgfault.Listen(pgfault.Config{Target: dsn})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := proxy.Close(); err != nil {
			t.Error(err)
		}
	})
	trap, err := proxy.Arm(fault)
	if err != nil {
		t.Fatal(err)
	}
	return proxy, trap
}

// checkOwn checks that the decision is what is committed, and that nothing else
// is: a bet bears the attempt that its receipt does.
func (db *database) checkOwn(t *testing.T, decision answer, verdicts, bets string, desk int) {
	t.Helper()
	if got := db.verdicts(t); got != verdicts {
		t.Errorf("receipts %q, want %q", got, verdicts)
	}
	want := map[string]string{"bets": bets, "holds": bets, "attempt": ""}
	if bets != "" {
		want["attempt"] = decision.Receipt.Attempt
	}
	got := map[string]string{
		"bets":    db.text(t, "SELECT coalesce(string_agg(id, ' '), '') FROM bets"),
		"holds":   db.text(t, "SELECT coalesce(string_agg(bet, ' '), '') FROM holds"),
		"attempt": db.text(t, "SELECT coalesce(string_agg(attempt, ' '), '') FROM bets"),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("effects (-want +got):\n%s", diff)
	}
	stored := db.number(t, "SELECT count(*) FROM settleonce.receipts WHERE attempt = $1 AND value = $2", decision.Receipt.Attempt, decision.Receipt.Value)
	if referrals := db.number(t, "SELECT count(*) FROM desk"); stored != 1 || referrals != desk {
		t.Errorf("%d receipts are the answer's, %d referrals, want 1 and %d", stored, referrals, desk)
	}
	if receipts, events := decisions(verdicts), db.number(t, "SELECT count(*) FROM settleonce.events"); events != receipts {
		t.Errorf("%d events for %d decisions", events, receipts)
	}
}

// decisions counts the receipts that decide, each of which has an event.
func decisions(verdicts string) int {
	return strings.Count(verdicts, "-bet ")
}
