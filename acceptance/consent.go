package acceptance

import (
	"encoding/json"
	"slices"

	"github.com/settleonce/settleonce/internal/once"
)

// checkConsent makes sure that the requote which the command consents to is
// there, is about the same selections, and has no other successor. It reports
// whether the decision claims the consent. Two commands that consent at the
// same time both pass; the primary key of the consent's receipt lets one of
// them commit, and the other runs again.
func (c *call[Tx, Bet]) checkConsent(attempt *once.Attempt[Tx]) (claims bool, err error) {
	if c.placed.Consents == "" {
		return false, nil
	}
	requoted := attempt.Beside(PlacingKey(c.placed.Tenant, c.placed.Wallet, c.placed.Consents))
	if requoted == nil || requoted.Outcome != Requoted {
		return false, &InvalidError{[]FieldError{{"consents", "must name a command of this wallet that was answered with a requote"}}}
	}
	offer, err := decodeStored[Bet](requoted)
	if err != nil {
		return false, err
	}
	if !c.sameSelections(offer.Legs) {
		return false, &InvalidError{[]FieldError{{"legs", c.selectionsRule()}}}
	}
	used := attempt.Beside(c.consentKey())
	if used == nil {
		return true, nil
	}
	successor, err := decodeConsent(used)
	if err != nil {
		return false, err
	}
	return false, &ConsentError{Requoted: c.placed.Consents, Successor: successor}
}

// sameSelections compares in the order of the legs, where it counts. No two
// legs are on one selection, so that it is enough to find each.
func (c *call[Tx, Bet]) sameSelections(offered []DecidedLeg) bool {
	if len(offered) != len(c.placed.Legs) {
		return false
	}
	for i := range offered {
		found := slices.IndexFunc(c.placed.Legs, offered[i].isOn)
		if found < 0 || found != i && !c.anyOrder() {
			return false
		}
	}
	return true
}

func (d *DecidedLeg) isOn(leg Leg) bool {
	return leg.Event == d.Event && leg.Market == d.Market && leg.Selection == d.Selection && leg.Line == d.Line
}

// anyOrder reports whether the order of the legs means nothing.
func (c *call[Tx, Bet]) anyOrder() bool {
	return c.runner.config.UnorderedLegs && c.placed.Type.Kind != Single
}

func (c *call[Tx, Bet]) selectionsRule() string {
	rule := "must be on the selections of the requote that the command consents to"
	if !c.anyOrder() {
		rule += ", in the same order"
	}
	return rule
}

// consent returns what is committed beside the decision, so that the consent is
// used up with it.
func (c *call[Tx, Bet]) consent() once.Side {
	value, _ := json.Marshal(storedConsent{Successor: c.placed.ID}) // Text always encodes.
	return once.Side{Key: c.consentKey(), Kind: consented, Value: value}
}
