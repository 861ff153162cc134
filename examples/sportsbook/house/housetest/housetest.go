// Package housetest is what every implementation of the house's tables must
// keep: the one in PostgreSQL and the one in memory.
package housetest

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/acceptance/money"
	"github.com/settleonce/settleonce/receipt"
	"github.com/settleonce/settleonce/settle"

	"github.com/settleonce/settleonce/examples/sportsbook/bet"
	"github.com/settleonce/settleonce/examples/sportsbook/house"
	"github.com/settleonce/settleonce/examples/sportsbook/market"
)

// Tenant is the house of the suite.
const Tenant = "demo"

// Subject is an implementation, fresh and empty.
type Subject struct {
	Store   receipt.Store[house.Unit]
	Books   house.Books
	Cashier house.Cashier
	Trading house.Trading
	// Isolation is that of the units of work.
	Isolation receipt.Isolation
}

// Test runs the suite. open makes a fresh subject.
func Test(t *testing.T, open func(t *testing.T) Subject) {
	t.Helper()
	cases := []struct {
		name string
		test func(*trial)
	}{
		{"an accepted bet writes everything that it is", acceptsOnce},
		{"a decision stays when everything else has changed", replaysAfterChanges},
		{"a failed commit leaves nothing", failureLeavesNothing},
		{"a rejection writes nothing but its receipt", rejectsWithoutTrace},
		{"what the house does not take is named", namesWhatItRefuses},
		{"two bets of 70 do not fit into 100", spendsOnce},
		{"a price that moved is quoted again, and consent buys it", requotes},
		{"a suspension waits for the bet before it and stops the one after", suspends},
		{"a suspension outdates what was seen before", outdatesByMaterial},
		{"a limit of exposure is used up to its last cent", fillsExposure},
		{"bets that race for the last room do not pass the limit", racesForExposure},
		{"a stripe without room has the transaction run again", runsAgainWithoutRoom},
		{"a closed bet gives its exposure back", givesExposureBack},
		{"a bet is settled by its results, once", settlesOnce},
		{"an accumulator pays the exact product, rounded once", settlesAccumulators},
		{"a bet is settled only when all results are known", waitsForResults},
		{"settling and voiding exclude each other", closesOneWay},
		{"a referral is listed and resolved", refers},
		{"markets say what they refuse", tradesByItsRules},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			trial := newTrial(t, open(t))
			c.test(trial)
			CheckBooks(t, trial.Books)
		})
	}
}

// trial is one case on a fresh subject: ann has 100 EUR, and the market
// "winner" of "final" has "home" at 2.00 and "away" at 3.50, "score" has "even"
// at 1.91.
type trial struct {
	*testing.T
	Subject
	house *house.House
}

func newTrial(t *testing.T, s Subject) *trial {
	t.Helper()
	trial := &trial{T: t, Subject: s}
	trial.must(s.Cashier.OpenWallets(t.Context(), []money.Amount{EUR(t, "100.00")}, "ann"))
	trial.must(s.Trading.OpenMarket(t.Context(), Opening(t, "winner", "1000.00", "home", "2.00", "away", "3.50")))
	trial.must(s.Trading.OpenMarket(t.Context(), Opening(t, "score", "1000.00", "even", "1.91", "odd", "1.91")))
	trial.house = trial.newHouse(nil)
	return trial
}

// newHouse makes the house under test. configure may be nil.
func (t *trial) newHouse(configure func(*house.Config)) *house.House {
	t.Helper()
	config := house.Config{
		Tenant: Tenant, Store: t.Store, Books: t.Books, Isolation: t.Isolation, MaxAttempts: 100,
		Limits: house.Limits{
			Version: "test-1", MaxStake: []money.Amount{EUR(t, "90.00")}, MaxPayout: []money.Amount{EUR(t, "300.00")},
		},
	}
	if configure != nil {
		configure(&config)
	}
	made, err := house.New(config)
	t.must(err)
	return made
}

