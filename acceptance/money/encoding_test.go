package money_test

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/acceptance/money"
)

// TestForms pins what is stored and sent: a change of it breaks others.
func TestForms(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		amount     money.Amount
		text, json string
	}{
		{parse(t, "10", "EUR"), "10.00 EUR", `{"amount":"10.00","currency":"EUR"}`},
		{parse(t, "-1000", "JPY"), "-1000 JPY", `{"amount":"-1000","currency":"JPY"}`},
		{parse(t, "0", "BTC"), "0.00000000 BTC", `{"amount":"0.00000000","currency":"BTC"}`},
		{parse(t, "1", "USDT-TRC20"), "1.000000 USDT-TRC20", `{"amount":"1.000000","currency":"USDT-TRC20"}`},
		{decodeText(t, "1.5 BTC"), "1.5 BTC", `{"amount":"1.5","currency":"BTC"}`},
	} {
		text, err := test.amount.MarshalText()
		if err != nil || string(text) != test.text {
			t.Errorf("text %q, %v, want %q", text, err, test.text)
		}
		encoded, err := json.Marshal(test.amount)
		if err != nil || string(encoded) != test.json {
			t.Errorf("JSON %s, %v, want %s", encoded, err, test.json)
		}
	}
	encoded, err := json.Marshal(parseOdds(t, "2.50"))
	if err != nil || string(encoded) != `"2.5"` {
		t.Errorf("JSON of odds %s, %v", encoded, err)
	}
}

func TestUnmarshalJSON(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"amount":"10","currency":"EUR"}`:                      "10.00 EUR",
		"\n{ \"currency\" : \"JPY\" ,\t\"amount\" : \"-5\" }\n": "-5 JPY",
		`{"amount":"\u0031.5","currency":"\u0042TC"}`:           "1.5 BTC",
	} {
		var got money.Amount
		if err := json.Unmarshal([]byte(text), &got); err != nil || got.String() != want {
			t.Errorf("%s is read as %v, %v, want %s", text, got, err, want)
		}
	}
}

func TestUnmarshalJSONRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"amount":10.00,"currency":"EUR"}`:                                 "amount must be a JSON string: a JSON number loses digits",
		`{"amount":-1,"currency":"EUR"}`:                                    "amount must be a JSON string: a JSON number loses digits",
		`{"amount":1E1000000000,"currency":"EUR"}`:                          "amount must be a JSON string: a JSON number loses digits",
		`{"amount":"10.00","currency":978}`:                                 "currency must be a JSON string",
		`{"amount":null,"currency":"EUR"}`:                                  "amount must not be null",
		`{"amount":"1","currency":null}`:                                    "currency must not be null",
		`{"amount":["1"],"currency":"EUR"}`:                                 "amount must be a JSON string",
		`{"amount":true,"currency":"EUR"}`:                                  "amount must be a JSON string",
		`{"amount":"1"}`:                                                    "currency is missing",
		`{"currency":"EUR"}`:                                                "amount is missing",
		`{}`:                                                                "amount is missing",
		`{"amount":"1","currency":"EUR","scale":2}`:                         "must have at most 2 members",
		`{"amount":"1","Currency":"EUR"}`:                                   `must have no member "Currency"`,
		`{"amount":"1","value":"1"}`:                                        `must have no member "value"`,
		`{"amount":"1","amount":"1","currency":"EUR"}`:                      `member "amount" stands twice`,
		`{"amount":"1","\u0061mount":"1"}`:                                  `member "amount" stands twice`,
		`null`:                                                              "must be a JSON object",
		`"10.00 EUR"`:                                                       "must be a JSON object",
		`10.00`:                                                             "must be a JSON object",
		`["10.00","EUR"]`:                                                   "must be a JSON object",
		`{"amount":"1","currency":"EUR\ud800"}`:                             "half of a surrogate pair",
		"{\"amount\":\"1\",\"currency\":\"EUR\xff\"}":                       "must be valid UTF-8",
		`{"amount":"10.999","currency":"EUR"}`:                              "must have at most 2 decimals in EUR",
		`{"amount":"10.000","currency":"EUR"}`:                              "must have at most 2 decimals in EUR",
		`{"amount":"0.0000000000000000001","currency":"ETH"}`:               "must have at most 18 decimals, has 19",
		`{"amount":"1e3","currency":"EUR"}`:                                 "must be digits",
		`{"amount":"1\u00a0","currency":"EUR"}`:                             "must be digits",
		`{"amount":"1","currency":"eur"}`:                                   "currency must be an upper-case letter",
		`{"amount":"1","currency":""}`:                                      "currency must not be empty",
		`{"amount":"` + strings.Repeat("1", 300) + `","currency":"EUR"}`:    "must have at most 256 bytes of JSON",
		`{"amount":"1",` + strings.Repeat(" ", 1<<20) + `"currency":"EUR"}`: "must have at most 256 bytes of JSON",
		`{"` + strings.Repeat("x", 200) + `":"1","currency":"EUR"}`:         "must have no member",
		`{"amount":"` + strings.Repeat("9", 100) + `","currency":"EUR"}`:    "must have at most 40 bytes",
	} {
		before := parse(t, "7", "EUR")
		got := before
		err := json.Unmarshal([]byte(text), &got)
		if err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 400 {
			t.Errorf("%.100s is read as %v, error %v, want %q", text, got, err, want)
		}
		if !errors.Is(err, money.ErrInvalid) && !errors.Is(err, money.ErrCurrency) {
			t.Errorf("%.100s: error %v is of no kind", text, err)
		}
		if !got.Equal(before) {
			t.Errorf("%.100s left %v in the place", text, got)
		}
	}
}

