package acceptance

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/settleonce/settleonce/acceptance/money"
	"github.com/settleonce/settleonce/fingerprint"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/receipt"
)

// Validate reports every field that breaks a rule, all at once, each with its
// path in the command's JSON. It looks at the command alone: what depends on a
// [Config], such as the currencies and today's bounds, is checked by the
// [Runner] and later, so that a tightened bound never breaks a replay.
// errors.Is(err, [ErrInvalid]) is true for what it returns, and errors.As
// finds an [*InvalidError].
func (c *Command) Validate() error {
	var found violations
	checkKey(&found, c.Key())
	c.checkContent(&found)
	return found.err()
}

// checkDocument is Validate for a document, which may leave out the parts of
// the key: a server knows them from the authentication and a header.
func (c *Command) checkDocument(found *violations) {
	const there = "-"
	key := c.Key()
	key.Tenant, key.Scope, key.ID = cmp.Or(key.Tenant, there), cmp.Or(key.Scope, there), cmp.Or(key.ID, there)
	checkKey(found, key)
	c.checkContent(found)
}

func checkKey(found *violations, key receipt.Key) {
	for _, wrong := range wrongKeyParts(key) {
		field := wrong.Field
		if field == "scope" {
			field = "wallet"
		}
		found.add(field, "%s", wrong.Rule)
	}
}

func wrongKeyParts(key receipt.Key) []event.FieldError {
	invalid, ok := errors.AsType[*event.InvalidError](key.Validate())
	if !ok {
		return nil
	}
	return invalid.Fields
}

// checkContent checks everything but the key.
func (c *Command) checkContent(found *violations) {
	c.checkLegs(found)
	c.checkType(found)
	c.checkStake(found)
	c.OddsChange.check(found)
	if rule := textRule(c.Funding, MaxText); rule != "" {
		found.add("funding", "%s", rule)
	}
	c.checkConsents(found)
	c.checkExtra(found)
	c.checkMeta(found)
}

// requiredRule returns the rule that a text which must be there breaks, or "".
func requiredRule(text string) string {
	if text == "" {
		return "must be set"
	}
	return textRule(text, MaxText)
}

// textRule returns the rule that a text breaks, or "". Control characters are
// kept out because a NUL has no place in PostgreSQL's text, and a line feed
// none in a log.
func textRule(text string, most int) string {
	switch {
	case len(text) > most:
		return fmt.Sprintf("must have at most %d bytes, has %d", most, len(text))
	case !utf8.ValidString(text):
		return "must be valid UTF-8"
	case strings.ContainsFunc(text, unicode.IsControl):
		return "must not hold control characters"
	default:
		return ""
	}
}

func (c *Command) checkLegs(found *violations) {
	if len(c.Legs) == 0 || len(c.Legs) > MaxLegs {
		found.add("legs", "must be 1 to %d, are %d", MaxLegs, len(c.Legs))
		return
	}
	for i := range c.Legs {
		c.Legs[i].check(found, i)
		for first := range i {
			if c.Legs[first].sameSelection(&c.Legs[i]) {
				found.add(elementPath("legs", i), "must not have the event, market, selection and line of legs[%d]", first)
				break
			}
		}
	}
}

// check checks the leg that stands at index. Paths are made of wrong fields
// alone: this runs for every bet.
func (l *Leg) check(found *violations, index int) {
	add := func(name, rule string) {
		if rule != "" {
			found.add(memberPath(elementPath("legs", index), name), "%s", rule)
		}
	}
	add("event", requiredRule(l.Event))
	add("market", requiredRule(l.Market))
	add("selection", requiredRule(l.Selection))
	add("line", textRule(l.Line, MaxText))
	add("quote_version", requiredRule(l.QuoteVersion))
	if !l.Odds.IsSet() {
		add("odds", "must be set")
	}
	add("proof", textRule(l.Proof, MaxProof))
}

// sameSelection reports whether two legs are on the same thing. One that names
// none is on nothing.
func (l *Leg) sameSelection(other *Leg) bool {
	return l.Selection != "" && l.Selection == other.Selection && l.Market == other.Market && l.Event == other.Event && l.Line == other.Line
}

func (c *Command) checkType(found *violations) {
	switch c.Type.Kind {
	case Single:
		if len(c.Legs) != 1 {
			found.add("legs", "must be exactly one for a single, are %d", len(c.Legs))
		}
	case Accumulator:
		if len(c.Legs) < 2 {
			found.add("legs", "must be at least two for an accumulator, are %d", len(c.Legs))
		}
	case System:
		c.checkSizes(found)
		return
	default:
		found.add("type.kind", "must be %q, %q or %q", Single, Accumulator, System)
		return
	}
	if len(c.Type.Sizes) > 0 {
		found.add("type.sizes", "must be left out unless the kind is %q", System)
	}
}

