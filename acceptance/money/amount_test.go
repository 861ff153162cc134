package money_test

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/settleonce/settleonce/acceptance/money"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ text, code, want string }{
		{"10.00", "EUR", "10.00 EUR"},
		{"10", "EUR", "10.00 EUR"},
		{"10.5", "EUR", "10.50 EUR"},
		{"-0.01", "EUR", "-0.01 EUR"},
		{"0", "EUR", "0.00 EUR"},
		{"0.0", "EUR", "0.00 EUR"},
		{"1000", "JPY", "1000 JPY"},
		{"1.234", "KWD", "1.234 KWD"},
		{"0.00000001", "BTC", "0.00000001 BTC"},
		{"999999999999999999", "JPY", "999999999999999999 JPY"},
		{"1000000000000000000", "JPY", "1000000000000000000 JPY"},
		{"9999999999999999.99", "EUR", "9999999999999999.99 EUR"},
		{"99999999999999999", "EUR", "99999999999999999.00 EUR"},
		{"-99999999999999999999.999999999999999999", "ETH", "-99999999999999999999.999999999999999999 ETH"},
		{strings.Repeat("9", 38), "POINTS", strings.Repeat("9", 38) + " POINTS"},
		{"0.000000000000000001", "ETH", "0.000000000000000001 ETH"},
	} {
		amount := parse(t, test.text, test.code)
		if got := amount.String(); got != test.want {
			t.Errorf("Parse(%q, %q) is %q, want %q", test.text, test.code, got, test.want)
		}
		if number := strings.Fields(test.want)[0]; amount.Decimal().StringFixed(int32(amount.Currency().Scale())) != number {
			t.Errorf("Parse(%q, %q) has decimal %v, want %s", test.text, test.code, amount.Decimal(), number)
		}
		if exponent := amount.Decimal().Exponent(); int(exponent) != -amount.Currency().Scale() {
			t.Errorf("Parse(%q, %q) has exponent %d", test.text, test.code, exponent)
		}
	}
}

// refusedNumbers are refused as amounts of any currency and as odds.
func refusedNumbers() map[string]string {
	const form = "must be digits with at most one point"
	return map[string]string{
		"":               "must not be empty",
		"1E1000000000":   form,
		"1e-400":         form,
		"1e2":            form,
		"NaN":            form,
		"Infinity":       form,
		"-Infinity":      form,
		"+1":             form,
		" 1":             form,
		"1 ":             form,
		"1\n":            form,
		"1_000":          form,
		"1,000":          form,
		"1'000":          form,
		"１２":             form,
		"٣":              form,
		"1\x00":          form,
		"1\xff":          form,
		"0x10":           form,
		"--1":            form,
		"1-":             form,
		"1.2.3":          form,
		"1..2":           form,
		"1/2":            form,
		"-":              "must have a digit before the point",
		".":              "must have a digit before the point",
		".5":             "must have a digit before the point",
		"-.5":            "must have a digit before the point",
		"5.":             "must have a digit behind the point",
		"00":             "must have no leading zero",
		"01.50":          "must have no leading zero",
		"-01":            "must have no leading zero",
		"-0":             "must have no minus sign before zero",
		"-0.00":          "must have no minus sign before zero",
		megabyteOfDigits: "bytes, has 1048576",
	}
}

var megabyteOfDigits = strings.Repeat("1", 1<<20)

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	refused := refusedNumbers()
	refused["10.999"] = "must have at most 2 decimals in EUR, has 3"
	refused["10.000"] = "must have at most 2 decimals in EUR, has 3"
	refused[strings.Repeat("1", 37)] = "must have at most 36 digits before the point in EUR, has 37"
	refused[strings.Repeat("1", 41)] = "must have at most 40 bytes, has 41"
	for text, want := range refused {
		got, err := house(t).Parse(text, "EUR")
		checkRefusal(t, text, err, want)
		if got.IsSet() {
			t.Errorf("Parse(%.50q) returned %v with its error", text, got)
		}
	}
	if _, err := house(t).Parse("1.5", "JPY"); err == nil || !strings.Contains(err.Error(), "at most 0 decimals in JPY") {
		t.Errorf("half a yen: error %v", err)
	}
}

// checkRefusal expects a short ErrInvalid that names the rule.
func checkRefusal(t *testing.T, text string, err error, want string) {
	t.Helper()
	if !errors.Is(err, money.ErrInvalid) || !strings.Contains(err.Error(), want) || len(err.Error()) > 400 {
		t.Errorf("%.50q: error %.500v, want a short ErrInvalid with %q", text, err, want)
	}
	if rule, ok := errors.AsType[*money.RuleError](err); !ok || rule.Field == "" || rule.Rule == "" {
		t.Errorf("%.50q: error %.500v is no RuleError with field and rule", text, err)
	}
}