func TestUnmarshalJSONNamesBothMembers(t *testing.T) {
	t.Parallel()
	var amount money.Amount
	err := json.Unmarshal([]byte(`{"amount":1,"currency":null}`), &amount)
	if err == nil || !strings.Contains(err.Error(), "amount must be a JSON string") || !strings.Contains(err.Error(), "currency must not be null") {
		t.Errorf("error %v", err)
	}
}

func TestUnmarshalTextRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                             "must be a number, a space and a currency's code",
		"10.00":                        "must be a number, a space and a currency's code",
		"10.00EUR":                     "must be a number, a space and a currency's code",
		"10.00\tEUR":                   "must be a number, a space and a currency's code",
		"10.00  EUR":                   "currency must be an upper-case letter",
		" 10.00 EUR":                   "amount must not be empty",
		"10.00 EUR ":                   "currency must be an upper-case letter",
		"10.00 ":                       "currency must not be empty",
		"EUR 10.00":                    "must be digits",
		"10.999 EUR":                   "must have at most 2 decimals",
		"10.00 EUR" + megabyteOfDigits: "must have at most 57 bytes",
	} {
		before := parse(t, "7", "EUR")
		got := before
		err := got.UnmarshalText([]byte(text))
		if err == nil || !strings.Contains(err.Error(), want) || !got.Equal(before) {
			t.Errorf("%.50q is read as %v, %v, want %q", text, got, err, want)
		}
	}
}

func TestOddsJSONRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`2.5`:                                "odds must be a JSON string: a JSON number loses digits",
		`-1`:                                 "odds must be a JSON string: a JSON number loses digits",
		`null`:                               "odds must not be null",
		`true`:                               "odds must be a JSON string",
		`{}`:                                 "odds must be a JSON string",
		`"2,5"`:                              "must be digits",
		`"1"`:                                "must be greater than 1",
		`"2.5" `:                             "",
		`"2\ud800"`:                          "half of a surrogate pair",
		`"` + strings.Repeat("2", 200) + `"`: "must have at most 128 bytes of JSON",
	} {
		before := parseOdds(t, "7")
		got := before
		err := json.Unmarshal([]byte(text), &got)
		if want == "" {
			if err != nil || got.String() != "2.5" {
				t.Errorf("%s is read as %v, %v", text, got, err)
			}
			continue
		}
		checkRefusal(t, text, err, want)
		if !got.Equal(before) {
			t.Errorf("%s left %v in the place", text, got)
		}
	}
}

