package money_test

import (
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/settleonce/settleonce/acceptance/money"
)

// house returns a registry with currencies of its own.
func house(t testing.TB) *money.Registry {
	t.Helper()
	registry, err := money.NewRegistry(
		money.Definition{Code: "BTC", Scale: 8},
		money.Definition{Code: "ETH", Scale: 18},
		money.Definition{Code: "USDT-TRC20", Scale: 6},
		money.Definition{Code: "POINTS", Scale: 0},
	)
	if err != nil {
		t.Fatal(err)
	}
	return registry
}

// parse returns an amount of the house.
func parse(t testing.TB, text, code string) money.Amount {
	t.Helper()
	amount, err := house(t).Parse(text, code)
	if err != nil {
		t.Fatal(err)
	}
	return amount
}

// parseOdds returns odds that are known to be right.
func parseOdds(t testing.TB, text string) money.Odds {
	t.Helper()
	odds, err := money.ParseOdds(text)
	if err != nil {
		t.Fatal(err)
	}
	return odds
}

// decodeText returns an amount that no registry has checked.
func decodeText(t testing.TB, text string) money.Amount {
	t.Helper()
	var amount money.Amount
	if err := amount.UnmarshalText([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return amount
}

func oddsOf(t testing.TB, texts ...string) []money.Odds {
	t.Helper()
	odds := make([]money.Odds, len(texts))
	for i, text := range texts {
		odds[i] = parseOdds(t, text)
	}
	return odds
}

// randomAmount returns an amount of the house, of any sign, with up to 28
// digits.
func randomAmount(t testing.TB, random *rand.Rand, code string) money.Amount {
	t.Helper()
	currency, err := house(t).Currency(code)
	if err != nil {
		t.Fatal(err)
	}
	digits := new(big.Int).SetUint64(random.Uint64() >> random.IntN(64))
	if random.IntN(3) == 0 {
		digits.Mul(digits, big.NewInt(random.Int64N(1_000_000_000)))
	}
	value := decimal.NewFromBigInt(digits, -int32(currency.Scale()))
	if random.IntN(2) == 0 {
		value = value.Neg()
	}
	return parse(t, value.StringFixed(int32(currency.Scale())), code)
}

func randomOdds(t testing.TB, random *rand.Rand) money.Odds {
	t.Helper()
	places := random.IntN(money.MaxOddsDecimals + 1)
	value := decimal.New(2+random.Int64N(1_000_000), -int32(random.IntN(places+1))).Add(decimal.NewFromInt(1))
	if value.GreaterThan(decimal.NewFromInt(money.MaxOdds)) {
		value = decimal.NewFromInt(money.MaxOdds)
	}
	return parseOdds(t, value.String())
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