func (c *Command) checkSizes(found *violations) {
	const field = "type.sizes"
	sizes, legs := c.Type.Sizes, len(c.Legs)
	if found.cover("legs") {
		legs = MaxLegs // How many there are meant to be is not known.
	}
	if len(sizes) == 0 || len(sizes) > legs {
		found.add(field, "must be 1 to %d, as many as there are legs, for a system; are %d", legs, len(sizes))
		return
	}
	for i, size := range sizes {
		switch {
		case size < 1 || size > legs:
			found.add(elementPath(field, i), "must be from 1 to %d, the number of legs; is %d", legs, size)
		case i > 0 && size <= sizes[i-1]:
			found.add(elementPath(field, i), "must be greater than the size before it")
		}
	}
	if c.Lines() > MaxLines {
		found.add(field, "must make at most %d lines", MaxLines)
	}
}

func (c *Command) checkStake(found *violations) {
	switch {
	case !c.Stake.IsSet():
		found.addUnset("stake")
	case c.Stake.Sign() <= 0:
		found.add("stake", "must be greater than zero")
	}
	switch c.StakeMode {
	case "", StakeTotal:
	case StakePerLine:
		if _, err := c.TotalStake(); errors.Is(err, money.ErrOverflow) {
			found.add("stake", "must have a total over %d lines that is an amount: %v", c.Lines(), err)
		}
	default:
		found.add("stake_mode", "must be %q or %q, or left out", StakeTotal, StakePerLine)
	}
}

func (o *OddsChange) check(found *violations) {
	const most = 10_000 // basis points: all of the odds
	field := "odds_change.within_basis_points"
	switch o.Policy {
	case "", OddsExact, OddsBetter:
		if o.WithinBasisPoints != 0 {
			found.add(field, "must be left out unless the policy is %q", OddsAny)
		}
	case OddsAny:
		if o.WithinBasisPoints < 1 || o.WithinBasisPoints > most {
			found.add(field, "must be from 1 to %d under the policy %q, is %d", most, OddsAny, o.WithinBasisPoints)
		}
	default:
		found.add("odds_change.policy", "must be %q, %q or %q, or left out", OddsExact, OddsBetter, OddsAny)
	}
}

// checkConsents holds the id of the command that is consented to against the
// rules of ids: it becomes part of a key too.
func (c *Command) checkConsents(found *violations) {
	if c.Consents == "" {
		return
	}
	for _, wrong := range wrongKeyParts(ConsentKey(c.Tenant, c.Wallet, c.Consents)) {
		if wrong.Field == "id" {
			found.add("consents", "%s", wrong.Rule)
		}
	}
	if c.Consents == c.ID {
		found.add("consents", "must name another command than this one")
	}
}

// checkExtra has the JSON read as the fingerprint will read it, at the same
// depth, so that it can't fail there.
func (c *Command) checkExtra(found *violations) {
	switch {
	case len(c.Extra) == 0:
		return
	case len(c.Extra) > MaxExtra:
		found.add("extra", "must have at most %d bytes, has %d", MaxExtra, len(c.Extra))
		return
	case !bytes.HasPrefix(bytes.TrimLeft(c.Extra, " \t\r\n"), []byte("{")):
		found.add("extra", "must be a JSON object")
		return
	}
	_, err := fingerprint.Canonical(struct {
		Extra json.RawMessage `fingerprint:"extra"`
	}{c.Extra})
	if wrong, ok := errors.AsType[*fingerprint.ValueError](err); ok {
		found.add(strings.TrimPrefix(wrong.Path, "$."), "%s", wrong.Rule)
	}
}

func (c *Command) checkMeta(found *violations) {
	if len(c.Meta) > MaxMeta {
		found.add("meta", "must have at most %d entries, has %d", MaxMeta, len(c.Meta))
		return
	}
	var wrong []string
	for name, value := range c.Meta {
		if !metaText(name) || !metaText(value) {
			wrong = append(wrong, name)
		}
	}
	slices.Sort(wrong)
	for _, name := range wrong {
		found.add(memberPath("meta", name), "must have a name and a value of valid UTF-8 with at most %d bytes each", MaxMetaText)
	}
}

func metaText(text string) bool { return len(text) <= MaxMetaText && utf8.ValidString(text) }
