package bet_test

import (
	"errors"
	"testing"

	"github.com/settleonce/settleonce/acceptance/money"

	"github.com/settleonce/settleonce/examples/sportsbook/bet"
	"github.com/settleonce/settleonce/examples/sportsbook/market"
)

func accumulator(t *testing.T, stake string, odds ...string) bet.Bet {
	t.Helper()
	amount, err := (*money.Registry)(nil).Parse(stake, "EUR")
	if err != nil {
		t.Fatal(err)
	}
	made := bet.Bet{Stake: amount}
	for i, each := range odds {
		parsed, err := money.ParseOdds(each)
		if err != nil {
			t.Fatal(err)
		}
		made.Legs = append(made.Legs, bet.Leg{Market: string(rune('a' + i)), Selection: "yes", Odds: parsed})
	}
	return made
}

func TestPayoutUnder(t *testing.T) {
	t.Parallel()
	won, lost, void := market.Result{Winner: "yes"}, market.Result{Winner: "no"}, market.Result{Void: true}
	for _, test := range []struct {
		name    string
		odds    []string
		results []market.Result
		want    string
	}{
		{"won", []string{"2.50"}, []market.Result{won}, "25.03 EUR"}, // 25.025
		{"lost", []string{"2.50"}, []market.Result{lost}, "0.00 EUR"},
		{"void", []string{"2.50"}, []market.Result{void}, "10.01 EUR"},
		{"all won", []string{"1.37", "1.45", "1.91"}, []market.Result{won, won, won}, "37.98 EUR"},   // 37.98009215
		{"one void", []string{"1.37", "1.45", "1.91"}, []market.Result{won, void, won}, "26.19 EUR"}, // 26.193167
		{"one lost, one void", []string{"1.37", "1.45"}, []market.Result{void, lost}, "0.00 EUR"},
		{"all void", []string{"1.37", "1.45"}, []market.Result{void, void}, "10.01 EUR"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			placed := accumulator(t, "10.01", test.odds...)
			results := make(map[string]market.Result)
			for i, name := range placed.Markets() {
				results[name] = test.results[i]
			}
			if got, err := placed.PayoutUnder(results); err != nil || got.String() != test.want {
				t.Errorf("pays %s, error %v; want %s", got, err, test.want)
			}
			delete(results, placed.Legs[len(placed.Legs)-1].Market)
			if got, err := placed.PayoutUnder(results); !errors.Is(err, bet.ErrUndecided) {
				t.Errorf("without a result it pays %s, error %v", got, err)
			}
		})
	}
}