func TestMinorUnits(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		text, code string
		want       int64
	}{
		{"10.00", "EUR", 1000},
		{"-0.01", "EUR", -1},
		{"1000", "JPY", 1000},
		{"1.234", "KWD", 1234},
		{"92233720368547758.07", "EUR", math.MaxInt64},
		{"-92233720368547758.08", "EUR", math.MinInt64},
	} {
		amount := parse(t, test.text, test.code)
		units, err := amount.MinorUnits()
		if err != nil || units != test.want {
			t.Errorf("%v has %d minor units, %v, want %d", amount, units, err, test.want)
		}
		back, err := house(t).FromMinor(test.want, test.code)
		if err != nil || !back.Equal(amount) || back.String() != amount.String() {
			t.Errorf("FromMinor(%d, %s) = %v, %v, want %v", test.want, test.code, back, err, amount)
		}
	}
	for _, text := range []string{"92233720368547758.08", "-92233720368547758.09"} {
		if units, err := parse(t, text, "EUR").MinorUnits(); !errors.Is(err, money.ErrOverflow) {
			t.Errorf("%s EUR has %d minor units, error %v, want ErrOverflow", text, units, err)
		}
	}
}

func TestEqualIsByValueAndCode(t *testing.T) {
	t.Parallel()
	written := decodeText(t, "1.5 BTC")
	if checked := parse(t, "1.50", "BTC"); !checked.Equal(written) || !written.Equal(checked) {
		t.Errorf("%v and %v differ", checked, written)
	}
	if parse(t, "1.00", "EUR").Equal(parse(t, "1.00", "USD")) {
		t.Error("a euro equals a dollar")
	}
	if parse(t, "1.00", "EUR").Equal(parse(t, "1.01", "EUR")) {
		t.Error("1.00 equals 1.01")
	}
	if zero := parse(t, "0", "EUR"); zero.Equal(money.Amount{}) || !(money.Amount{}).Equal(money.Amount{}) {
		t.Error("not set must equal not set, and not zero")
	}
}

func TestCmp(t *testing.T) {
	t.Parallel()
	one, two := parse(t, "1", "BTC"), decodeText(t, "2.0 BTC")
	for _, test := range []struct {
		a, b money.Amount
		want int
	}{{one, two, -1}, {two, one, 1}, {one, one, 0}, {two, two.Neg(), 1}} {
		if got, err := test.a.Cmp(test.b); err != nil || got != test.want {
			t.Errorf("Cmp(%v, %v) = %d, %v, want %d", test.a, test.b, got, err, test.want)
		}
	}
	if _, err := one.Cmp(parse(t, "1", "EUR")); !errors.Is(err, money.ErrCurrencyMismatch) {
		t.Errorf("comparing two currencies: error %v", err)
	}
}

// TestNotComparable stands for a compile-time error: what Go cannot compare
// with == cannot be a map's key or be compared by mistake.
func TestNotComparable(t *testing.T) {
	t.Parallel()
	for _, kind := range []reflect.Type{
		reflect.TypeFor[money.Amount](), reflect.TypeFor[money.Odds](), reflect.TypeFor[money.Numeric](),
	} {
		if kind.Comparable() {
			t.Errorf("%v can be compared with ==", kind)
		}
	}
}

func TestNotSet(t *testing.T) {
	t.Parallel()
	var none money.Amount
	one := parse(t, "1", "EUR")
	if none.IsSet() || none.Sign() != 0 || none.String() != "" || !none.Decimal().IsZero() || !none.Currency().IsZero() {
		t.Errorf("the zero Amount shows a value: %q", none)
	}
	if none.Neg().IsSet() {
		t.Error("its negation is set")
	}
	for name, call := range map[string]func() error{
		"Add":         func() error { _, err := none.Add(one); return err },
		"Add to":      func() error { _, err := one.Add(none); return err },
		"Add itself":  func() error { _, err := none.Add(none); return err },
		"Sub":         func() error { _, err := one.Sub(none); return err },
		"Cmp":         func() error { _, err := none.Cmp(one); return err },
		"Times":       func() error { _, err := none.Times(2); return err },
		"Return":      func() error { _, err := none.Return(parseOdds(t, "2"), money.Down); return err },
		"MinorUnits":  func() error { _, err := none.MinorUnits(); return err },
		"Minor":       func() error { _, err := none.Minor(); return err },
		"Numeric":     func() error { _, err := none.Numeric().Value(); return err },
		"FromNumeric": func() error { _, err := house(t).FromNumeric(none.Numeric(), "EUR"); return err },
		"Check":       func() error { _, err := house(t).Check(none); return err },
		"MarshalText": func() error { _, err := none.MarshalText(); return err },
		"MarshalJSON": func() error { _, err := none.MarshalJSON(); return err },
	} {
		if err := call(); !errors.Is(err, money.ErrInvalid) || !strings.Contains(err.Error(), "amount must be set") {
			t.Errorf("%s: error %v, want that the amount must be set", name, err)
		}
	}
}
