package acceptance_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/acceptance/money"
)

// wrongFields returns the fields of an InvalidError, each with its rule.
func wrongFields(tb testing.TB, err error) []string {
	tb.Helper()
	if err == nil {
		return nil
	}
	if !errors.Is(err, acceptance.ErrInvalid) {
		tb.Errorf("errors.Is(%v, ErrInvalid) is false", err)
	}
	invalid, ok := errors.AsType[*acceptance.InvalidError](err)
	if !ok {
		tb.Fatalf("%v is no InvalidError", err)
	}
	wrong := make([]string, len(invalid.Fields))
	for i, field := range invalid.Fields {
		wrong[i] = field.Field + " " + field.Rule
		if !strings.Contains(err.Error(), wrong[i]) {
			tb.Errorf("Error() does not say %q: %v", wrong[i], err)
		}
	}
	return wrong
}

func long(length int) string { return strings.Repeat("x", length) }

func nested(depth int) json.RawMessage {
	return json.RawMessage(`{"a":` + strings.Repeat("[", depth) + strings.Repeat("]", depth) + `}`)
}

// legs sets count legs that differ.
func legs(tb testing.TB, c *acceptance.Command, count int) {
	tb.Helper()
	c.Legs = make([]acceptance.Leg, count)
	for i := range c.Legs {
		c.Legs[i] = leastCommand(tb).Legs[0]
		c.Legs[i].Event = fmt.Sprintf("match-%d", i)
	}
}

func system(tb testing.TB, c *acceptance.Command, count int, sizes ...int) {
	tb.Helper()
	legs(tb, c, count)
	c.Type = acceptance.BetType{Kind: acceptance.System, Sizes: sizes}
}

type validation struct {
	name   string
	change func(c *acceptance.Command)
	want   string // the one wrong field with its rule, or "" where all is well
}

func checkValidations(t *testing.T, rows []validation) {
	t.Helper()
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			c := leastCommand(t)
			row.change(&c)
			var want []string
			if row.want != "" {
				want = []string{row.want}
			}
			if diff := cmp.Diff(want, wrongFields(t, c.Validate())); diff != "" {
				t.Errorf("wrong fields (-want +got):\n%s", diff)
			}
			if _, err := c.Fingerprint(true); row.want == "" && err != nil {
				t.Errorf("a valid command has no fingerprint: %v", err)
			}
		})
	}
}

func TestValidateKey(t *testing.T) {
	t.Parallel()
	checkValidations(t, []validation{
		{"least", func(*acceptance.Command) {}, ""},
		{"full", func(c *acceptance.Command) { *c = fullCommand(t) }, ""},
		{"no tenant", func(c *acceptance.Command) { c.Tenant = "" }, "tenant must not be empty"},
		{"long tenant", func(c *acceptance.Command) { c.Tenant = long(129) }, "tenant must have at most 128 bytes, has 129"},
		{"longest tenant", func(c *acceptance.Command) { c.Tenant = long(128) }, ""},
		{"tenant not UTF-8", func(c *acceptance.Command) { c.Tenant = "\xff" }, "tenant must be valid UTF-8"},
		{"no wallet", func(c *acceptance.Command) { c.Wallet = "" }, "wallet must not be empty"},
		{"long wallet", func(c *acceptance.Command) { c.Wallet = long(129) }, "wallet must have at most 128 bytes, has 129"},
		{"longest wallet", func(c *acceptance.Command) { c.Wallet = long(128) }, ""},
		{"control in wallet", func(c *acceptance.Command) { c.Wallet = "a\n" }, "wallet must not hold control characters or Unicode noncharacters"},
		{"no id", func(c *acceptance.Command) { c.ID = "" }, "id must not be empty"},
		{"long id", func(c *acceptance.Command) { c.ID = long(257) }, "id must have at most 256 bytes, has 257"},
		{"longest id", func(c *acceptance.Command) { c.ID = long(256) }, ""},
		{"noncharacter in id", func(c *acceptance.Command) { c.ID = "\ufffe" }, "id must not hold control characters or Unicode noncharacters"},
		{"long consents", func(c *acceptance.Command) { c.Consents = long(257) }, "consents must have at most 256 bytes, has 257"},
		{"longest consents", func(c *acceptance.Command) { c.Consents = long(256) }, ""},
		{"control in consents", func(c *acceptance.Command) { c.Consents = "\x00" }, "consents must not hold control characters or Unicode noncharacters"},
		{"consents to itself", func(c *acceptance.Command) { c.Consents = c.ID }, "consents must name another command than this one"},
	})
}

