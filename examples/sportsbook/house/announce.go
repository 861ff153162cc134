package house

import (
	"fmt"

	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/outbox/event"

	"github.com/settleonce/settleonce/examples/sportsbook/bet"
	"github.com/settleonce/settleonce/examples/sportsbook/fact"
)

// announce tells the world of a decision.
func announce(c *acceptance.Command, d *Decision) ([]event.Event, error) {
	told := fact.Fact{
		Reference: bet.Reference{Wallet: c.Wallet, ID: c.ID},
		Became:    d.Verdict,
		Code:      d.Code,
	}
	if d.Verdict == acceptance.Accepted {
		told.Placed = &d.Bet
	}
	e, err := told.Event(c.Tenant)
	if err != nil {
		return nil, fmt.Errorf("house: announce: %w", err)
	}
	return []event.Event{e}, nil
}