func (t *trial) must(err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// accept decides a command and wants the verdict.
func (t *trial) accept(c acceptance.Command, want acceptance.Verdict) house.Decision {
	t.Helper()
	decision, err := t.house.Accept(t.Context(), c)
	t.must(err)
	if decision.Verdict != want {
		t.Fatalf("verdict %q, code %q (%s); want %q", decision.Verdict, decision.Code, decision.Detail, want)
	}
	return decision
}

// reject decides a command and wants it rejected with the code.
func (t *trial) reject(c acceptance.Command, want acceptance.Code) {
	t.Helper()
	if decision := t.accept(c, acceptance.Rejected); decision.Code != want {
		t.Errorf("rejected with %q (%s), want %q", decision.Code, decision.Detail, want)
	}
}

// settle settles the bet of a command.
func (t *trial) settle(c acceptance.Command) settle.Result[bet.Closing] {
	t.Helper()
	closing, err := t.house.Settle(t.Context(), referenceOf(c))
	t.must(err)
	return closing
}

func (t *trial) tables() house.Tables {
	t.Helper()
	read, err := t.Books.Tables(t.Context())
	t.must(err)
	return read
}

// wantBalance wants ann to have so much available and held.
func (t *trial) wantBalance(available, held string) {
	t.Helper()
	found, err := t.Books.Wallet(t.Context(), "ann")
	t.must(err)
	balance := found.Balances[0]
	if balance.Available.String() != available+" EUR" || balance.Held.String() != held+" EUR" {
		t.Errorf("available %s, held %s; want %s and %s", balance.Available, balance.Held, available, held)
	}
}

func (t *trial) wantState(c acceptance.Command, want bet.State) {
	t.Helper()
	if _, state, err := t.Books.Bet(t.Context(), referenceOf(c)); err != nil || state != want {
		t.Errorf("state %q, error %v; want %q", state, err, want)
	}
}

// wantBetsOn compares the bets on a market with those of the commands, in any
// order.
func (t *trial) wantBetsOn(marketID string, commands ...acceptance.Command) {
	t.Helper()
	found, err := t.Books.BetsOn(t.Context(), marketID)
	t.must(err)
	want := make([]bet.Reference, len(commands))
	for i, c := range commands {
		want[i] = referenceOf(c)
	}
	byID := cmpopts.SortSlices(func(a, b bet.Reference) bool { return a.ID < b.ID })
	if diff := cmp.Diff(want, found, byID, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("bets on %s (-want +got):\n%s", marketID, diff)
	}
}

func referenceOf(c acceptance.Command) bet.Reference {
	return bet.Reference{Wallet: c.Wallet, ID: c.ID}
}

// EUR returns an amount.
func EUR(t testing.TB, number string) money.Amount {
	t.Helper()
	amount, err := (*money.Registry)(nil).Parse(number, "EUR")
	if err != nil {
		t.Fatal(err)
	}
	return amount
}

// Odds returns decimal odds.
func Odds(t testing.TB, number string) money.Odds {
	t.Helper()
	odds, err := money.ParseOdds(number)
	if err != nil {
		t.Fatal(err)
	}
	return odds
}

// Opening returns a market of the event "final" with a limit in EUR on each
// selection, which is followed by its odds.
func Opening(t testing.TB, id, limit string, selections ...string) market.Opening {
	t.Helper()
	opening := market.Opening{ID: id, Event: "final", Limits: []money.Amount{EUR(t, limit)}, Stripes: 4}
	for pair := range slices.Chunk(selections, 2) {
		opening.Prices = append(opening.Prices, Price(t, pair[0], pair[1]))
	}
	return opening
}

// Single returns a command to bet on one selection, with a fresh ID.
func Single(t testing.TB, wallet, stake, market, selection, odds string) acceptance.Command {
	t.Helper()
	return acceptance.Command{
		Tenant: Tenant, Wallet: wallet, ID: receipt.NewID(),
		Type:  acceptance.BetType{Kind: acceptance.Single},
		Stake: EUR(t, stake),
		Legs:  []acceptance.Leg{leg(t, market, selection, odds)},
	}
}

func leg(t testing.TB, market, selection, odds string) acceptance.Leg {
	t.Helper()
	return acceptance.Leg{Event: "final", Market: market, Selection: selection, QuoteVersion: "1", Odds: Odds(t, odds)}
}
