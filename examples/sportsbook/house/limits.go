package house

import (
	"context"
	"errors"
	"fmt"

	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/acceptance/money"

	"github.com/settleonce/settleonce/examples/sportsbook/bet"
)

// Limits bound single bets.
type Limits struct {
	// Version names this set of limits. It is stored with each decision. It
	// must be set where there are limits.
	Version string
	// MaxStake and MaxPayout have one limit a currency. A currency without
	// one has no limit.
	MaxStake  []money.Amount
	MaxPayout []money.Amount
}

// applyLimits compares stake and payout with the house's limits. Whatever those
// are, a payout that is no amount any more is beyond them.
func (h *House) applyLimits(_ context.Context, _ Unit, p *acceptance.Proposal) (acceptance.Ruling, error) {
	var ruling acceptance.Ruling
	if h.limits.Version != "" {
		ruling.Rules = []acceptance.RuleVersion{{Name: "limits", Version: h.limits.Version}}
	}
	payout, err := payoutOf(p)
	if errors.Is(err, money.ErrOverflow) {
		ruling.Code, ruling.Detail = acceptance.CodeLimitExceeded, "the payout has more digits than an amount"
		return ruling, nil
	}
	if err != nil {
		return acceptance.Ruling{}, err
	}
	if h.limits.Version == "" {
		return ruling, nil
	}
	for _, check := range []struct {
		what   string
		amount money.Amount
		limits []money.Amount
	}{
		{"stake", p.Stake, h.limits.MaxStake},
		{"payout", payout, h.limits.MaxPayout},
	} {
		passed, err := passedLimit(check.amount, check.limits)
		if err != nil {
			return acceptance.Ruling{}, err
		}
		if passed.IsSet() {
			ruling.Code = acceptance.CodeLimitExceeded
			ruling.Detail = fmt.Sprintf("the %s must be at most %s, is %s", check.what, passed, check.amount)
			break
		}
	}
	return ruling, nil
}

// passedLimit returns the limit that an amount passes. It is not set where there
// is none.
func passedLimit(amount money.Amount, limits []money.Amount) (money.Amount, error) {
	for _, limit := range limits {
		if limit.Currency().Code() != amount.Currency().Code() {
			continue
		}
		order, err := amount.Cmp(limit)
		if err != nil {
			return money.Amount{}, fmt.Errorf("house: limits: %w", err)
		}
		if order > 0 {
			return limit, nil
		}
	}
	return money.Amount{}, nil
}

// payoutOf returns what the proposed bet pays if all its legs win.
func payoutOf(p *acceptance.Proposal) (money.Amount, error) {
	odds := make([]money.Odds, len(p.Legs))
	for i := range p.Legs {
		odds[i] = p.Legs[i].Quote.Odds
	}
	payout, err := bet.Potential(p.Stake, odds)
	if err != nil {
		return money.Amount{}, fmt.Errorf("house: %w", err)
	}
	return payout, nil
}
