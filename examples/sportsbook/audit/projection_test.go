package audit_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/acceptance/money"
	"github.com/settleonce/settleonce/fingerprint"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/receipt"
	"github.com/settleonce/settleonce/settle"

	"github.com/settleonce/settleonce/examples/sportsbook/audit"
	"github.com/settleonce/settleonce/examples/sportsbook/bet"
	"github.com/settleonce/settleonce/examples/sportsbook/fact"
	"github.com/settleonce/settleonce/examples/sportsbook/projection"
)

// delivered are the facts of [inOrder] whose events have all been delivered and
// taken.
func delivered(t *testing.T) audit.Facts {
	t.Helper()
	facts := inOrder(t)
	ten, won := euros(t, "10.00"), euros(t, "21.05")
	story := []projection.Entry{
		{Reference: ann("settled"), Became: acceptance.Accepted, Stake: &ten},
		{Reference: ann("settled"), Became: settle.Settled, Payout: &won},
		{Reference: ann("voided"), Became: acceptance.Accepted, Stake: &ten},
		{Reference: ann("voided"), Became: settle.Voided, Payout: &ten},
		{Reference: ann("rejected"), Became: acceptance.Rejected},
		{Reference: ann("requoted"), Became: acceptance.Requoted},
		{Reference: ann("consenting"), Became: acceptance.Accepted, Stake: &ten},
		{Reference: ann("consenting"), Became: settle.Settled, Payout: &won},
		{Reference: ann("referred"), Became: acceptance.Pending},
		{Reference: ann("referred"), Became: acceptance.Rejected},
	}
	p := &audit.Projection{Tables: projection.Tables{
		Wallets: []projection.Wallet{{
			ID: "ann",
			Counts: map[receipt.Kind]int{
				acceptance.Accepted: 3, acceptance.Rejected: 2, acceptance.Requoted: 1, acceptance.Pending: 1, settle.Settled: 2, settle.Voided: 1,
			},
			Sums:   []projection.Sum{{Staked: euros(t, "30.00"), AtStake: euros(t, "0.00"), Returned: euros(t, "52.10")}},
			Latest: &projection.Latest{Position: 100, Bet: "referred", Became: acceptance.Rejected},
		}},
		Turnovers: []projection.Turnover{{Market: "final", Bets: 3, Staked: euros(t, "30.00")}},
	}}
	for i, entry := range story {
		entry.EventID, entry.Position, entry.Attempt = facts.Events[i].ID, int64(10*(i+1)), "taken-"+facts.Events[i].ID
		p.Journal = append(p.Journal, entry)
		p.Receipts = append(p.Receipts, takenAs(t, &facts, facts.Events[i].Key, entry))
	}
	facts.Projection, facts.Events = p, nil
	return facts
}

// takenAs is the projection's receipt of an event that made an entry.
func takenAs(t *testing.T, facts *audit.Facts, key receipt.Key, entry projection.Entry) receipt.Receipt {
	t.Helper()
	told := fact.Fact{Reference: entry.Reference, Became: entry.Became}
	for i := range facts.Tables.Bets {
		if placed := &facts.Tables.Bets[i]; entry.Became == acceptance.Accepted && placed.Reference == entry.Reference {
			told.Placed = placed
		}
	}
	for i := range facts.Tables.Closings {
		if closed := &facts.Tables.Closings[i]; entry.Payout != nil && closed.Reference == entry.Reference {
			told.Closing = closed
		}
	}
	digest, err := told.FingerprintUnder(fingerprint.Schema{Name: "sportsbook.bet", Version: 1})
	if err != nil {
		t.Fatal(err)
	}
	value, err := json.Marshal(entry)
	if err != nil {
		t.Fatal(err)
	}
	return receipt.Receipt{Key: key, Outcome: settle.Settled, Attempt: entry.Attempt, Value: value, Fingerprint: digest}
}

