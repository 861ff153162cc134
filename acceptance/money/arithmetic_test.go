package money_test

import (
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/settleonce/settleonce/acceptance/money"
)

func TestAddAndSub(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ a, b, sum, difference string }{
		{"0.10 EUR", "0.20 EUR", "0.30 EUR", "-0.10 EUR"},
		{"1 BTC", "0.00000001 BTC", "1.00000001 BTC", "0.99999999 BTC"},
		{"-5 JPY", "5 JPY", "0 JPY", "-10 JPY"},
		{"9999999999999999.99 EUR", "0.01 EUR", "10000000000000000.00 EUR", "9999999999999999.98 EUR"},
	} {
		a, b := decodeText(t, test.a), decodeText(t, test.b)
		if sum, err := a.Add(b); err != nil || sum.String() != test.sum {
			t.Errorf("%v + %v = %v, %v, want %s", a, b, sum, err, test.sum)
		}
		if difference, err := a.Sub(b); err != nil || difference.String() != test.difference {
			t.Errorf("%v - %v = %v, %v, want %s", a, b, difference, err, test.difference)
		}
	}
}

func TestTwoCurrenciesDoNotMix(t *testing.T) {
	t.Parallel()
	euro, dollar := parse(t, "1", "EUR"), parse(t, "1", "USD")
	_, addErr := euro.Add(dollar)
	_, subErr := euro.Sub(dollar)
	for _, err := range []error{addErr, subErr} {
		if !errors.Is(err, money.ErrCurrencyMismatch) || !strings.Contains(err.Error(), "EUR and USD") {
			t.Errorf("error %v, want ErrCurrencyMismatch that names both", err)
		}
	}
}

func TestOverflow(t *testing.T) {
	t.Parallel()
	most := parse(t, strings.Repeat("9", 38), "POINTS")
	one := parse(t, "1", "POINTS")
	for name, call := range map[string]func() (money.Amount, error){
		"Add":            func() (money.Amount, error) { return most.Add(one) },
		"Add negatives":  func() (money.Amount, error) { return most.Neg().Add(one.Neg()) },
		"Sub":            func() (money.Amount, error) { return most.Neg().Sub(one) },
		"Add decimals":   func() (money.Amount, error) { return most.Add(decodeText(t, "0.5 POINTS")) },
		"Times":          func() (money.Amount, error) { return most.Times(2) },
		"Times negative": func() (money.Amount, error) { return most.Times(math.MinInt64) },
		"Return":         func() (money.Amount, error) { return most.Return(parseOdds(t, "1.1"), money.Down) },
		"ReturnAll": func() (money.Amount, error) {
			legs := make([]money.Odds, money.MaxLegs)
			for i := range legs {
				legs[i] = parseOdds(t, "1000000")
			}
			return one.ReturnAll(legs, money.Down)
		},
	} {
		if got, err := call(); !errors.Is(err, money.ErrOverflow) || got.IsSet() {
			t.Errorf("%s = %v, %v, want ErrOverflow", name, got, err)
		}
	}
	if sum, err := most.Sub(one); err != nil || !strings.HasSuffix(sum.String(), "98 POINTS") {
		t.Errorf("the greatest amount less one is %v, %v", sum, err)
	}
	if sum, err := most.Add(most.Neg()); err != nil || sum.Sign() != 0 {
		t.Errorf("the greatest amount less itself is %v, %v", sum, err)
	}
}

func TestTimes(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "0.00 EUR", 1: "1.25 EUR", -3: "-3.75 EUR", math.MaxInt64: "11529215046068469758.75 EUR"} {
		if got, err := parse(t, "1.25", "EUR").Times(n); err != nil || got.String() != want {
			t.Errorf("1.25 EUR times %d is %v, %v, want %s", n, got, err, want)
		}
	}
}

// TestReturnRoundsOnce: the product of the odds is 33.1117201863, and would give
// 3311.00 EUR where it was rounded first.
func TestReturnRoundsOnce(t *testing.T) {
	t.Parallel()
	legs := oddsOf(t, "2.01", "2.03", "2.07", "1.99", "1.97")
	got, err := parse(t, "100", "EUR").ReturnAll(legs, money.HalfUp)
	if err != nil || got.String() != "3311.17 EUR" {
		t.Errorf("ReturnAll = %v, %v", got, err)
	}
}

