package risk

import (
	"github.com/settleonce/settleonce/acceptance"
	"github.com/shopspring/decimal"
)

// LargeStake is the stake from which [ReferLargeStakes] leaves it to a trader,
// whatever the currency.
const LargeStake = 500

// ReferLargeStakes is a model: it approves everything but large stakes, which it
// refers.
func ReferLargeStakes(a *Assessment) acceptance.Opinion {
	if a.Stake.Decimal().GreaterThanOrEqual(decimal.NewFromInt(LargeStake)) {
		return acceptance.RiskRefer
	}
	return acceptance.RiskApprove
}
