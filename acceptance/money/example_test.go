package money_test

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/settleonce/settleonce/acceptance/money"
)

// Take the stake of a request: decode it, and hold it against the currencies
// of the house.
func ExampleRegistry_Check() {
	registry, err := money.NewRegistry(money.Definition{Code: "BTC", Scale: 8})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, body := range []string{
		`{"stake":{"amount":"10","currency":"EUR"}}`,
		`{"stake":{"amount":"0.0015","currency":"BTC"}}`,
		`{"stake":{"amount":10.5,"currency":"EUR"}}`,
		`{"stake":{"amount":"10.999","currency":"EUR"}}`,
		`{"stake":{"amount":"5","currency":"DOGE"}}`,
	} {
		var request struct{ Stake money.Amount }
		err := json.Unmarshal([]byte(body), &request)
		if err == nil {
			request.Stake, err = registry.Check(request.Stake)
		}
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(request.Stake)
	}
	// Output:
	// 10.00 EUR
	// 0.00150000 BTC
	// money: amount must be a JSON string: a JSON number loses digits in readers that take it for a float
	// money: amount must have at most 2 decimals in EUR, has 3
	// money: currency DOGE is not known
}

// Tell a client which field broke which rule.
func ExampleRuleError() {
	var registry money.Registry // ISO 4217 alone
	_, err := registry.Parse("1.5", "JPY")
	if broken, ok := errors.AsType[*money.RuleError](err); ok {
		fmt.Printf("field %s, rule %q\n", broken.Field, broken.Rule)
	}
	// Output:
	// field amount, rule "must have at most 0 decimals in JPY, has 1"
}

// Compute what an accumulator pays: the exact product, rounded once.
func ExampleAmount_ReturnAll() {
	var registry money.Registry
	stake, err := registry.Parse("100.00", "EUR")
	if err != nil {
		fmt.Println(err)
		return
	}
	var legs []money.Odds
	for _, text := range []string{"2.01", "2.03", "2.07", "1.99", "1.97"} {
		odds, err := money.ParseOdds(text)
		if err != nil {
			fmt.Println(err)
			return
		}
		legs = append(legs, odds)
	}
	back, err := stake.ReturnAll(legs, money.HalfEven)
	fmt.Println(back, err)
	// Output:
	// 3311.17 EUR <nil>
}

// Take odds from feeds that write them in other ways.
func ExampleOddsFromAmerican() {
	favourite, err := money.OddsFromAmerican(-110, 3, money.Down)
	fmt.Println(favourite, err)
	outsider, err := money.OddsFromFractional(13, 8, 3, money.Down)
	fmt.Println(outsider, err)
	// Output:
	// 1.909 <nil>
	// 2.625 <nil>
}

// Store an amount in two columns, and read it back.
func ExampleRegistry_FromNumeric() {
	var registry money.Registry
	stake, err := registry.Parse("10", "KWD")
	if err != nil {
		fmt.Println(err)
		return
	}
	// The arguments of INSERT INTO bets (stake, currency) VALUES ($1, $2):
	number, code := stake.Numeric(), stake.Currency().Code()

	// The places that SELECT stake, currency FROM bets is scanned into:
	back, err := registry.FromNumeric(number, code)
	fmt.Println(back, err)
	// Output:
	// 10.000 KWD <nil>
}
