package house

import (
	"context"
	"errors"
	"fmt"

	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/acceptance/money"

	"github.com/settleonce/settleonce/examples/sportsbook/exposure"
)

// applyExposure refuses a bet for which the limit of a selection has no room.
//
// It locks nothing. The room is taken when the bet commits, in stripes that are
// guarded one by one; where another bet was faster, the whole transaction runs
// again, and this step sees what is left.
func applyExposure(ctx context.Context, unit Unit, p *acceptance.Proposal) (acceptance.Ruling, error) {
	ruling := acceptance.Ruling{Rules: []acceptance.RuleVersion{{Name: "exposure", Version: exposure.RuleVersion}}}
	_, short, err := takesOf(ctx, unit, p)
	if err != nil {
		return acceptance.Ruling{}, fmt.Errorf("house: exposure: %w", err)
	}
	if short != nil {
		ruling.Code = acceptance.CodeExposureExceeded
		ruling.Detail = fmt.Sprintf("the house takes no bet of this size on %s in market %s", short.Selection, short.Market)
	}
	return ruling, nil
}

// takesOf returns what the bet takes of stripes, or the first selection that has
// too little room for it.
func takesOf(ctx context.Context, unit Unit, p *acceptance.Proposal) (takes []exposure.Take, short *exposure.Selection, err error) {
	payout, err := payoutOf(p)
	if err != nil {
		return nil, nil, err
	}
	loss, err := payout.Sub(p.Stake)
	if err != nil {
		return nil, nil, err
	}
	home := homeOf(p.Command)
	for i := range p.Legs {
		selection := exposure.Selection{Market: p.Legs[i].Market, Selection: p.Legs[i].Selection}
		taken, fits, err := takesOn(ctx, unit, selection, home, loss)
		if err != nil {
			return nil, nil, err
		}
		if !fits {
			return nil, &selection, nil
		}
		takes = append(takes, taken...)
	}
	exposure.SortTakes(takes)
	return takes, nil, nil
}

// takesOn looks at the home stripe alone, as long as that suffices.
func takesOn(
	ctx context.Context, unit Unit, selection exposure.Selection, home exposure.Home, loss money.Amount,
) (takes []exposure.Take, fits bool, err error) {
	stripe, err := unit.Stripe(ctx, selection, home)
	if errors.Is(err, ErrNoLimit) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	take, fits, err := stripe.Take(loss)
	if err != nil || fits {
		return []exposure.Take{take}, fits, err
	}
	stripes, err := unit.Stripes(ctx, selection, home.Currency)
	if err != nil {
		return nil, false, err
	}
	return exposure.Spread(stripes, home, loss)
}