// TestOmitZero: what is not set can be left out, and cannot be sent.
func TestOmitZero(t *testing.T) {
	t.Parallel()
	type bet struct {
		Stake money.Amount `json:"stake,omitzero"`
		Bonus money.Amount `json:"bonus,omitzero"`
		Odds  money.Odds   `json:"odds,omitzero"`
		Limit *money.Odds  `json:"limit"`
	}
	text, err := json.Marshal(bet{Bonus: parse(t, "0", "EUR")})
	want := `{"bonus":{"amount":"0.00","currency":"EUR"},"limit":null}`
	if err != nil || string(text) != want {
		t.Errorf("JSON %s, %v, want %s", text, err, want)
	}
	var back bet
	if err := json.Unmarshal(text, &back); err != nil || back.Stake.IsSet() || back.Odds.IsSet() || !back.Bonus.IsSet() {
		t.Errorf("read back as %v, %v", back, err)
	}
	if text, err := json.Marshal(struct{ Stake money.Amount }{}); !errors.Is(err, money.ErrInvalid) {
		t.Errorf("an amount that is not set was sent as %s, error %v", text, err)
	}
}

// TestRoundTrips sends random amounts and odds through every form, and expects
// the same value in the same form.
func TestRoundTrips(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 3))
	for range 2000 {
		code := []string{"JPY", "EUR", "KWD", "CLF", "BTC", "ETH", "POINTS"}[random.IntN(7)]
		amount := randomAmount(t, random, code)
		checkAmountRoundTrips(t, amount)
		checkOddsRoundTrips(t, randomOdds(t, random))
	}
}

func checkAmountRoundTrips(t *testing.T, amount money.Amount) {
	t.Helper()
	var fromText, fromJSON money.Amount
	text, err := amount.MarshalText()
	must(t, err)
	must(t, fromText.UnmarshalText(text))
	encoded, err := json.Marshal(amount)
	must(t, err)
	must(t, json.Unmarshal(encoded, &fromJSON))

	var number money.Numeric
	stored, err := amount.Numeric().Value()
	must(t, err)
	must(t, number.Scan(stored))
	fromNumeric, err := house(t).FromNumeric(number, amount.Currency().Code())
	must(t, err)

	for name, back := range map[string]money.Amount{"text": fromText, "JSON": fromJSON, "NUMERIC": fromNumeric} {
		if back.String() != amount.String() || back.Currency() != amount.Currency() || !cmp.Equal(back, amount) {
			t.Errorf("%v came back as %v through %s", amount, back, name)
		}
	}
	minor, err := amount.Minor()
	if errors.Is(err, money.ErrOverflow) {
		return
	}
	must(t, err)
	stored, err = minor.Value()
	must(t, err)
	var units money.Minor
	must(t, units.Scan(stored))
	fromMinor, err := house(t).FromMinor(int64(units), amount.Currency().Code())
	if err != nil || fromMinor.String() != amount.String() {
		t.Errorf("%v came back as %v, %v through minor units", amount, fromMinor, err)
	}
}

func checkOddsRoundTrips(t *testing.T, odds money.Odds) {
	t.Helper()
	var fromText, fromJSON, fromSQL money.Odds
	text, err := odds.MarshalText()
	must(t, err)
	must(t, fromText.UnmarshalText(text))
	encoded, err := json.Marshal(odds)
	must(t, err)
	must(t, json.Unmarshal(encoded, &fromJSON))
	stored, err := odds.Value()
	must(t, err)
	must(t, fromSQL.Scan(stored))
	for name, back := range map[string]money.Odds{"text": fromText, "JSON": fromJSON, "SQL": fromSQL} {
		if back.String() != odds.String() || !back.Equal(odds) {
			t.Errorf("%v came back as %v through %s", odds, back, name)
		}
	}
}
