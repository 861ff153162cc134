package acceptance

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/settleonce/settleonce/acceptance/money"
)

// MaxJSON is the greatest length in bytes of a command's JSON. No command that
// [Command.Validate] passes needs more, however it is escaped.
const MaxJSON = 4 << 20

var (
	_ json.Marshaler   = Command{}
	_ json.Unmarshaler = (*Command)(nil)
)

// MarshalJSON returns the command with its members in a fixed order, and Extra
// without its white space. A command that breaks a rule is an error as
// [Command.Validate] reports it, since JSON could not carry all of it; only
// Tenant, Wallet and ID may be empty, for a server that knows them from
// elsewhere.
//
// json.Marshal rewrites what this method returns, escaping <, > and &, which
// changes nothing of its meaning.
func (c Command) MarshalJSON() ([]byte, error) {
	var found violations
	c.checkDocument(&found)
	if err := found.err(); err != nil {
		return nil, err
	}
	type plain Command // without this method
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(plain(c)); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), nil
}

// UnmarshalJSON reads what [Command.MarshalJSON] writes, in any order and with
// any white space. It is strict: members that are unknown, stand twice, are
// null or are written with other capitals are errors, and so is a number where
// a string is due, since many readers of JSON lose digits of numbers.
//
// It checks the form; [Command.Validate] checks the rules, once the members
// that do not come as JSON are set too. A member that is left out is empty.
// Where the form is wrong, the error names the broken rules as well, except for
// an empty Tenant, Wallet and ID, so that one answer names every wrong field.
//
// After an error c is unchanged. errors.Is(err, [ErrInvalid]) is true for every
// error, and errors.As finds an [*InvalidError]. An amount in a currency that
// ISO 4217 does not have comes with as many decimals as are written, until a
// registry has checked it. Only the command as a whole is read strictly: a
// [Leg], [BetType] or [OddsChange] by itself is read as encoding/json does.
func (c *Command) UnmarshalJSON(text []byte) error {
	var r jsonReader
	read := r.command(text)
	if len(r.found) == 0 {
		*c = read
		return nil
	}
	if !r.found.cover(wholeDocument) {
		read.checkDocument(&r.found)
	}
	return r.found.err()
}

func (r *jsonReader) command(text []byte) (c Command) {
	if len(text) > MaxJSON {
		r.found.add(wholeDocument, "must have at most %d bytes, has %d", MaxJSON, len(text))
		return c
	}
	r.object("", text,
		member{"tenant", readText(r, &c.Tenant)},
		member{"wallet", readText(r, &c.Wallet)},
		member{"id", readText(r, &c.ID)},
		member{"legs", func(path string, value json.RawMessage) { c.Legs = r.legs(path, value) }},
		member{"type", func(path string, value json.RawMessage) { c.Type = r.betType(path, value) }},
		member{"stake", func(path string, value json.RawMessage) { c.Stake = r.amount(path, value) }},
		member{"stake_mode", readText(r, &c.StakeMode)},
		member{"odds_change", func(path string, value json.RawMessage) { c.OddsChange = r.oddsChange(path, value) }},
		member{"funding", readText(r, &c.Funding)},
		member{"consents", readText(r, &c.Consents)},
		member{"extra", func(path string, value json.RawMessage) { c.Extra = r.extra(path, value) }},
		member{"meta", func(path string, value json.RawMessage) { c.Meta = r.meta(path, value) }},
	)
	return c
}

func (r *jsonReader) legs(path string, text json.RawMessage) []Leg {
	elements := r.array(path, text, MaxLegs)
	legs := make([]Leg, len(elements))
	for i, element := range elements {
		leg := &legs[i]
		r.object(elementPath(path, i), element,
			member{"event", readText(r, &leg.Event)},
			member{"market", readText(r, &leg.Market)},
			member{"selection", readText(r, &leg.Selection)},
			member{"line", readText(r, &leg.Line)},
			member{"quote_version", readText(r, &leg.QuoteVersion)},
			member{"odds", func(path string, value json.RawMessage) { leg.Odds = r.odds(path, value) }},
			member{"proof", readText(r, &leg.Proof)},
		)
	}
	return legs
}

func (r *jsonReader) betType(path string, text json.RawMessage) (t BetType) {
	r.object(path, text,
		member{"kind", readText(r, &t.Kind)},
		member{"sizes", func(path string, value json.RawMessage) { t.Sizes = r.integers(path, value, MaxLegs) }},
	)
	return t
}

func (r *jsonReader) oddsChange(path string, text json.RawMessage) (o OddsChange) {
	r.object(path, text,
		member{"policy", readText(r, &o.Policy)},
		member{"within_basis_points", func(path string, value json.RawMessage) { o.WithinBasisPoints = r.integer(path, value) }},
	)
	return o
}

// amount reads the members by itself first, so that each wrong one is named.
func (r *jsonReader) amount(path string, text json.RawMessage) (amount money.Amount) {
	before := len(r.found)
	var number, currency string
	r.object(path, text, member{"amount", readText(r, &number)}, member{"currency", readText(r, &currency)})
	if len(r.found) > before {
		return amount
	}
	if err := amount.UnmarshalJSON(text); err != nil {
		field, rule := moneyRule(err)
		r.found.add(memberPath(path, field), "%s", rule)
	}
	return amount
}

func (r *jsonReader) odds(path string, value json.RawMessage) (odds money.Odds) {
	if err := odds.UnmarshalJSON(value); err != nil {
		_, rule := moneyRule(err)
		r.found.add(path, "%s", rule)
	}
	return odds
}

// moneyRule returns the part of an amount or of odds that is wrong, and the
// rule that it breaks.
func moneyRule(err error) (field, rule string) {
	if wrong, ok := errors.AsType[*money.RuleError](err); ok {
		return wrong.Field, wrong.Rule
	}
	return "amount", err.Error()
}

// extra keeps the text, without its white space.
func (r *jsonReader) extra(path string, value json.RawMessage) json.RawMessage {
	if value[0] != '{' {
		r.found.add(path, "must be a JSON object")
		return nil
	}
	var text bytes.Buffer
	if err := json.Compact(&text, value); err != nil {
		r.found.add(path, "must be valid JSON")
		return nil
	}
	return text.Bytes()
}

func (r *jsonReader) meta(path string, text json.RawMessage) map[string]string {
	entries := r.members(path, text, MaxMeta)
	if len(entries) == 0 {
		return nil
	}
	meta := make(map[string]string, len(entries))
	for _, entry := range entries {
		var value string
		readText(r, &value)(memberPath(path, entry.Name), entry.Value)
		meta[entry.Name] = value
	}
	return meta
}
