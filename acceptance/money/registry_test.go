package money_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/acceptance/money"
)

// TestISOScales pins what a change of the module that has them must not change
// unseen, among it every case in which lists made for display differ.
func TestISOScales(t *testing.T) {
	t.Parallel()
	want := map[string]int{
		"EUR": 2, "USD": 2, "GBP": 2, "CHF": 2,
		"JPY": 0, "KRW": 0, "CLP": 0, "ISK": 0, "UGX": 0, "VND": 0, "XAF": 0,
		"KWD": 3, "BHD": 3, "IQD": 3, "TND": 3,
		"CLF": 4, "UYW": 4,
		"PKR": 2, "IDR": 2, "HUF": 2, "MGA": 2, "MRU": 2, "SLE": 2, "VES": 2,
	}
	got := map[string]int{}
	for code := range want {
		for _, registry := range []*money.Registry{nil, {}, house(t)} {
			currency, err := registry.Currency(code)
			if err != nil {
				t.Fatal(err)
			}
			if currency.Code() != code || currency.String() != code || currency.IsZero() {
				t.Errorf("Currency(%s) is %v", code, currency)
			}
			got[code] = currency.Scale()
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("scales (-want +got):\n%s", diff)
	}
}

func TestOwnCurrencies(t *testing.T) {
	t.Parallel()
	for code, scale := range map[string]int{"BTC": 8, "ETH": 18, "USDT-TRC20": 6, "POINTS": 0} {
		currency, err := house(t).Currency(code)
		if err != nil || currency.Code() != code || currency.Scale() != scale {
			t.Errorf("Currency(%s) = %v with %d decimals, %v, want %d", code, currency, currency.Scale(), err, scale)
		}
		for name, other := range map[string]*money.Registry{"nil": nil, "zero": {}} {
			if _, err := other.Currency(code); !errors.Is(err, money.ErrCurrency) {
				t.Errorf("the %s registry knows %s: error %v", name, code, err)
			}
		}
	}
}

func TestLongestCode(t *testing.T) {
	t.Parallel()
	code := strings.Repeat("A", money.MaxCode)
	registry, err := money.NewRegistry(money.Definition{Code: code, Scale: money.MaxScale})
	must(t, err)
	amount, err := registry.Parse("1", code)
	must(t, err)
	checkDecodedAgain(t, amount)
	checkDecodedAgain(t, decodeText(t, "-"+strings.Repeat("9", money.MaxDigits-money.MaxScale)+"."+strings.Repeat("9", money.MaxScale)+" "+code))
}

func TestUnknownCurrencies(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]string{
		"":                         "must not be empty",
		"eur":                      "must be an upper-case letter",
		" EUR":                     "must be an upper-case letter",
		"EUR ":                     "must be an upper-case letter",
		"ЕUR":                      "must be an upper-case letter", // a Cyrillic Е
		"1INCH":                    "must be an upper-case letter",
		"DOGE":                     "currency DOGE is not known",
		"XXX":                      "currency XXX is not known", // ISO's "no currency" has no decimals
		"XAU":                      "currency XAU is not known", // nor have its metals
		strings.Repeat("A", 17):    "must have at most 16 bytes, has 17",
		strings.Repeat("A", 1<<20): "must have at most 16 bytes",
	} {
		_, parseErr := house(t).Parse("1", code)
		_, minorErr := house(t).FromMinor(1, code)
		_, numericErr := house(t).FromNumeric(parse(t, "1", "EUR").Numeric(), code)
		for _, err := range []error{parseErr, minorErr, numericErr} {
			if !errors.Is(err, money.ErrCurrency) || errors.Is(err, money.ErrInvalid) || !strings.Contains(err.Error(), want) || len(err.Error()) > 200 {
				t.Errorf("code %.20q: error %.200v, want ErrCurrency with %q", code, err, want)
			}
		}
	}
}

func TestNewRegistryNamesEveryWrongDefinition(t *testing.T) {
	t.Parallel()
	registry, err := money.NewRegistry(
		money.Definition{Code: "GOOD", Scale: 18},
		money.Definition{Code: "EUR", Scale: 2},
		money.Definition{Code: "bad", Scale: 2},
		money.Definition{Code: "FINE", Scale: 19},
		money.Definition{Code: "BELOW", Scale: -1},
		money.Definition{Code: "GOOD", Scale: 0},
		money.Definition{},
	)
	if registry != nil || !errors.Is(err, money.ErrCurrency) {
		t.Fatalf("NewRegistry = %v, %v, want ErrCurrency", registry, err)
	}
	want := `money: currency EUR must not be defined: it is one of ISO 4217
money: currency must be an upper-case letter, followed by upper-case letters, digits, '-' and '_'; is "bad"
money: currency FINE must have from 0 to 18 decimals, has 19
money: currency BELOW must have from 0 to 18 decimals, has -1
money: currency GOOD is defined twice
money: currency must not be empty`
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Errorf("error (-want +got):\n%s", diff)
	}
}

// TestCheckTakesWhatParseTakes: an amount that came as text is as good as one
// that was parsed with the registry, and no better.
func TestCheckTakesWhatParseTakes(t *testing.T) {
	t.Parallel()
	for _, number := range []string{"0", "1", "1.5", "1.50", "1.500", "1.5000000", "1.00000000", "1.000000000", "-3.1", "99999999999999999999999999999999999", strings.Repeat("9", 38)} {
		for _, code := range []string{"EUR", "JPY", "BTC", "ETH", "USDT-TRC20", "POINTS", "DOGE"} {
			parsed, parseErr := house(t).Parse(number, code)
			var written, checked money.Amount
			err := written.UnmarshalText([]byte(number + " " + code))
			if err == nil {
				checked, err = house(t).Check(written)
			}
			if (err == nil) != (parseErr == nil) || errors.Is(err, money.ErrCurrency) != errors.Is(parseErr, money.ErrCurrency) {
				t.Errorf("%s %s: checked with %v, parsed with %v", number, code, err, parseErr)
			}
			if checked.String() != parsed.String() || !checked.Equal(parsed) || checked.Currency() != parsed.Currency() {
				t.Errorf("%s %s: checked %v, parsed %v", number, code, checked, parsed)
			}
		}
	}
}

func TestCheckNamesTheRule(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		text string
		kind error
		want string
	}{
		{"1.000 POINTS", money.ErrInvalid, "must have at most 0 decimals in POINTS, has 3"},
		{"1 DOGE", money.ErrCurrency, "DOGE is not known"},
		{strings.Repeat("9", 31) + " BTC", money.ErrOverflow, "39 digits in BTC with its 8 decimals, at most 38"},
	} {
		checked, err := house(t).Check(decodeText(t, test.text))
		if !errors.Is(err, test.kind) || !strings.Contains(err.Error(), test.want) || checked.IsSet() {
			t.Errorf("Check(%s) = %v, %v, want %q", test.text, checked, err, test.want)
		}
	}
}
