package acceptance

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/shopspring/decimal"

	"github.com/settleonce/settleonce/acceptance/money"
	"github.com/settleonce/settleonce/fingerprint"
)

// The schemas of a command's fingerprint. They stand in receipts: do not
// change. A form whose fields change their meaning gets another version, and
// FingerprintUnder keeps the old one.
const (
	orderedLegsSchema   = "bet.command"
	unorderedLegsSchema = "bet.command.unordered-legs"
	commandVersion      = 1
)

// Fingerprint returns the digest of everything in the command that changes the
// effect: all fields but Meta and [Leg.Proof]. Equal effects have equal
// digests: an empty StakeMode and OddsChange.Policy are the defaults that they
// mean, amounts and odds count by value, however many decimals they were
// written with, and Extra by what its JSON means.
//
// The order of the legs counts, unless unorderedLegs says otherwise and the
// bet is an accumulator or a system, whose lines are the same in any order.
// Each of the two ways has a schema of its own, so that a digest says how it
// was made: see [Command.FingerprintUnder].
//
// The command must be one that [Command.Validate] passes. For others the digest
// means nothing, or errors.Is(err, [fingerprint.ErrInvalidValue]) is true.
func (c *Command) Fingerprint(unorderedLegs bool) (fingerprint.Digest, error) {
	return fingerprint.Of(commandSchema(unorderedLegs), c.form(unorderedLegs))
}

// commandSchema returns the schema of [Command.Fingerprint].
func commandSchema(unorderedLegs bool) fingerprint.Schema {
	schema := fingerprint.Schema{Name: orderedLegsSchema, Version: commandVersion}
	if unorderedLegs {
		schema.Name = unorderedLegsSchema
	}
	return schema
}

// FingerprintUnder returns the digest under a schema that
// [Command.Fingerprint] has or once had, to compare a command with an older
// receipt. errors.Is(err, [fingerprint.ErrUnknownSchema]) is true for any other
// schema: a newer build may know it. All other errors are those of
// Fingerprint.
func (c *Command) FingerprintUnder(schema fingerprint.Schema) (fingerprint.Digest, error) {
	for _, unorderedLegs := range []bool{false, true} {
		if schema == commandSchema(unorderedLegs) {
			return c.Fingerprint(unorderedLegs)
		}
	}
	return fingerprint.Digest{}, fmt.Errorf("acceptance: %w: %v", fingerprint.ErrUnknownSchema, schema)
}

// Canonical returns the canonical form from which [Command.Fingerprint] makes
// its digest, for [fingerprint.Diff] to name the fields in which two commands
// differ: the paths are those of the command's JSON, behind a "$". Where the
// order of the legs does not count, they stand there sorted by event, market,
// selection and line. The form holds all that counts of the command, and can be
// read. The caller owns the bytes. Its errors are those of Fingerprint.
func (c *Command) Canonical(unorderedLegs bool) ([]byte, error) {
	return fingerprint.Canonical(c.form(unorderedLegs))
}

// commandForm is what of a command counts. Names, types and omitzero are part
// of the schemas: do not change. A field may be added if it is omitzero, so
// that its absence changes no old digest.
type commandForm struct {
	Tenant     string          `fingerprint:"tenant"`
	Wallet     string          `fingerprint:"wallet"`
	ID         string          `fingerprint:"id"`
	Legs       []legForm       `fingerprint:"legs"`
	Type       typeForm        `fingerprint:"type"`
	Stake      money.Canonical `fingerprint:"stake"`
	StakeMode  StakeMode       `fingerprint:"stake_mode"`
	OddsChange oddsChangeForm  `fingerprint:"odds_change"`
	Funding    string          `fingerprint:"funding,omitzero"`
	Consents   string          `fingerprint:"consents,omitzero"`
	Extra      json.RawMessage `fingerprint:"extra"` // absent where it is nil
}

// typeForm is what of a bet's type counts.
type typeForm struct {
	Kind  BetKind `fingerprint:"kind"`
	Sizes []int   `fingerprint:"sizes"` // absent where it is nil
}

// oddsChangeForm is what of an odds change counts.
type oddsChangeForm struct {
	Policy            OddsPolicy `fingerprint:"policy"`
	WithinBasisPoints int        `fingerprint:"within_basis_points,omitzero"`
}

// legForm is what of a leg counts.
type legForm struct {
	Event        string          `fingerprint:"event"`
	Market       string          `fingerprint:"market"`
	Selection    string          `fingerprint:"selection"`
	Line         string          `fingerprint:"line,omitzero"`
	QuoteVersion string          `fingerprint:"quote_version"`
	Odds         decimal.Decimal `fingerprint:"odds"`
}

func (c *Command) form(unorderedLegs bool) commandForm {
	form := commandForm{
		Tenant:    c.Tenant,
		Wallet:    c.Wallet,
		ID:        c.ID,
		Legs:      make([]legForm, len(c.Legs)),
		Type:      typeForm{Kind: c.Type.Kind},
		Stake:     c.Stake.Canonical(),
		StakeMode: cmp.Or(c.StakeMode, StakeTotal),
		OddsChange: oddsChangeForm{
			Policy:            cmp.Or(c.OddsChange.Policy, OddsExact),
			WithinBasisPoints: c.OddsChange.WithinBasisPoints,
		},
		Funding:  c.Funding,
		Consents: c.Consents,
	}
	// Empty means absent, as in JSON.
	if len(c.Type.Sizes) > 0 {
		form.Type.Sizes = c.Type.Sizes
	}
	if len(c.Extra) > 0 {
		form.Extra = c.Extra
	}
	for i := range c.Legs {
		form.Legs[i] = c.Legs[i].form()
	}
	if unorderedLegs && c.Type.Kind != Single {
		slices.SortFunc(form.Legs, compareLegs)
	}
	return form
}

func (l *Leg) form() legForm {
	return legForm{
		Event:        l.Event,
		Market:       l.Market,
		Selection:    l.Selection,
		Line:         l.Line,
		QuoteVersion: l.QuoteVersion,
		Odds:         l.Odds.Decimal(),
	}
}

// compareLegs orders the legs of a valid command strictly, since no two of
// them are on the same selection.
func compareLegs(a, b legForm) int {
	return cmp.Or(
		cmp.Compare(a.Event, b.Event),
		cmp.Compare(a.Market, b.Market),
		cmp.Compare(a.Selection, b.Selection),
		cmp.Compare(a.Line, b.Line),
	)
}
