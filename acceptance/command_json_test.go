package acceptance_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/acceptance"
)

const fullJSON = `{"tenant":"shop","wallet":"w-7","id":"0199a1b2-0000-7000-8000-000000000001",` +
	`"legs":[{"event":"match-1","market":"winner","selection":"home","quote_version":"v17","odds":"2.1","proof":"signed-1"},` +
	`{"event":"match-2","market":"total","selection":"over","line":"2.5","quote_version":"v3","odds":"1.91"},` +
	`{"event":"match-3","market":"handicap","selection":"größer","line":"-1","quote_version":"v9","odds":"3.4"}],` +
	`"type":{"kind":"system","sizes":[2,3]},"stake":{"amount":"2.50","currency":"EUR"},"stake_mode":"per_line",` +
	`"odds_change":{"policy":"any","within_basis_points":500},"funding":"bonus-2026",` +
	`"consents":"0199a1b2-0000-7000-8000-000000000000","extra":{"each_way":false,"note":"<b>&</b>"},` +
	`"meta":{"device":"phone","trace":"00-af","user agent":"x\ny"}}`

const leastJSON = `{"tenant":"shop","wallet":"w-7","id":"bet-1",` +
	`"legs":[{"event":"match-1","market":"winner","selection":"home","quote_version":"v1","odds":"2.1"}],` +
	`"type":{"kind":"single"},"stake":{"amount":"10.00","currency":"EUR"}}`

// TestJSONOfCommandIsStable pins the form: clients send it, and desks store it.
func TestJSONOfCommandIsStable(t *testing.T) {
	t.Parallel()
	for text, c := range map[string]acceptance.Command{fullJSON: fullCommand(t), leastJSON: leastCommand(t)} {
		got, err := c.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(text, string(got)); diff != "" {
			t.Errorf("JSON (-want +got):\n%s", diff)
		}
		var read acceptance.Command
		if err := read.UnmarshalJSON(got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c, read); diff != "" {
			t.Errorf("read back (-want +got):\n%s", diff)
		}
	}
}

// TestFullCommandIsFull fails where a field was added that the tests above do
// not carry through JSON.
func TestFullCommandIsFull(t *testing.T) {
	t.Parallel()
	c := fullCommand(t)
	for _, value := range []any{c, c.Legs[0], c.Legs[1], c.Type, c.OddsChange} {
		of := reflect.ValueOf(value)
		for i := range of.NumField() {
			name := of.Type().Field(i).Name
			if name == "Line" || name == "Proof" { // Each leg has one of the two.
				continue
			}
			if of.Field(i).IsZero() {
				t.Errorf("%s.%s is not set", of.Type().Name(), name)
			}
		}
	}
	if c.Legs[0].Proof == "" || c.Legs[1].Line == "" {
		t.Error("no leg has a line, or none has a proof")
	}
}

// TestJSONOfCommandThroughStandardLibrary checks that json.Marshal and
// json.Unmarshal keep the command within another value.
func TestJSONOfCommandThroughStandardLibrary(t *testing.T) {
	t.Parallel()
	want := []acceptance.Command{fullCommand(t), leastCommand(t)}
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var read []acceptance.Command
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(mustFingerprint(t, &want[0], false), mustFingerprint(t, &read[0], false)); diff != "" {
		t.Errorf("fingerprint (-want +got):\n%s", diff)
	}
	want[0].Extra = json.RawMessage(`{"each_way":false,"note":"\u003cb\u003e\u0026\u003c/b\u003e"}`) // the escapes that json.Marshal adds
	if diff := cmp.Diff(want, read); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
}