// kept puts the last event back into the outbox, as if it had never left it.
func kept(f *audit.Facts) event.Event {
	p := f.Projection
	last := len(p.Journal) - 1
	e := event.Event{
		ID: p.Journal[last].EventID, Key: p.Receipts[last].Key, Data: []byte(`{"wallet":"ann","bet":"referred","became":"rejected"}`),
	}
	p.Journal, p.Receipts = p.Journal[:last], p.Receipts[:last]
	p.Wallets[0].Counts[acceptance.Rejected]--
	p.Wallets[0].Latest = &projection.Latest{Position: 90, Bet: "referred", Became: acceptance.Pending}
	return e
}

func TestEverythingIsDelivered(t *testing.T) {
	t.Parallel()
	report := audit.Judge(delivered(t))
	if !report.InOrder() {
		t.Errorf("problems %q", report.Problems)
	}
	if got := [3]int{report.Events, report.Published, report.Projected}; got != [3]int{10, 10, 10} {
		t.Errorf("events, published, projected: %v, want ten of each", got)
	}
}

// Whatever a receipt has of an entry, the entry has.
func TestEntryIsWhatItsReceiptSays(t *testing.T) {
	t.Parallel()
	for text, other := range map[string]string{
		`"wallet":"ann"`: `"wallet":"bob"`, `"bet":"settled"`: `"bet":"voided"`, `"became":"settled"`: `"became":"voided"`,
		`"event":"event-2"`: `"event":"event-3"`, `"position":20`: `"position":21`, `"attempt":"taken-event-2"`: `"attempt":"taken"`,
		`"payout":{"amount":"21.05"`: `"payout":{"amount":"21.06"`, `"payout"`: `"stake"`, `{`: `[`,
	} {
		facts := delivered(t)
		value := string(facts.Projection.Receipts[1].Value)
		facts.Projection.Receipts[1].Value = []byte(strings.Replace(value, text, other, 1))
		want := []string{"disagree: the projection's receipt that {ann settled} is settled does not say what its entry does"}
		if diff := cmp.Diff(want, audit.Judge(facts).Problems); diff != "" {
			t.Errorf("%s in place of %s in %s: problems (-want +got):\n%s", other, text, value, diff)
		}
	}
}

// What another house decided is none of this one's affair.
func TestReceiptOfAnotherTenantIsNotToBeTold(t *testing.T) {
	t.Parallel()
	facts := delivered(t)
	facts.Receipts = append(facts.Receipts, receipt.Receipt{Key: acceptance.PlacingKey("other", "ann", "x"), Outcome: acceptance.Rejected})
	if report := audit.Judge(facts); !report.InOrder() {
		t.Errorf("problems %q", report.Problems)
	}
}

// Where there is no outbox that anybody relays, nothing is said to be published.
func TestNothingIsDelivered(t *testing.T) {
	t.Parallel()
	report := audit.Judge(inOrder(t))
	if got := [3]int{report.Events, report.Published, report.Projected}; got != [3]int{10, 0, 0} || !report.InOrder() {
		t.Errorf("events, published, projected: %v; problems %q", got, report.Problems)
	}
}

// An event that is delivered and not yet taken out of the outbox is in two places
// and one event.
func TestDeliveredAndNotYetTakenOut(t *testing.T) {
	t.Parallel()
	facts := delivered(t)
	spare := delivered(t)
	facts.Events = []event.Event{kept(&spare)}
	report := audit.Judge(facts)
	want := []string{"undelivered: 1 events are in the outbox still"}
	if diff := cmp.Diff(want, report.Problems); diff != "" || report.Events != 10 || report.Published != 9 || report.Projected != 10 {
		t.Errorf("figures %+v, problems (-want +got):\n%s", report.Figures, diff)
	}
}

