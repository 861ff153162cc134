package money_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/settleonce/settleonce/acceptance/money"
)

// plain is the form of a number that the package comment draws.
func plain() *regexp.Regexp {
	return regexp.MustCompile(`\A-?(0|[1-9][0-9]*)(\.[0-9]+)?\z`)
}

// reference says by other means whether text is a number of at most
// decimals behind the point, and of no more than most digits with all of them.
func reference(text string, decimals, most int) (decimal.Decimal, bool) {
	if len(text) > 200 || !plain().MatchString(text) || strings.HasPrefix(text, "-") && strings.Trim(text, "-0.") == "" {
		return decimal.Decimal{}, false
	}
	whole, fraction, _ := strings.Cut(strings.TrimPrefix(text, "-"), ".")
	if len(fraction) > decimals || whole != "0" && len(whole)+decimals > most {
		return decimal.Decimal{}, false
	}
	value, err := decimal.NewFromString(text)
	return value, err == nil
}

func addNumbers(f *testing.F) {
	f.Helper()
	for text := range refusedNumbers() {
		f.Add(text[:min(len(text), 300)])
	}
	for _, text := range []string{"0", "0.00", "10.5", "-1", "1.0000000001", "999999.9999999999", "1000000", strings.Repeat("9", 36) + ".99"} {
		f.Add(text)
	}
}

// FuzzParse holds the parser against the drawn form and decimal's reading.
func FuzzParse(f *testing.F) {
	addNumbers(f)
	f.Fuzz(func(t *testing.T, text string) {
		for code, decimals := range map[string]int{"EUR": 2, "JPY": 0, "ETH": 18} {
			want, valid := reference(text, decimals, money.MaxDigits)
			got, err := house(t).Parse(text, code)
			if (err == nil) != valid {
				t.Fatalf("Parse(%q, %s): error %v, but valid is %v", text, code, err, valid)
			}
			if !valid {
				checkRefusal(t, text, err, "")
				continue
			}
			if !got.Decimal().Equal(want) || got.Decimal().Exponent() != -int32(decimals) {
				t.Errorf("Parse(%q, %s) is %v", text, code, got)
			}
			checkAmountRoundTrips(t, got)
		}
	})
}

// FuzzParseOdds does the same for odds, and for their conversion.
func FuzzParseOdds(f *testing.F) {
	addNumbers(f)
	f.Fuzz(func(t *testing.T, text string) {
		want, valid := reference(text, money.MaxOddsDecimals, 100)
		valid = valid && want.GreaterThan(decimal.NewFromInt(1)) && want.LessThanOrEqual(decimal.NewFromInt(money.MaxOdds))
		got, err := money.ParseOdds(text)
		if (err == nil) != valid {
			t.Fatalf("ParseOdds(%q): error %v, but valid is %v", text, err, valid)
		}
		if !valid {
			checkRefusal(t, text, err, "")
			return
		}
		if !got.Decimal().Equal(want) {
			t.Errorf("ParseOdds(%q) is %v", text, got)
		}
		checkOddsRoundTrips(t, got)
	})
}

// FuzzFractional says that rounded down and rounded up odds enclose the exact
// ones, wherever both are within bounds.
func FuzzFractional(f *testing.F) {
	f.Add(int64(6), int64(4), 2)
	f.Add(int64(1), int64(3), 10)
	f.Add(int64(9223372036854775807), int64(9223372036854775806), 10)
	f.Add(int64(999999), int64(1), 0)
	f.Fuzz(func(t *testing.T, numerator, denominator int64, places int) {
		down, downErr := money.OddsFromFractional(numerator, denominator, places, money.Down)
		up, upErr := money.OddsFromFractional(numerator, denominator, places, money.Up)
		if downErr != nil || upErr != nil {
			return
		}
		// staked times odds against what comes back: no division, no rounding.
		back := decimal.NewFromInt(numerator).Add(decimal.NewFromInt(denominator))
		low, high := down.Decimal().Mul(decimal.NewFromInt(denominator)), up.Decimal().Mul(decimal.NewFromInt(denominator))
		if low.GreaterThan(back) || high.LessThan(back) {
			t.Errorf("%d/%d lies not between %v and %v", numerator, denominator, down, up)
		}
		if gap := up.Decimal().Sub(down.Decimal()); gap.GreaterThan(decimal.New(1, -int32(places))) || gap.IsNegative() {
			t.Errorf("%d/%d: %v and %v are too far apart", numerator, denominator, down, up)
		}
	})
}

