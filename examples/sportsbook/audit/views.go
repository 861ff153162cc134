package audit

import (
	"maps"
	"slices"

	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/acceptance/money"
	"github.com/shopspring/decimal"
)

// views are the figures that the projection keeps, by what they are figures of.
type views map[string]decimal.Decimal

func (v views) count(of string) { v.add(of, decimal.NewFromInt(1)) }

func (v views) amount(of string, amount money.Amount) {
	v.add(of+" in "+amount.Currency().Code(), amount.Decimal())
}

func (v views) add(of string, number decimal.Decimal) { v[of] = v[of].Add(number) }

// judgeViews computes from the house's tables what the events that were taken
// come to, and compares it with what the projection keeps, in both directions.
func (r *Report) judgeViews(b books, p *Projection) {
	want, got := make(views), make(views)
	once := make(map[telling]bool)
	for _, entry := range p.Journal {
		of := telling{entry.Reference, entry.Became}
		if _, found := b.wanted[of]; found && !once[of] {
			once[of] = true
			b.addViews(want, of)
		}
	}
	for _, wallet := range p.Wallets {
		for became, count := range wallet.Counts {
			got.add(ofWallet(wallet.ID, string(became)), decimal.NewFromInt(int64(count)))
		}
		for _, sum := range wallet.Sums {
			got.amount(ofWallet(wallet.ID, staked), sum.Staked)
			got.amount(ofWallet(wallet.ID, atStake), sum.AtStake)
			got.amount(ofWallet(wallet.ID, returned), sum.Returned)
		}
	}
	for _, turnover := range p.Turnovers {
		got.add(ofMarket(turnover.Market, "bets"), decimal.NewFromInt(int64(turnover.Bets)))
		got.amount(ofMarket(turnover.Market, staked), turnover.Staked)
	}
	r.compareViews(want, got)
}

// Names of sums.
const (
	staked   = "staked"
	atStake  = "at stake"
	returned = "returned"
)

func ofWallet(wallet, what string) string { return "wallet " + wallet + ": " + what }
func ofMarket(market, what string) string { return "market " + market + ": " + what }

// addViews adds what one event changes, by the house's rows.
func (b *books) addViews(into views, of telling) {
	into.count(ofWallet(of.Wallet, string(of.became)))
	placed := b.bets[of.Reference]
	if len(placed) == 0 {
		return
	}
	stake := placed[0].Stake
	switch closings := b.closings[of.Reference]; {
	case of.became == acceptance.Accepted:
		into.amount(ofWallet(of.Wallet, staked), stake)
		into.amount(ofWallet(of.Wallet, atStake), stake)
		for _, market := range placed[0].Markets() {
			into.count(ofMarket(market, "bets"))
			into.amount(ofMarket(market, staked), stake)
		}
	case closes(of.became) && len(closings) > 0:
		into.amount(ofWallet(of.Wallet, atStake), stake.Neg())
		into.amount(ofWallet(of.Wallet, returned), closings[0].Payout)
	}
}

// compareViews names each figure that is not what it should be, in a fixed
// order. A figure that is not there is zero.
func (r *Report) compareViews(want, got views) {
	all := maps.Clone(want)
	maps.Copy(all, got)
	for _, of := range slices.Sorted(maps.Keys(all)) {
		if !want[of].Equal(got[of]) {
			r.unbalanced("%s: %v by the projection, %v by the house's tables", of, got[of], want[of])
		}
	}
}
