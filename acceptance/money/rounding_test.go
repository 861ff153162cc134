package money_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/acceptance/money"
)

// TestRoundingRules brings a stake of so many cents times 1.5 to whole cents,
// or times 1.4 and 1.6: half of a unit, just below and just above it.
func TestRoundingRules(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		stake, odds                string
		down, halfEven, halfUp, up string
	}{
		{"0.01", "1.4", "0.01", "0.01", "0.01", "0.02"},      // 1.4 cents
		{"0.01", "1.5", "0.01", "0.02", "0.02", "0.02"},      // 1.5
		{"0.01", "1.6", "0.01", "0.02", "0.02", "0.02"},      // 1.6
		{"0.03", "1.5", "0.04", "0.04", "0.05", "0.05"},      // 4.5
		{"0.03", "1.51", "0.04", "0.05", "0.05", "0.05"},     // 4.53
		{"0.02", "1.5", "0.03", "0.03", "0.03", "0.03"},      // just 3
		{"-0.03", "1.5", "-0.04", "-0.04", "-0.05", "-0.05"}, // -4.5
		{"-0.01", "1.5", "-0.01", "-0.02", "-0.02", "-0.02"}, // -1.5
		{"-0.01", "1.4", "-0.01", "-0.01", "-0.01", "-0.02"}, // -1.4
		{"0.00", "1.5", "0.00", "0.00", "0.00", "0.00"},
	} {
		want := map[money.Rounding]string{money.Down: test.down, money.HalfEven: test.halfEven, money.HalfUp: test.halfUp, money.Up: test.up}
		got := map[money.Rounding]string{}
		for rounding := range want {
			back, err := parse(t, test.stake, "EUR").Return(parseOdds(t, test.odds), rounding)
			if err != nil {
				t.Fatal(err)
			}
			got[rounding] = back.Decimal().StringFixed(2)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s at %s (-want +got):\n%s", test.stake, test.odds, diff)
		}
	}
}

func TestRoundingMustBeNamed(t *testing.T) {
	t.Parallel()
	for rounding, name := range map[money.Rounding]string{0: "none", money.Up + 1: "unknown", 255: "unknown"} {
		_, returnErr := parse(t, "2", "EUR").Return(parseOdds(t, "2"), rounding)
		_, fractionalErr := money.OddsFromFractional(1, 1, 2, rounding)
		_, americanErr := money.OddsFromAmerican(100, 2, rounding)
		_, textErr := rounding.MarshalText()
		for _, err := range []error{returnErr, fractionalErr, americanErr, textErr} {
			checkRefusal(t, name, err, "rounding must be one of down, half-even, half-up and up, is "+name)
		}
	}
}

func TestRoundingText(t *testing.T) {
	t.Parallel()
	for rounding, name := range map[money.Rounding]string{
		money.Down: "down", money.HalfEven: "half-even", money.HalfUp: "half-up", money.Up: "up",
	} {
		text, err := rounding.MarshalText()
		if err != nil || string(text) != name {
			t.Errorf("%v is written %q, %v, want %q", rounding, text, err, name)
		}
		var back money.Rounding
		if err := back.UnmarshalText(text); err != nil || back != rounding {
			t.Errorf("%q is read as %v, %v, want %v", text, back, err, rounding)
		}
	}
	for _, text := range []string{"", "none", "unknown", "Down", "half", "2"} {
		rounding := money.HalfUp
		if err := rounding.UnmarshalText([]byte(text)); !errors.Is(err, money.ErrInvalid) || rounding != money.HalfUp {
			t.Errorf("%q is read as %v, %v", text, rounding, err)
		}
	}
}
