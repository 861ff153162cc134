package fingerprint_test

import (
	"encoding/json"
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/settleonce/settleonce/fingerprint"
)

// payload returns the text of a canonical form that is one number.
func numberForm(t testing.TB, value any) string {
	t.Helper()
	number, ok := decode(form(t, value)).(json.Number)
	if !ok {
		t.Fatalf("the form of %v is no number", value)
	}
	return string(number)
}

func TestNumberForms(t *testing.T) {
	t.Parallel()
	huge := strings.Repeat("123456789", 20)
	for _, test := range []struct {
		value any
		want  string
	}{
		{0, "0"},
		{7, "7"},
		{-7, "-7"},
		{1500, "15e2"},
		{-1500, "-15e2"},
		{int64(math.MinInt64), "-9223372036854775808"},
		{uint64(math.MaxUint64), "18446744073709551615"},
		{0.5, "5e-1"},
		{0.1, "1000000000000000055511151231257827021181583404541015625e-55"},
		{1e22, "1e22"},
		{1e23, "99999999999999991611392"},
		{float64(1 << 62), "4611686018427387904"},
		{-float64(1 << 63), "-9223372036854775808"},
		{float64(1<<53-1) * (1 << 10), exactly(float64(1<<53-1) * (1 << 10))},
		{float64(1<<53-1) * (1 << 11), exactly(float64(1<<53-1) * (1 << 11))},
		{float64(1<<53-1) * (1 << 12), exactly(float64(1<<53-1) * (1 << 12))},
		{math.MaxFloat64, exactly(math.MaxFloat64)},
		{math.SmallestNonzeroFloat64, exactly(math.SmallestNonzeroFloat64)},
		{-2.2250738585072014e-308, exactly(-2.2250738585072014e-308)},
		{decimal.RequireFromString("12.50"), "125e-1"},
		{decimal.New(math.MinInt64, -3), "-9223372036854775808e-3"},
		{decimal.New(1, math.MaxInt32), "1e2147483647"},
		{decimal.New(-10, math.MaxInt32), "-1e2147483648"},
		{decimal.New(1, math.MinInt32), "1e-2147483648"},
		{decimal.RequireFromString("9223372036854775808"), "9223372036854775808"},
		{decimal.RequireFromString("-99999999999999999.99"), "-9999999999999999999e-2"},
		{decimal.RequireFromString(huge + ".5"), huge + "5e-1"},
		{decimal.RequireFromString("-" + huge + "000"), "-" + huge + "e3"},
		{json.Number("1E5000000"), "1e5000000"},
		{json.Number("-0.00"), "0"},
		{json.Number("0e7"), "0"},
		{json.Number("00.1"[1:]), "1e-1"},
		{json.Number("100.00e-2"), "1"},
		{json.Number("0.000120"), "12e-5"},
		{jsonText("-120.0"), "-12e1"},
		{jsonText(huge), huge},
		{jsonText("1e-999999999999999"), "1e-999999999999999"},
		{jsonText("0.1e-999999999999999"), "1e-1000000000000000"},
	} {
		if got := numberForm(t, test.value); got != test.want {
			t.Errorf("%#v is %s, want %s", test.value, got, test.want)
		}
	}
}

// exactly gives a double's value by other means: it is a whole number of
// halves, halved again and again.
func exactly(value float64) string {
	rational := new(big.Rat).SetFloat64(value)
	twos := rational.Denom().BitLen() - 1
	digits := new(big.Int).Mul(rational.Num(), new(big.Int).Exp(big.NewInt(5), big.NewInt(int64(twos)), nil))
	text := strings.TrimRight(digits.String(), "0")
	exponent := len(digits.String()) - len(text) - twos
	if exponent != 0 {
		text += "e" + big.NewInt(int64(exponent)).String()
	}
	return text
}

func FuzzFloat(f *testing.F) {
	for _, value := range []float64{0, 1, 0.1, 1e23, -0.375, math.MaxFloat64, math.SmallestNonzeroFloat64, 1 << 53, 1 << 63} {
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value float64) {
		canonical, err := fingerprint.Canonical(value)
		if math.IsNaN(value) || math.IsInf(value, 0) {
			if err == nil {
				t.Errorf("Canonical(%v) is no error", value)
			}
			return
		}
		if value == 0 {
			return
		}
		if got, want := string(decode(canonical).(json.Number)), exactly(value); got != want {
			t.Errorf("%v is %s, want %s", value, got, want)
		}
	})
}

// An exponent must never be written out: the text of this number would take
// five million steps and more.
func TestExponentsAreNotExpanded(t *testing.T) {
	t.Parallel()
	for _, value := range []any{
		decimal.New(1, 5_000_000), decimal.New(1, -5_000_000), json.Number("1E5000000"), json.RawMessage("1E-5000000"),
		decimal.NewNullDecimal(decimal.New(1, 5_000_000)),
		wrapped{decimal.New(1, 5_000_000)},
	} {
		steps, size, err := fingerprint.Steps(value)
		if err != nil {
			t.Fatal(err)
		}
		if steps > 100 || size > 50 {
			t.Errorf("%T: %d steps, %d bytes", value, steps, size)
		}
	}
}
