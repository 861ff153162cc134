package acceptance_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/fingerprint"
	"github.com/settleonce/settleonce/receipt"
)

// referringFor leaves every command to a trader, who has lifetime.
func referringFor(lifetime time.Duration) func(*books, *pgConfig) {
	return func(b *books, config *pgConfig) {
		config.Risk.Assess = func(_ context.Context, _ *acceptance.Command, sum fingerprint.Digest) (acceptance.Evidence, error) {
			return evidence("e1", sum, acceptance.RiskRefer, time.Hour), nil
		}
		config.Referral.Lifetime, config.Referral.Record = lifetime, b.record
	}
}

// evidence is a risk service's, whose clock is the test's.
func evidence(id string, sum fingerprint.Digest, opinion acceptance.Opinion, validity time.Duration) acceptance.Evidence {
	now := time.Now()
	return acceptance.Evidence{ID: id, Version: "model-4", Fingerprint: sum, Opinion: opinion, IssuedAt: now, ExpiresAt: now.Add(validity)}
}

// inOrder queues the calls at a key in their order, and lets them go.
func (db *database) inOrder(t *testing.T, id string, calls ...func() (answer, error)) []outcome {
	t.Helper()
	release := db.holdKey(t, id)
	outcomes := make([]<-chan outcome, len(calls))
	for i, call := range calls {
		outcomes[i] = begin(call)
		db.await(t, advisoryWaiters+" = $1", i+1)
	}
	release()
	heard := make([]outcome, len(calls))
	for i := range outcomes {
		heard[i] = <-outcomes[i]
	}
	return heard
}

// TestReferralRace: a build with a risk service and one without decide the same
// command at the same time. At SERIALIZABLE the second has a snapshot from
// before the first one's commit.
func TestReferralRace(t *testing.T) {
	t.Parallel()
	bothLevels(t, func(t *testing.T, level receipt.Isolation) {
		t.Helper()
		db := newDatabase(t)
		desk := newBranch(t, db.dsn, level, referringFor(time.Hour))
		plain := newBranch(t, db.dsn, level, nil)
		accept := func(b *branch, id string) func() (answer, error) {
			return func() (answer, error) { return b.Accept(t.Context(), single(t, id, "10.00")) }
		}

		got := db.inOrder(t, "b1", accept(desk, "b1"), accept(plain, "b1"))
		checkOutcomes(t, got, "pending ", "pending  replayed")
		got = db.inOrder(t, "b2", accept(plain, "b2"), accept(desk, "b2"))
		checkOutcomes(t, got, "accepted ", "accepted  replayed")

		if verdicts, want := db.verdicts(t), "place-bet b2 accepted, refer-bet b1 pending"; verdicts != want {
			t.Errorf("receipts %q, want %q", verdicts, want)
		}
		if desk := db.text(t, "SELECT string_agg(id, ' ') FROM desk"); desk != "b1" {
			t.Errorf("the desk has %q, want b1", desk)
		}
	})
}

func checkOutcomes(t *testing.T, got []outcome, want ...string) {
	t.Helper()
	said := make([]string, len(got))
	for i := range got {
		said[i] = got[i].String()
	}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
}

// TestResolutionRace: a trader approves, another declines, the time may be up,
// and the player asks, all at the same time and in every order. One of them
// decides, and nobody hears another decision.
func TestResolutionRace(t *testing.T) {
	t.Parallel()
	bothLevels(t, func(t *testing.T, level receipt.Isolation) {
		t.Helper()
		calling := []string{"approve", "decline", "expire", "accept"}
		for name, lifetime := range map[string]time.Duration{"in time": time.Hour, "too late": time.Microsecond} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				db := newDatabase(t)
				refer := newBranch(t, db.dsn, level, referringFor(lifetime))
				callers := make([]*branch, len(calling))
				for i := range callers {
					callers[i] = newBranch(t, db.dsn, level, referringFor(lifetime))
				}
				for _, calls := range orders(calling...) {
					id := strings.Join(calls, "-")
					if got := refer.accept(t, single(t, id, "1.00")); got.Verdict != acceptance.Pending {
						t.Fatalf("%s: %+v", id, got)
					}
					checkResolved(t, id, db.inOrder(t, id, callsOf(t, callers, id, calls)...), name == "too late")
					if got := db.number(t, "SELECT count(*) FROM settleonce.receipts WHERE operation = 'place-bet' AND id = $1", id); got != 1 {
						t.Errorf("%s: %d final decisions", id, got)
					}
				}
				if bets, accepted := db.number(t, "SELECT count(*) FROM bets"), strings.Count(db.verdicts(t), "accepted"); bets != accepted {
					t.Errorf("%d bets for %d accepted commands", bets, accepted)
				}
			})
		}
	})
}