func TestReturnNeedsLegs(t *testing.T) {
	t.Parallel()
	stake := parse(t, "1", "EUR")
	for name, legs := range map[string][]money.Odds{"none": nil, "too many": make([]money.Odds, money.MaxLegs+1)} {
		_, err := stake.ReturnAll(legs, money.Down)
		checkRefusal(t, name, err, "odds must be from 1 to 100")
	}
	_, err := stake.ReturnAll([]money.Odds{parseOdds(t, "2"), {}}, money.Down)
	checkRefusal(t, "not set", err, "odds must be set")
}

// TestArithmeticIsExact holds random operations against rational numbers.
func TestArithmeticIsExact(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(7, 7))
	for range 2000 {
		code := []string{"JPY", "EUR", "KWD", "BTC", "ETH"}[random.IntN(5)]
		a, b := randomAmount(t, random, code), randomAmount(t, random, code)
		n := random.Int64N(2000) - 1000
		checkExact(t, "Add", new(big.Rat).Add(rational(a), rational(b)), call(a.Add(b)))
		checkExact(t, "Sub", new(big.Rat).Sub(rational(a), rational(b)), call(a.Sub(b)))
		checkExact(t, "Times", new(big.Rat).Mul(rational(a), new(big.Rat).SetInt64(n)), call(a.Times(n)))
		if got, err := a.Cmp(b); err != nil || got != rational(a).Cmp(rational(b)) {
			t.Errorf("Cmp(%v, %v) = %d, %v", a, b, got, err)
		}
		legs := make([]money.Odds, 1+random.IntN(4))
		exact := rational(a)
		for i := range legs {
			legs[i] = randomOdds(t, random)
			exact.Mul(exact, legs[i].Decimal().Rat())
		}
		checkRounded(t, a, exact, legs)
	}
}

// checkRounded expects that Down and Up enclose the exact return, a unit apart
// or on it, and that the half rules choose the nearer of the two.
func checkRounded(t *testing.T, stake money.Amount, exact *big.Rat, legs []money.Odds) {
	t.Helper()
	results := map[money.Rounding]*big.Rat{}
	for rounding := money.Down; rounding <= money.Up; rounding++ {
		got, err := stake.ReturnAll(legs, rounding)
		if errors.Is(err, money.ErrOverflow) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		results[rounding] = rational(got)
	}
	unit := new(big.Rat).SetFrac(big.NewInt(1), new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(stake.Currency().Scale())), nil))
	below, above := distance(results[money.Down], exact), distance(results[money.Up], exact)
	gap := distance(results[money.Down], results[money.Up])
	enclosed := new(big.Rat).Add(below, above).Cmp(gap) == 0 && (gap.Sign() == 0 || gap.Cmp(unit) == 0)
	if !enclosed || new(big.Rat).Abs(results[money.Down]).Cmp(new(big.Rat).Abs(exact)) > 0 {
		t.Errorf("%v at %v: exactly %v, down %v, up %v", stake, legs, exact, results[money.Down], results[money.Up])
	}
	for _, half := range []money.Rounding{money.HalfEven, money.HalfUp} {
		nearer := below
		if above.Cmp(below) < 0 {
			nearer = above
		}
		if distance(results[half], exact).Cmp(nearer) != 0 {
			t.Errorf("%v at %v: exactly %v, %v gives %v", stake, legs, exact, half, results[half])
		}
	}
}

func distance(a, b *big.Rat) *big.Rat {
	difference := new(big.Rat).Sub(a, b)
	return difference.Abs(difference)
}

type result struct {
	amount money.Amount
	err    error
}

func call(amount money.Amount, err error) result { return result{amount, err} }

func checkExact(t *testing.T, name string, want *big.Rat, got result) {
	t.Helper()
	if got.err != nil || rational(got.amount).Cmp(want) != 0 {
		t.Errorf("%s = %v, %v, want exactly %v", name, got.amount, got.err, want)
	}
}

func rational(a money.Amount) *big.Rat { return a.Decimal().Rat() }