func TestJSONOfCommandReads(t *testing.T) {
	t.Parallel()
	replace := func(old, with string) string {
		if !strings.Contains(leastJSON, old) {
			t.Fatalf("%s is not in the JSON", old)
		}
		return strings.Replace(leastJSON, old, with, 1)
	}
	for name, test := range map[string]struct {
		text string
		want func(c *acceptance.Command)
	}{
		"white space":           {" \n" + strings.ReplaceAll(leastJSON, ",", " ,\t\r\n") + " ", func(*acceptance.Command) {}},
		"escapes":               {replace(`"w-7"`, `"\u0077-\uD83D\uDE00"`), func(c *acceptance.Command) { c.Wallet = "w-😀" }},
		"key left out":          {replace(`"tenant":"shop","wallet":"w-7","id":"bet-1",`, ``), func(c *acceptance.Command) { c.Tenant, c.Wallet, c.ID = "", "", "" }},
		"empty parts":           {replace(`{`, `{"funding":"","consents":"","stake_mode":"","odds_change":{},"meta":{},`), func(*acceptance.Command) {}},
		"no sizes":              {replace(`"single"`, `"single","sizes":[]`), func(*acceptance.Command) {}},
		"white space in extra":  {replace(`{`, `{"extra": { "a" : [ 1.50 , "b c" ] },`), func(c *acceptance.Command) { c.Extra = json.RawMessage(`{"a":[1.50,"b c"]}`) }},
		"zeros behind the odds": {replace(`"2.1"`, `"2.1000"`), func(*acceptance.Command) {}},
		"fewer decimals":        {replace(`"10.00"`, `"10"`), func(*acceptance.Command) {}},
		"currency of the house": {replace(`"10.00","currency":"EUR"`, `"0.00010","currency":"BTC"`), func(c *acceptance.Command) { c.Stake = stakeOf(t, "0.00010 BTC") }},
		"broken rules":          {replace(`"single"`, `"triple"`), func(c *acceptance.Command) { c.Type.Kind = "triple" }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := leastCommand(t)
			test.want(&want)
			got := fullCommand(t) // nothing of it may stay
			if err := got.UnmarshalJSON([]byte(test.text)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("command (-want +got):\n%s", diff)
			}
		})
	}
}