// orders returns all orders of the names.
func orders(names ...string) (all [][]string) {
	if len(names) == 0 {
		return [][]string{nil}
	}
	for i, name := range names {
		rest := append(append([]string{}, names[:i]...), names[i+1:]...)
		for _, order := range orders(rest...) {
			all = append(all, append([]string{name}, order...))
		}
	}
	return all
}

// callsOf returns the named calls, each of a branch of its own.
func callsOf(t *testing.T, callers []*branch, id string, names []string) []func() (answer, error) {
	t.Helper()
	calls := make([]func() (answer, error), len(names))
	for i, name := range names {
		calls[i] = func() (answer, error) {
			if name == "accept" {
				return callers[i].Accept(t.Context(), single(t, id, "1.00"))
			}
			return callers[i].Resolve(t.Context(), "shop", "ann", id, acceptance.Resolution{Ruling: acceptance.TraderRuling(name), By: "tess"})
		}
	}
	return calls
}

// checkResolved checks that all final answers are one, made by one call.
func checkResolved(t *testing.T, id string, got []outcome, late bool) {
	t.Helper()
	final, made := "", 0
	for _, o := range got {
		if o.err != nil {
			t.Errorf("%s: %v", id, o.err)
			continue
		}
		if o.Verdict == acceptance.Pending {
			if late {
				t.Errorf("%s: pending after its time", id)
			}
			continue
		}
		if !o.Replayed {
			made++
		}
		if value := string(o.Receipt.Value); final == "" {
			final = value
		} else if final != value {
			t.Errorf("%s: two decisions:\n%s\n%s", id, final, value)
		}
		if late != (o.Code == acceptance.CodeReferralExpired) {
			t.Errorf("%s: %s", id, o)
		}
	}
	if made != 1 {
		t.Errorf("%s: %d calls decided, want 1: %v", id, made, got)
	}
}

// TestReferralIsNotEndedByAnotherCommand: a command of the same ID finds at the
// key that another was referred meanwhile, whose time is up.
func TestReferralIsNotEndedByAnotherCommand(t *testing.T) {
	t.Parallel()
	bothLevels(t, func(t *testing.T, level receipt.Isolation) {
		t.Helper()
		db := newDatabase(t)
		desk := newBranch(t, db.dsn, level, referringFor(time.Microsecond))
		plain := newBranch(t, db.dsn, level, nil)
		got := db.inOrder(t, "b1",
			func() (answer, error) { return desk.Accept(t.Context(), single(t, "b1", "10.00")) },
			func() (answer, error) { return plain.Accept(t.Context(), single(t, "b1", "11.00")) })
		if got[0].Verdict != acceptance.Pending || !errors.Is(got[1].err, receipt.ErrFingerprintMismatch) {
			t.Errorf("answers: %v", got)
		}
		if verdicts, want := db.verdicts(t), "refer-bet b1 pending"; verdicts != want {
			t.Errorf("receipts %q, want %q", verdicts, want)
		}
	})
}

// TestResolutionAfterAnotherSchema: a build that makes its fingerprints in
// another way decides first. The trader hears its decision, not of a conflict.
func TestResolutionAfterAnotherSchema(t *testing.T) {
	t.Parallel()
	bothLevels(t, func(t *testing.T, level receipt.Isolation) {
		t.Helper()
		db := newDatabase(t)
		desk := newBranch(t, db.dsn, level, referringFor(time.Microsecond))
		unordered := newBranch(t, db.dsn, level, func(_ *books, config *pgConfig) { config.UnorderedLegs = true })
		desk.accept(t, single(t, "b1", "10.00"))
		got := db.inOrder(t, "b1",
			func() (answer, error) { return unordered.Accept(t.Context(), single(t, "b1", "10.00")) },
			func() (answer, error) { return desk.Resolve(t.Context(), "shop", "ann", "b1", approving()) })
		checkOutcomes(t, got, "rejected referral_expired", "rejected referral_expired replayed")
	})
}