func TestEveryFaultOfTheProjectionIsFound(t *testing.T) {
	t.Parallel()
	amount := func(text string) *money.Amount { made := euros(t, text); return &made }
	type counts struct{ lost, doubled, unbalanced, published, projected int }
	for _, test := range []struct {
		name  string
		spoil func(f *audit.Facts)
		want  counts
		text  string
	}{
		{
			"lost on the way", func(f *audit.Facts) { kept(f) },
			counts{lost: 1, published: 10, projected: 9},
			"there is no event that {ann referred} is rejected",
		},
		{
			"undelivered", func(f *audit.Facts) { f.Events = []event.Event{kept(f)} },
			counts{published: 9, projected: 9},
			"undelivered: 1 events",
		},
		{
			"dead letter", func(f *audit.Facts) { f.DeadLetters = []event.Event{kept(f)} },
			counts{published: 9, projected: 9},
			"dead letter: the event of house/ann/place-bet/referred was set aside",
		},
		{"taken twice", func(f *audit.Facts) {
			again := f.Projection.Journal[9]
			again.Position++
			f.Projection.Journal = append(f.Projection.Journal, again)
			f.Projection.Wallets[0].Latest.Position++
		}, counts{doubled: 1, published: 10, projected: 10}, "took 2 times that {ann referred} is rejected"},
		{"two events of one fact", func(f *audit.Facts) {
			again := f.Projection.Journal[9]
			again.EventID = "another"
			f.Projection.Journal = slices.Insert(f.Projection.Journal, 9, again)
			f.Projection.Journal[9].Position--
		}, counts{doubled: 2, published: 10, projected: 10}, "there are 2 events that {ann referred} is rejected"},
		{
			"taken without a receipt", func(f *audit.Facts) { f.Projection.Receipts = f.Projection.Receipts[:9] },
			counts{doubled: 1, published: 10, projected: 9},
			"took that {ann referred} is rejected, and has no receipt",
		},
		{"receipt without an entry", func(f *audit.Facts) {
			stored := f.Projection.Receipts[9]
			f.Events = []event.Event{kept(f)}
			f.Projection.Receipts = append(f.Projection.Receipts, stored)
		}, counts{lost: 1, published: 9, projected: 10}, "has a receipt of house/ann/place-bet/referred, and did not take its event"},
		{"receipt of nothing", func(f *audit.Facts) {
			f.Projection.Receipts = append(f.Projection.Receipts, receipt.Receipt{Key: acceptance.PlacingKey(tenant, "bob", "x")})
		}, counts{lost: 1, published: 10, projected: 10}, "has a receipt of house/bob/place-bet/x"},
		{
			"taken by another attempt", func(f *audit.Facts) { f.Projection.Journal[3].Attempt = "another" },
			counts{published: 10, projected: 10},
			"the projection's receipt that {ann voided} is voided is of another attempt",
		},
		{
			"another event", func(f *audit.Facts) { f.Projection.Journal[3].EventID = "another" },
			counts{published: 10, projected: 10},
			"the projection's receipt that {ann voided} is voided does not say what its entry does",
		},
		{
			"another position", func(f *audit.Facts) { f.Projection.Journal[3].Position++ },
			counts{published: 10, projected: 10},
			"the projection's receipt that {ann voided} is voided does not say what its entry does",
		},
		{
			"receipt of something else", func(f *audit.Facts) { f.Projection.Receipts[3].Outcome = settle.Voided },
			counts{published: 10, projected: 10},
			"the projection's receipt that {ann voided} is voided does not say what its entry does",
		},
		{
			"receipt of another entry", func(f *audit.Facts) { f.Projection.Receipts[3].Value = f.Projection.Receipts[4].Value },
			counts{published: 10, projected: 10},
			"the projection's receipt that {ann voided} is voided does not say what its entry does",
		},
		{
			"receipt of another fact", func(f *audit.Facts) { f.Projection.Receipts[0].Fingerprint = f.Projection.Receipts[2].Fingerprint },
			counts{published: 10, projected: 10},
			"the projection's receipt that {ann settled} is accepted has not the fingerprint of what the house decided",
		},
		{
			"receipt of another closing", func(f *audit.Facts) { f.Projection.Receipts[1].Fingerprint = f.Projection.Receipts[7].Fingerprint },
			counts{published: 10, projected: 10},
			"the projection's receipt that {ann settled} is settled has not the fingerprint of what the house decided",
		},
		{
			"two receipts", func(f *audit.Facts) {
				again := f.Projection.Receipts[3]
				again.Revision = 1
				f.Projection.Receipts = append(f.Projection.Receipts, again)
			},
			counts{doubled: 1, published: 10, projected: 10},
			"more than one receipt of the projection under house/ann/close-bet/voided",
		},
		{
			"an event that cannot be read", func(f *audit.Facts) {
				e := kept(f)
				e.Data = nil
				f.Events = []event.Event{e}
			},
			counts{lost: 1, doubled: 1, published: 9, projected: 9},
			"in an event that cannot be read",
		},
		{
			"refused still", func(f *audit.Facts) { f.Projection.Refused = []string{"bob"} },
			counts{published: 10, projected: 10},
			"refused: the projection takes no events of wallet bob",
		},
		{"taken and never happened", func(f *audit.Facts) {
			f.Projection.Journal = append(f.Projection.Journal, projection.Entry{
				Reference: bet.Reference{Wallet: "bob", ID: "x"}, Became: acceptance.Rejected, EventID: "x", Position: 7, Attempt: "x",
			})
			f.Projection.Receipts = append(f.Projection.Receipts, receipt.Receipt{Key: acceptance.PlacingKey(tenant, "bob", "x"), Attempt: "x"})
			f.Projection.Wallets = append(f.Projection.Wallets, projection.Wallet{
				ID: "bob", Counts: map[receipt.Kind]int{acceptance.Rejected: 1}, Latest: &projection.Latest{Position: 7, Bet: "x", Became: acceptance.Rejected},
			})
		}, counts{doubled: 1, unbalanced: 1, published: 10, projected: 10}, "there are 1 events that {bob x} is rejected, and no receipt"},
		{"out of order", func(f *audit.Facts) {
			j := f.Projection.Journal
			j[4], j[5] = j[5], j[4]
		}, counts{published: 10, projected: 10}, "out of order: wallet ann: that {ann rejected} is rejected has position 50, and came after 60"},
		{
			"at one position", func(f *audit.Facts) { f.Projection.Journal[5].Position = 50 },
			counts{published: 10, projected: 10},
			"out of order: wallet ann: that {ann requoted} is requoted has position 50",
		},
		{"closed before it was accepted", func(f *audit.Facts) {
			j := f.Projection.Journal
			j[2], j[3] = j[3], j[2]
			j[2].Position, j[3].Position = 30, 40
		}, counts{published: 10, projected: 10}, "that {ann voided} is accepted came after what follows it"},
		{
			"in another order than that of the commits", func(f *audit.Facts) {
				swapped := slices.Clone(f.Tables.Journal) // of the deposit, and then two of each bet
				swapped[4], swapped[5] = swapped[5], swapped[4]
				f.Tables.Journal = swapped
			},
			counts{published: 10, projected: 10},
			"out of order: that {ann consenting} is accepted came after what was committed behind it",
		},
		{"decided before it was referred", func(f *audit.Facts) {
			j := f.Projection.Journal
			j[8], j[9] = j[9], j[8]
			j[8].Position, j[9].Position = 90, 100
			f.Projection.Wallets[0].Latest.Became = acceptance.Pending
		}, counts{published: 10, projected: 10}, "that {ann referred} is pending came after what follows it"},
		{
			"another stake", func(f *audit.Facts) { f.Projection.Journal[2].Stake = amount("11.00") },
			counts{published: 10, projected: 10},
			"have other amounts where {ann voided} is accepted",
		},
		{
			"no stake", func(f *audit.Facts) { f.Projection.Journal[2].Stake = nil },
			counts{published: 10, projected: 10},
			"have other amounts where {ann voided} is accepted",
		},
		{
			"another payout", func(f *audit.Facts) { f.Projection.Journal[3].Payout = amount("11.00") },
			counts{published: 10, projected: 10},
			"have other amounts where {ann voided} is voided",
		},
		{
			"payout of a rejection", func(f *audit.Facts) { f.Projection.Journal[4].Payout = amount("11.00") },
			counts{published: 10, projected: 10},
			"have other amounts where {ann rejected} is rejected",
		},
		{
			"another count", func(f *audit.Facts) { f.Projection.Wallets[0].Counts[acceptance.Accepted] = 4 },
			counts{unbalanced: 1, published: 10, projected: 10},
			"wallet ann: accepted: 4 by the projection, 3 by the house's tables",
		},
		{
			"no count", func(f *audit.Facts) { delete(f.Projection.Wallets[0].Counts, acceptance.Accepted) },
			counts{unbalanced: 1, published: 10, projected: 10},
			"wallet ann: accepted: 0 by the projection, 3",
		},
		{
			"another sum staked", func(f *audit.Facts) { f.Projection.Wallets[0].Sums[0].Staked = euros(t, "29.00") },
			counts{unbalanced: 1, published: 10, projected: 10},
			"wallet ann: staked in EUR: 29 by the projection, 30",
		},
		{
			"another sum at stake", func(f *audit.Facts) { f.Projection.Wallets[0].Sums[0].AtStake = euros(t, "10.00") },
			counts{unbalanced: 1, published: 10, projected: 10},
			"wallet ann: at stake in EUR: 10 by the projection, 0",
		},
		{
			"another sum returned", func(f *audit.Facts) { f.Projection.Wallets[0].Sums[0].Returned = euros(t, "52.11") },
			counts{unbalanced: 1, published: 10, projected: 10},
			"wallet ann: returned in EUR: 52.11 by the projection, 52.1",
		},
		{"a wallet of nobody", func(f *audit.Facts) {
			f.Projection.Wallets = append(f.Projection.Wallets, projection.Wallet{ID: "bob", Sums: []projection.Sum{{
				Staked: euros(t, "1.00"), AtStake: euros(t, "0.00"), Returned: euros(t, "0.00"),
			}}})
		}, counts{unbalanced: 1, published: 10, projected: 10}, "wallet bob: staked in EUR: 1 by the projection, 0"},
		{
			"another turnover", func(f *audit.Facts) { f.Projection.Turnovers[0].Staked = euros(t, "31.00") },
			counts{unbalanced: 1, published: 10, projected: 10},
			"market final: staked in EUR: 31 by the projection, 30",
		},
		{
			"another number of bets", func(f *audit.Facts) { f.Projection.Turnovers[0].Bets = 2 },
			counts{unbalanced: 1, published: 10, projected: 10},
			"market final: bets: 2 by the projection, 3",
		},
		{"an old delivery shown as the newest", func(f *audit.Facts) {
			f.Projection.Wallets[0].Latest = &projection.Latest{Position: 10, Bet: "settled", Became: acceptance.Accepted}
		}, counts{published: 10, projected: 10}, "outdated: the newest of wallet ann is {Position:100"},
		{"newest of nobody", func(f *audit.Facts) {
			f.Projection.Wallets = append(f.Projection.Wallets, projection.Wallet{ID: "bob", Latest: &projection.Latest{Position: 1}})
		}, counts{published: 10, projected: 10}, "the newest of wallet bob, and took nothing of it"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			facts := delivered(t)
			test.spoil(&facts)
			report := audit.Judge(facts)
			if got := (counts{report.Lost, report.Doubled, report.Unbalanced, report.Published, report.Projected}); got != test.want {
				t.Errorf("counts %+v, want %+v; problems:\n%s", got, test.want, strings.Join(report.Problems, "\n"))
			}
			if text := strings.Join(report.Problems, "\n"); !strings.Contains(text, test.text) || report.InOrder() {
				t.Errorf("problems %q do not say %q", text, test.text)
			}
		})
	}
}