func TestValidateLegs(t *testing.T) {
	t.Parallel()
	another := func(change func(l *acceptance.Leg)) func(c *acceptance.Command) {
		return func(c *acceptance.Command) {
			c.Type.Kind = acceptance.Accumulator
			leg := c.Legs[0]
			change(&leg)
			c.Legs = append(c.Legs, leg)
		}
	}
	checkValidations(t, []validation{
		{"none", func(c *acceptance.Command) { c.Legs = nil }, "legs must be 1 to 64, are 0"},
		{"too many", func(c *acceptance.Command) { system(t, c, 65, 1) }, "legs must be 1 to 64, are 65"},
		{"most", func(c *acceptance.Command) { system(t, c, 64, 1) }, ""},
		{"no event", func(c *acceptance.Command) { c.Legs[0].Event = "" }, "legs[0].event must be set"},
		{"long event", func(c *acceptance.Command) { c.Legs[0].Event = long(129) }, "legs[0].event must have at most 128 bytes, has 129"},
		{"longest event", func(c *acceptance.Command) { c.Legs[0].Event = long(128) }, ""},
		{"no market", func(c *acceptance.Command) { c.Legs[0].Market = "" }, "legs[0].market must be set"},
		{"market not UTF-8", func(c *acceptance.Command) { c.Legs[0].Market = "a\xc3" }, "legs[0].market must be valid UTF-8"},
		{"no selection", func(c *acceptance.Command) { c.Legs[0].Selection = "" }, "legs[0].selection must be set"},
		{"control in selection", func(c *acceptance.Command) { c.Legs[0].Selection = "\u0085" }, "legs[0].selection must not hold control characters"},
		{"long line", func(c *acceptance.Command) { c.Legs[0].Line = long(129) }, "legs[0].line must have at most 128 bytes, has 129"},
		{"line", func(c *acceptance.Command) { c.Legs[0].Line = "2.5" }, ""},
		{"no quote version", func(c *acceptance.Command) { c.Legs[0].QuoteVersion = "" }, "legs[0].quote_version must be set"},
		{"long quote version", func(c *acceptance.Command) { c.Legs[0].QuoteVersion = long(129) }, "legs[0].quote_version must have at most 128 bytes, has 129"},
		{"no odds", func(c *acceptance.Command) { c.Legs[0].Odds = money.Odds{} }, "legs[0].odds must be set"},
		{"long proof", func(c *acceptance.Command) { c.Legs[0].Proof = long(4097) }, "legs[0].proof must have at most 4096 bytes, has 4097"},
		{"longest proof", func(c *acceptance.Command) { c.Legs[0].Proof = long(4096) }, ""},
		{"proof not UTF-8", func(c *acceptance.Command) { c.Legs[0].Proof = "\xff" }, "legs[0].proof must be valid UTF-8"},
		{"same selection", another(func(l *acceptance.Leg) { l.QuoteVersion, l.Odds, l.Proof = "v2", oddsOf(t, "3"), "p" }), "legs[1] must not have the event, market, selection and line of legs[0]"},
		{"other event", another(func(l *acceptance.Leg) { l.Event = "match-2" }), ""},
		{"other market", another(func(l *acceptance.Leg) { l.Market = "total" }), ""},
		{"other selection", another(func(l *acceptance.Leg) { l.Selection = "away" }), ""},
		{"other line", another(func(l *acceptance.Leg) { l.Line = "1" }), ""},
	})
}

func TestValidateType(t *testing.T) {
	t.Parallel()
	kind := func(kind acceptance.BetKind, count int, sizes ...int) func(c *acceptance.Command) {
		return func(c *acceptance.Command) {
			legs(t, c, count)
			c.Type = acceptance.BetType{Kind: kind, Sizes: sizes}
		}
	}
	ascending := make([]int, 64)
	for i := range ascending {
		ascending[i] = i + 1
	}
	checkValidations(t, []validation{
		{"none", kind("", 1), `type.kind must be "single", "accumulator" or "system"`},
		{"unknown", kind("Single", 1), `type.kind must be "single", "accumulator" or "system"`},
		{"single of two", kind(acceptance.Single, 2), "legs must be exactly one for a single, are 2"},
		{"single with sizes", kind(acceptance.Single, 1, 1), `type.sizes must be left out unless the kind is "system"`},
		{"accumulator of one", kind(acceptance.Accumulator, 1), "legs must be at least two for an accumulator, are 1"},
		{"accumulator of two", kind(acceptance.Accumulator, 2), ""},
		{"accumulator with sizes", kind(acceptance.Accumulator, 2, 2), `type.sizes must be left out unless the kind is "system"`},
		{"system without sizes", kind(acceptance.System, 3), "type.sizes must be 1 to 3, as many as there are legs, for a system; are 0"},
		{"system of all sizes", kind(acceptance.System, 3, 1, 2, 3), ""},
		{"system without legs", kind(acceptance.System, 0, 2, 3), "legs must be 1 to 64, are 0"},
		{"size zero", kind(acceptance.System, 3, 0, 1), "type.sizes[0] must be from 1 to 3, the number of legs; is 0"},
		{"size beyond the legs", kind(acceptance.System, 3, 2, 4), "type.sizes[1] must be from 1 to 3, the number of legs; is 4"},
		{"size twice", kind(acceptance.System, 3, 2, 2), "type.sizes[1] must be greater than the size before it"},
		{"descending", kind(acceptance.System, 3, 3, 2), "type.sizes[1] must be greater than the size before it"},
		{"more sizes than legs", kind(acceptance.System, 3, 1, 2, 3, 3), "type.sizes must be 1 to 3, as many as there are legs, for a system; are 4"},
		{"most lines", kind(acceptance.System, 20, ascending[:20]...), ""},
		{"too many lines", kind(acceptance.System, 21, ascending[:21]...), "type.sizes must make at most 1048576 lines"},
		{"too many lines for 64 bits", kind(acceptance.System, 64, ascending...), "type.sizes must make at most 1048576 lines"},
	})
}