// FuzzAmountJSON says that what is accepted has one meaning: encoding/json sees
// the same two strings, and the amount comes back.
func FuzzAmountJSON(f *testing.F) {
	for _, text := range []string{
		`{"amount":"10.00","currency":"EUR"}`, `{"currency":"BTC","amount":"\u0031"}`, `{"amount":10,"currency":"EUR"}`,
		`{"amount":"1","amount":"2","currency":"EUR"}`, `{"amount":"1","AMOUNT":"2","currency":"EUR"}`, `null`, `[]`, `{}`, ``,
		`{"amount":"1.5","currency":"USDT-TRC20"}`, `{"amount":"1","currency":"EUR"}x`, ` {"amount" : "1" , "currency" : "EUR" } `,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var got money.Amount
		if err := got.UnmarshalJSON(text); err != nil {
			if got.IsSet() || len(err.Error()) > 1000 {
				t.Errorf("%q left %v, error %v", text, got, err)
			}
			return
		}
		var members map[string]string
		if err := json.Unmarshal(text, &members); err != nil {
			t.Fatalf("accepted %q, encoding/json says %v", text, err)
		}
		if len(members) != 2 || members["currency"] != got.Currency().Code() || !plain().MatchString(members["amount"]) {
			t.Errorf("%q is read as %v", text, got)
		}
		checkDecodedAgain(t, got)
	})
}

// FuzzAmountText says the same of the text form.
func FuzzAmountText(f *testing.F) {
	for _, text := range []string{"10.00 EUR", "1 BTC", "1.5 POINTS", "", " ", "1  EUR", "1 EUR ", "-0 EUR", "1 eur", "0.0000000000000000001 ETH"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var got money.Amount
		if err := got.UnmarshalText(text); err != nil {
			if got.IsSet() || len(err.Error()) > 1000 {
				t.Errorf("%q left %v, error %v", text, got, err)
			}
			return
		}
		number, code, _ := strings.Cut(string(text), " ")
		if code != got.Currency().Code() || !plain().MatchString(number) {
			t.Errorf("%q is read as %v", text, got)
		}
		checkDecodedAgain(t, got)
	})
}

// checkDecodedAgain sends an amount that no registry has checked through text
// and JSON.
func checkDecodedAgain(t *testing.T, amount money.Amount) {
	t.Helper()
	var fromText, fromJSON money.Amount
	text, err := amount.MarshalText()
	must(t, err)
	must(t, fromText.UnmarshalText(text))
	encoded, err := amount.MarshalJSON()
	must(t, err)
	must(t, fromJSON.UnmarshalJSON(encoded))
	for _, back := range []money.Amount{fromText, fromJSON} {
		if back.String() != amount.String() || back.Currency() != amount.Currency() || !back.Equal(amount) {
			t.Errorf("%v came back as %v", amount, back)
		}
	}
}

// FuzzOddsJSON says that accepted JSON is one string, which ParseOdds takes.
func FuzzOddsJSON(f *testing.F) {
	for _, text := range []string{`"2.5"`, `2.5`, `null`, `"1"`, `"\u0032"`, `"2`, `"2"x`, ` "2" `, ``} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var got money.Odds
		if err := got.UnmarshalJSON(text); err != nil {
			if got.IsSet() || len(err.Error()) > 1000 {
				t.Errorf("%q left %v, error %v", text, got, err)
			}
			return
		}
		var reference string
		if err := json.Unmarshal(text, &reference); err != nil {
			t.Fatalf("accepted %q, encoding/json says %v", text, err)
		}
		if !got.Equal(parseOdds(t, reference)) {
			t.Errorf("%q is read as %v", text, got)
		}
		checkOddsRoundTrips(t, got)
	})
}

// FuzzNumeric says that what a column holds is read by value: zeros at its end
// do not count, and nothing else is lost.
func FuzzNumeric(f *testing.F) {
	addNumbers(f)
	f.Add("10.990000000000000000000")
	f.Add("100")
	f.Add("0.000")
	f.Add(strings.Repeat("\x00", 128)) // as long as an error may quote it
	f.Fuzz(func(t *testing.T, text string) {
		var number money.Numeric
		if err := number.Scan(text); err != nil {
			checkRefusal(t, text, err, "")
			return
		}
		amount, err := house(t).FromNumeric(number, "BTC")
		if err != nil {
			checkRefusal(t, text, err, "")
			return
		}
		if want, err := decimal.NewFromString(text); err != nil || !amount.Decimal().Equal(want) {
			t.Errorf("%q is read as %v, error %v", text, amount, err)
		}
		checkAmountRoundTrips(t, amount)
	})
}