func TestJSONOfCommandRefuses(t *testing.T) {
	t.Parallel()
	const floats = "must be a JSON string: a JSON number loses digits in readers that take it for a float"
	replace := func(old, with string) string {
		if !strings.Contains(fullJSON, old) {
			t.Fatalf("%s is not in the JSON", old)
		}
		return strings.Replace(fullJSON, old, with, 1)
	}
	for name, test := range map[string]struct{ text, want string }{
		"no text":                {``, "$ must be one valid JSON text"},
		"null":                   {`null`, "$ must be a JSON object"},
		"array":                  {`[` + fullJSON + `]`, "$ must be a JSON object"},
		"truncated":              {fullJSON[:len(fullJSON)-1], "$ must be one valid JSON text"},
		"text behind":            {fullJSON + `{}`, "$ must be one valid JSON text"},
		"not UTF-8":              {replace("shop", "\xff"), "$ must be valid UTF-8"},
		"half a surrogate":       {replace("shop", `\ud800`), "$ must not hold half of a surrogate pair"},
		"too long":               {fullJSON + strings.Repeat(" ", acceptance.MaxJSON), "$ must have at most 4194304 bytes, has "},
		"too many members":       {replace(`{`, `{`+numbered(24)), "$ must have at most 24 members"},
		"unknown":                {replace(`{`, `{"stakes":1,`), "stakes is not known"},
		"unknown, not plain":     {replace(`{`, `{"a b":1,`), `["a b"] is not known`},
		"unknown and long":       {replace(`{`, `{"`+long(1000)+`":1,`), `["` + long(64) + `"…] is not known`},
		"other capitals":         {replace(`"tenant"`, `"Tenant"`), "Tenant must be written tenant"},
		"capitals beside":        {replace(`{`, `{"STAKE":1,`), "STAKE must be written stake"},
		"folded letter":          {replace(`{`, `{"ſtake":1,`), `["ſtake"] must be written stake`},
		"doubled":                {replace(`{`, `{"id":"1",`), `$ member "id" stands twice`},
		"doubled by escape":      {replace(`{`, `{"\u0069d":"1",`), `$ member "id" stands twice`},
		"null text":              {replace(`"shop"`, `null`), "tenant must be left out instead of null"},
		"number as text":         {replace(`"shop"`, `7`), "tenant " + floats},
		"negative number":        {replace(`"bonus-2026"`, `-7`), "funding " + floats},
		"object as text":         {replace(`"w-7"`, `{}`), "wallet must be a JSON string"},
		"number as stake mode":   {replace(`"per_line"`, `1`), "stake_mode " + floats},
		"legs object":            {strings.Replace(replace(`"legs":[`, `"legs":{"a":[`), `],"type"`, `]},"type"`, 1), "legs must be a JSON array"},
		"leg text":               {replace(`"legs":[`, `"legs":["a",`), "legs[0] must be a JSON object"},
		"unknown in leg":         {replace(`"event":"match-2"`, `"event":"match-2","price":2`), "legs[1].price is not known"},
		"doubled in leg":         {replace(`"odds":"1.91"`, `"odds":"1.91","odds":"9"`), `legs[1] member "odds" stands twice`},
		"capitals in leg":        {replace(`"line":"2.5"`, `"Line":"2.5"`), "legs[1].Line must be written line"},
		"number as odds":         {replace(`"1.91"`, `1.91`), "legs[1].odds " + floats},
		"number as line":         {replace(`"line":"2.5"`, `"line":2.5`), "legs[1].line " + floats},
		"odds of one":            {replace(`"1.91"`, `"1.00"`), "legs[1].odds must be greater than 1"},
		"null proof":             {replace(`"signed-1"`, `null`), "legs[0].proof must be left out instead of null"},
		"type text":              {replace(`{"kind":"system","sizes":[2,3]}`, `"system"`), "type must be a JSON object"},
		"unknown in type":        {replace(`"kind":"system"`, `"kind":"system","size":2`), "type.size is not known"},
		"number as kind":         {replace(`"kind":"system"`, `"kind":1`), "type.kind " + floats},
		"sizes number":           {replace(`[2,3]`, `2`), "type.sizes must be a JSON array"},
		"size text":              {replace(`[2,3]`, `[2,"3"]`), "type.sizes[1] must be a JSON number that is an integer of 64 bits"},
		"size fraction":          {replace(`[2,3]`, `[2.0,3]`), "type.sizes[0] must be a JSON number that is an integer of 64 bits"},
		"size null":              {replace(`[2,3]`, `[2,null]`), "type.sizes[1] must be a JSON number that is an integer of 64 bits"},
		"size too great":         {replace(`[2,3]`, `[2,9223372036854775808]`), "type.sizes[1] must be a JSON number that is an integer of 64 bits"},
		"too many sizes":         {replace(`[2,3]`, `[`+strings.Repeat("1,", 64)+`1]`), "type.sizes must have at most 64 elements"},
		"stake number":           {replace(`{"amount":"2.50","currency":"EUR"}`, `2.50`), "stake must be a JSON object"},
		"stake text":             {replace(`{"amount":"2.50","currency":"EUR"}`, `"2.50 EUR"`), "stake must be a JSON object"},
		"amount number":          {replace(`"2.50"`, `2.50`), "stake.amount " + floats},
		"amount missing":         {replace(`"amount":"2.50",`, ``), "stake.amount is missing"},
		"amount not a number":    {replace(`"2.50"`, `"2,50"`), "stake.amount must be"},
		"amount with more":       {replace(`"2.50"`, `"2.500"`), "stake.amount must have at most 2 decimals in EUR, has 3"},
		"currency code":          {replace(`"EUR"`, `"eur"`), "stake.currency must be"},
		"capitals in stake":      {replace(`"amount"`, `"Amount"`), "stake.Amount must be written amount"},
		"unknown in stake":       {replace(`"amount"`, `"scale":2,"amount"`), "stake.scale is not known"},
		"doubled in stake":       {replace(`"amount":"2.50"`, `"amount":"2.50","amount":"2.50"`), `stake member "amount" stands twice`},
		"odds change text":       {replace(`{"policy":"any","within_basis_points":500}`, `"any"`), "odds_change must be a JSON object"},
		"bound text":             {replace(`500`, `"500"`), "odds_change.within_basis_points must be a JSON number that is an integer of 64 bits"},
		"bound exponent":         {replace(`500`, `5e2`), "odds_change.within_basis_points must be a JSON number that is an integer of 64 bits"},
		"unknown in odds change": {replace(`"policy":"any"`, `"policy":"any","within":5`), "odds_change.within is not known"},
		"extra text":             {replace(`{"each_way":false,"note":"<b>&</b>"}`, `"{}"`), "extra must be a JSON object"},
		"extra null":             {replace(`{"each_way":false,"note":"<b>&</b>"}`, `null`), "extra must be left out instead of null"},
		"meta array":             {replace(`{"device":"phone","trace":"00-af","user agent":"x\ny"}`, `[]`), "meta must be a JSON object"},
		"meta number":            {replace(`"phone"`, `7`), "meta.device " + floats},
		"meta null":              {replace(`"x\ny"`, `null`), `meta["user agent"] must be a JSON string`},
		"meta doubled":           {replace(`"trace":`, `"device":`), `meta member "device" stands twice`},
		"too many entries":       {replace(`"meta":{`, `"meta":{`+numbered(64)), "meta must have at most 64 members"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := leastCommand(t)
			err := got.UnmarshalJSON([]byte(test.text))
			if err == nil {
				t.Fatal("accepted")
			}
			if wrong := wrongFields(t, err); len(wrong) != 1 || !strings.HasPrefix(wrong[0], test.want) {
				t.Errorf("wrong fields %q, want %q alone", wrong, test.want)
			}
			if len(err.Error()) > 1000 {
				t.Errorf("an error of %d bytes", len(err.Error()))
			}
			if diff := cmp.Diff(leastCommand(t), got); diff != "" {
				t.Errorf("the command changed (-want +got):\n%s", diff)
			}
		})
	}
}