func TestValidateStake(t *testing.T) {
	t.Parallel()
	greatest := strings.Repeat("9", 36) + ".99 EUR"
	checkValidations(t, []validation{
		{"none", func(c *acceptance.Command) { c.Stake = money.Amount{} }, "stake must be set"},
		{"none a line", func(c *acceptance.Command) { c.Stake, c.StakeMode = money.Amount{}, acceptance.StakePerLine }, "stake must be set"},
		{"zero", func(c *acceptance.Command) { c.Stake = stakeOf(t, "0.00 EUR") }, "stake must be greater than zero"},
		{"negative", func(c *acceptance.Command) { c.Stake = stakeOf(t, "-0.01 EUR") }, "stake must be greater than zero"},
		{"least", func(c *acceptance.Command) { c.Stake = stakeOf(t, "0.01 EUR") }, ""},
		{"total by name", func(c *acceptance.Command) { c.StakeMode = acceptance.StakeTotal }, ""},
		{"unknown mode", func(c *acceptance.Command) { c.StakeMode = "each" }, `stake_mode must be "total" or "per_line", or left out`},
		{"greatest total", func(c *acceptance.Command) { system(t, c, 3, 1); c.Stake = stakeOf(t, greatest) }, ""},
		{
			"total overflows", func(c *acceptance.Command) {
				system(t, c, 3, 1)
				c.Stake, c.StakeMode = stakeOf(t, greatest), acceptance.StakePerLine
			},
			"stake must have a total over 3 lines that is an amount: money: overflow: 39 digits in EUR with its 2 decimals, at most 38",
		},
	})
}

func TestValidateOddsChangeAndFunding(t *testing.T) {
	t.Parallel()
	policy := func(policy acceptance.OddsPolicy, within int) func(c *acceptance.Command) {
		return func(c *acceptance.Command) {
			c.OddsChange = acceptance.OddsChange{Policy: policy, WithinBasisPoints: within}
		}
	}
	checkValidations(t, []validation{
		{"exact", policy(acceptance.OddsExact, 0), ""},
		{"better", policy(acceptance.OddsBetter, 0), ""},
		{"unknown", policy("none", 0), `odds_change.policy must be "exact", "better" or "any", or left out`},
		{"bound without policy", policy("", 1), `odds_change.within_basis_points must be left out unless the policy is "any"`},
		{"bound of exact", policy(acceptance.OddsExact, 1), `odds_change.within_basis_points must be left out unless the policy is "any"`},
		{"bound of better", policy(acceptance.OddsBetter, -1), `odds_change.within_basis_points must be left out unless the policy is "any"`},
		{"any without bound", policy(acceptance.OddsAny, 0), `odds_change.within_basis_points must be from 1 to 10000 under the policy "any", is 0`},
		{"least bound", policy(acceptance.OddsAny, 1), ""},
		{"greatest bound", policy(acceptance.OddsAny, 10_000), ""},
		{"bound too great", policy(acceptance.OddsAny, 10_001), `odds_change.within_basis_points must be from 1 to 10000 under the policy "any", is 10001`},
		{"funding", func(c *acceptance.Command) { c.Funding = long(128) }, ""},
		{"long funding", func(c *acceptance.Command) { c.Funding = long(129) }, "funding must have at most 128 bytes, has 129"},
		{"control in funding", func(c *acceptance.Command) { c.Funding = "\t" }, "funding must not hold control characters"},
	})
}

