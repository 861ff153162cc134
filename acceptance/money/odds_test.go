package money_test

import (
	"math"
	"strings"
	"testing"

	"github.com/settleonce/settleonce/acceptance/money"
)

func TestParseOdds(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"2":                  "2",
		"2.50":               "2.5",
		"1.01":               "1.01",
		"1.0000000001":       "1.0000000001",
		"1000000":            "1000000",
		"1000000.0000000000": "1000000",
		"999999.9999999999":  "999999.9999999999",
		"10.0":               "10",
	} {
		odds := parseOdds(t, text)
		if odds.String() != want || odds.Decimal().String() != want || !odds.IsSet() {
			t.Errorf("ParseOdds(%q) is %v, decimal %v, want %s", text, odds, odds.Decimal(), want)
		}
	}
}

func TestParseOddsRefuses(t *testing.T) {
	t.Parallel()
	refused := refusedNumbers()
	for text, want := range map[string]string{
		"1":                    "must be greater than 1",
		"1.00":                 "must be greater than 1",
		"0.99":                 "must be greater than 1",
		"0":                    "must be greater than 1",
		"-2":                   "must be greater than 1",
		"1.00000000001":        "must have at most 10 decimals, have 11",
		"2.00000000000":        "must have at most 10 decimals, have 11",
		"1000000.0000000001":   "must be at most 1000000",
		"1000001":              "must be at most 1000000",
		"9999999.9999999999":   "must be at most 1000000",
		"-9999999.9999999999":  "must have at most 18 bytes",
		"99999999999999999":    "must be at most 1000000",
		"18446744073709551618": "must have at most 18 bytes", // 2 in 64 bits
	} {
		refused[text] = want
	}
	for text, want := range refused {
		odds, err := money.ParseOdds(text)
		checkRefusal(t, text, err, want)
		if odds.IsSet() {
			t.Errorf("ParseOdds(%.50q) returned %v with its error", text, odds)
		}
	}
}

func TestOddsFromFractional(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		numerator, denominator int64
		places                 int
		rounding               money.Rounding
		want                   string // odds, or a part of the error
	}{
		{6, 4, 2, money.Down, "2.5"},
		{1, 1, 0, money.Down, "2"},
		{100, 30, 2, money.Down, "4.33"},
		{100, 30, 2, money.Up, "4.34"},
		{8, 13, 3, money.HalfUp, "1.615"},
		{1, 8, 2, money.HalfEven, "1.12"},
		{1, 8, 2, money.HalfUp, "1.13"},
		{3, 8, 2, money.HalfEven, "1.38"},
		{1, 3, 10, money.Down, "1.3333333333"},
		{999999, 1, 10, money.Down, "1000000"},
		{math.MaxInt64, math.MaxInt64, 10, money.Down, "2"},
		{1, 300, 2, money.Down, "must be greater than 1"},
		{1, 300, 2, money.Up, "1.01"},
		{1000000, 1, 2, money.Down, "must be at most 1000000"},
		{math.MaxInt64, 1, 10, money.Up, "must be at most 1000000"},
		{0, 1, 2, money.Down, "must have a positive numerator and denominator, have 0/1"},
		{-1, -1, 2, money.Down, "must have a positive numerator"},
		{1, 0, 2, money.Down, "must have a positive numerator"},
		{1, 1, -1, money.Down, "places must be from 0 to 10, is -1"},
		{1, 1, 11, money.Down, "places must be from 0 to 10, is 11"},
		{1, 1, math.MaxInt, money.Down, "places must be from 0 to 10"},
	} {
		got, err := money.OddsFromFractional(test.numerator, test.denominator, test.places, test.rounding)
		checkOdds(t, got, err, test.want)
	}
}

func TestOddsFromAmerican(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		american int64
		places   int
		rounding money.Rounding
		want     string
	}{
		{150, 2, money.Down, "2.5"},
		{100, 2, money.Down, "2"},
		{-100, 2, money.Down, "2"},
		{-200, 2, money.Down, "1.5"},
		{-110, 2, money.Down, "1.9"},
		{-110, 3, money.HalfUp, "1.909"},
		{-110, 2, money.Up, "1.91"},
		{105, 1, money.HalfEven, "2"},
		{105, 1, money.HalfUp, "2.1"},
		{99999900, 0, money.Down, "1000000"},
		{99, 2, money.Down, "must be at least 100 or at most -100 in American form, are 99"},
		{-99, 2, money.Down, "must be at least 100 or at most -100"},
		{0, 2, money.Down, "must be at least 100 or at most -100"},
		{math.MinInt64, 10, money.Down, "must be greater than 1"},
		{math.MinInt64, 10, money.Up, "1.0000000001"},
		{math.MaxInt64, 10, money.Up, "must be at most 1000000"},
		{150, 11, money.Down, "places must be from 0 to 10"},
	} {
		got, err := money.OddsFromAmerican(test.american, test.places, test.rounding)
		checkOdds(t, got, err, test.want)
	}
}

// checkOdds expects the odds want, or an error that holds it.
func checkOdds(t *testing.T, got money.Odds, err error, want string) {
	t.Helper()
	switch {
	case want[0] >= '0' && want[0] <= '9':
		if err != nil || got.String() != want {
			t.Errorf("got %v, %v, want %s", got, err, want)
		}
	default:
		checkRefusal(t, got.String(), err, want)
		if got.IsSet() {
			t.Errorf("got %v with error %v", got, err)
		}
	}
}

func TestOddsCompare(t *testing.T) {
	t.Parallel()
	ascending := append([]money.Odds{{}}, oddsOf(t, "1.5", "1.51", "2", "10", "1000000")...)
	for i, a := range ascending {
		for j, b := range ascending {
			want := min(max(i-j, -1), 1)
			if a.Cmp(b) != want || a.Equal(b) != (want == 0) {
				t.Errorf("%v and %v: Cmp %d, Equal %v", a, b, a.Cmp(b), a.Equal(b))
			}
		}
	}
	if !parseOdds(t, "2.50").Equal(parseOdds(t, "2.5")) {
		t.Error("2.50 is not 2.5")
	}
}

func TestOddsNotSet(t *testing.T) {
	t.Parallel()
	var none money.Odds
	if none.IsSet() || none.String() != "" || !none.Decimal().IsZero() {
		t.Errorf("the zero Odds show a value: %v", none)
	}
	_, textErr := none.MarshalText()
	_, jsonErr := none.MarshalJSON()
	_, sqlErr := none.Value()
	_, returnErr := parse(t, "1", "EUR").Return(none, money.Down)
	for _, err := range []error{textErr, jsonErr, sqlErr, returnErr} {
		if err == nil || !strings.Contains(err.Error(), "odds must be set") {
			t.Errorf("error %v, want that the odds must be set", err)
		}
	}
}