// numbered returns members that nobody knows.
func numbered(count int) string {
	var text strings.Builder
	for i := range count {
		text.WriteString(`"n` + strings.Repeat("x", i) + `":"",`)
	}
	return text.String()
}

// TestJSONOfCommandNamesEveryWrongFieldAtOnce mixes wrong forms with broken
// rules. The key's parts may come from elsewhere, so that they are not missed.
func TestJSONOfCommandNamesEveryWrongFieldAtOnce(t *testing.T) {
	t.Parallel()
	text := `{"wallet":7,"Stake":1,"legs":[{"event":"e","selection":"","odds":2,"quote_version":"1"},null,{"odds":"0.5"}],
		"type":{"sizes":2},"stake":{"amount":5,"code":"EUR"},"odds_change":{"policy":"any"},"extra":{"a":1,"a":2},"meta":{"a":1}}`
	want := []string{
		"wallet must be a JSON string: a JSON number loses digits in readers that take it for a float",
		"Stake must be written stake",
		"legs[0].odds must be a JSON string: a JSON number loses digits in readers that take it for a float",
		"legs[1] must be a JSON object",
		"legs[2].odds must be greater than 1",
		"type.sizes must be a JSON array",
		"stake.amount must be a JSON string: a JSON number loses digits in readers that take it for a float",
		"stake.code is not known",
		"meta.a must be a JSON string: a JSON number loses digits in readers that take it for a float",
		"legs[0].market must be set",
		"legs[0].selection must be set",
		"legs[2].event must be set",
		"legs[2].market must be set",
		"legs[2].selection must be set",
		"legs[2].quote_version must be set",
		`type.kind must be "single", "accumulator" or "system"`,
		`odds_change.within_basis_points must be from 1 to 10000 under the policy "any", is 0`,
		"extra.a is a duplicate member",
	}
	var c acceptance.Command
	if diff := cmp.Diff(want, wrongFields(t, c.UnmarshalJSON([]byte(text)))); diff != "" {
		t.Errorf("wrong fields (-want +got):\n%s", diff)
	}
}

// TestLongestCommandHasJSON makes everything as long as it may be, of
// characters that JSON escapes at the greatest length.
func TestLongestCommandHasJSON(t *testing.T) {
	t.Parallel()
	c := fullCommand(t)
	c.Tenant, c.Wallet = strings.Repeat("<", 128), strings.Repeat(">", 128)
	c.ID, c.Consents = strings.Repeat("<", 256), strings.Repeat(">", 256)
	system(t, &c, acceptance.MaxLegs, 1)
	for i := range c.Legs {
		text := strings.Repeat("&", acceptance.MaxText-1) + string(rune('0'+i))
		c.Legs[i] = acceptance.Leg{
			Event: text, Market: text, Selection: text, Line: text, QuoteVersion: text,
			Odds: oddsOf(t, "999999.1234567891"), Proof: strings.Repeat("<", acceptance.MaxProof),
		}
	}
	c.Funding = strings.Repeat("<", acceptance.MaxText)
	c.Extra = json.RawMessage(`{"a":"` + strings.Repeat("<", acceptance.MaxExtra-8) + `"}`)
	c.Meta = map[string]string{}
	for i := range acceptance.MaxMeta {
		c.Meta[strings.Repeat("\x01", acceptance.MaxMetaText-1)+string(rune('0'+i))] = strings.Repeat("\x01", acceptance.MaxMetaText)
	}
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes", len(text))
	var read acceptance.Command
	if err := read.UnmarshalJSON(text); err != nil {
		t.Fatal(err)
	}
	c.Extra, read.Extra = nil, nil // The escapes in it stay.
	if diff := cmp.Diff(c, read); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
}