func TestValidateExtraAndMeta(t *testing.T) {
	t.Parallel()
	extra := func(text string) func(c *acceptance.Command) {
		return func(c *acceptance.Command) { c.Extra = json.RawMessage(text) }
	}
	meta := func(name, value string) func(c *acceptance.Command) {
		return func(c *acceptance.Command) { c.Meta = map[string]string{"ok": "ok", name: value} }
	}
	entries := func(count int) func(c *acceptance.Command) {
		return func(c *acceptance.Command) {
			c.Meta = map[string]string{}
			for i := range count {
				c.Meta[fmt.Sprint(i)] = ""
			}
		}
	}
	checkValidations(t, []validation{
		{"empty extra", extra(""), ""},
		{"object", extra(" \t\r\n{} "), ""},
		{"longest extra", extra(`{"a":"` + long(16<<10-8) + `"}`), ""},
		{"long extra", extra(`{"a":"` + long(16<<10-7) + `"}`), "extra must have at most 16384 bytes, has 16385"},
		{"array", extra("[]"), "extra must be a JSON object"},
		{"null", extra("null"), "extra must be a JSON object"},
		{"white space", extra("  "), "extra must be a JSON object"},
		{"two objects", extra("{}{}"), "extra is not valid JSON: expected the end of the text at byte 2"},
		{"duplicate", extra(`{"a":{"b":1,"b":1}}`), "extra.a.b is a duplicate member"},
		{"surrogate", extra(`{"a":["\ud800"]}`), "extra.a[0] must not hold an unpaired surrogate"},
		{"extra not UTF-8", extra("{\"a\":\"\xff\"}"), "extra.a must be valid UTF-8"},
		{"deepest", func(c *acceptance.Command) { c.Extra = nested(254) }, ""},
		{"too deep", func(c *acceptance.Command) { c.Extra = nested(255) }, "extra.a" + strings.Repeat("[0]", 30) + "… is a cycle, or more than 256 levels deep"},
		{"most entries", entries(64), ""},
		{"too many entries", entries(65), "meta must have at most 64 entries, has 65"},
		{"longest entry", meta(long(1024), long(1024)), ""},
		{"anything that is text", meta("", "a\x00\n"), ""},
		{"long value", meta("a", long(1025)), "meta.a must have a name and a value of valid UTF-8 with at most 1024 bytes each"},
		{"long name", meta(long(1025), ""), `meta["` + long(64) + `"…] must have a name and a value of valid UTF-8 with at most 1024 bytes each`},
		{"value not UTF-8", meta("a b", "\xff"), `meta["a b"] must have a name and a value of valid UTF-8 with at most 1024 bytes each`},
		{"name not UTF-8", meta("\xff", ""), `meta["\xff"] must have a name and a value of valid UTF-8 with at most 1024 bytes each`},
	})
}

func TestValidateNamesEveryWrongFieldAtOnce(t *testing.T) {
	t.Parallel()
	c := acceptance.Command{
		Tenant: "\x00", ID: "1", Consents: "1",
		Legs: []acceptance.Leg{
			{Event: long(129), Selection: "home", Line: "\xff", QuoteVersion: "1", Odds: oddsOf(t, "2")},
			{Event: "e", Market: "m", Selection: "s", QuoteVersion: "1", Odds: oddsOf(t, "2"), Proof: "\n"},
			{Event: "e", Market: "m", Selection: "s"},
		},
		Type:       acceptance.BetType{Kind: acceptance.System, Sizes: []int{4, 3, 0}},
		StakeMode:  "each",
		OddsChange: acceptance.OddsChange{Policy: "none", WithinBasisPoints: 7},
		Funding:    "\n",
		Extra:      json.RawMessage(`{"a":1,"a":2}`),
		Meta:       map[string]string{"b": "\xff", "a": "\xff", "c": ""},
	}
	want := []string{
		"tenant must not hold control characters or Unicode noncharacters",
		"wallet must not be empty",
		"legs[0].event must have at most 128 bytes, has 129",
		"legs[0].market must be set",
		"legs[0].line must be valid UTF-8",
		"legs[1].proof must not hold control characters",
		"legs[2].quote_version must be set",
		"legs[2].odds must be set",
		"legs[2] must not have the event, market, selection and line of legs[1]",
		"type.sizes[0] must be from 1 to 3, the number of legs; is 4",
		"type.sizes[1] must be greater than the size before it",
		"type.sizes[2] must be from 1 to 3, the number of legs; is 0",
		"stake must be set",
		`stake_mode must be "total" or "per_line", or left out`,
		`odds_change.policy must be "exact", "better" or "any", or left out`,
		"funding must not hold control characters",
		"consents must name another command than this one",
		"extra.a is a duplicate member",
		"meta.a must have a name and a value of valid UTF-8 with at most 1024 bytes each",
		"meta.b must have a name and a value of valid UTF-8 with at most 1024 bytes each",
	}
	if diff := cmp.Diff(want, wrongFields(t, c.Validate())); diff != "" {
		t.Errorf("wrong fields (-want +got):\n%s", diff)
	}
	if _, err := c.MarshalJSON(); err == nil || !strings.Contains(err.Error(), "legs[0].event") {
		t.Errorf("MarshalJSON of an invalid command: %v", err)
	}
}
