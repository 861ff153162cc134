package bet

import (
	"errors"
	"fmt"

	"github.com/settleonce/settleonce/acceptance/money"

	"github.com/settleonce/settleonce/examples/sportsbook/market"
)

// Rounding is the rule by which payouts are rounded: the exact product of the
// stake and all odds, rounded once, so that a player never gets less than half a
// cent too little.
const Rounding = money.HalfUp

// ErrUndecided is true for the payout of a bet while the result of one of its
// markets is not known.
var ErrUndecided = errors.New("bet: the result of a market is not known yet")

// Potential returns what a stake pays if all odds win, itself included.
func Potential(stake money.Amount, odds []money.Odds) (money.Amount, error) {
	payout, err := stake.ReturnAll(odds, Rounding)
	if err != nil {
		return money.Amount{}, fmt.Errorf("bet: payout: %w", err)
	}
	return payout, nil
}

// PayoutUnder returns what the bet pays under the results of its markets. One
// lost leg loses the bet; a leg on a void market counts as if it were not
// there, and a bet without any other leg gives back its stake.
//
// errors.Is(err, [ErrUndecided]) is true where a result is missing, even if the
// bet is lost already: it is then settled by fewer results than its version
// names.
func (b Bet) PayoutUnder(results map[string]market.Result) (money.Amount, error) {
	var won []money.Odds
	lost := false
	for _, leg := range b.Legs {
		result, known := results[leg.Market]
		switch {
		case !known:
			return money.Amount{}, fmt.Errorf("%w: %s", ErrUndecided, leg.Market)
		case result.Void:
		case result.Winner == leg.Selection:
			won = append(won, leg.Odds)
		default:
			lost = true
		}
	}
	switch {
	case lost:
		return b.Stake.Times(0)
	case len(won) == 0:
		return b.Stake, nil
	default:
		return Potential(b.Stake, won)
	}
}
