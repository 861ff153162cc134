package audit

import (
	"maps"
	"slices"

	"github.com/settleonce/settleonce/acceptance/money"
	"github.com/shopspring/decimal"

	"github.com/settleonce/settleonce/examples/sportsbook/bet"
	"github.com/settleonce/settleonce/examples/sportsbook/exposure"
	"github.com/settleonce/settleonce/examples/sportsbook/house"
	"github.com/settleonce/settleonce/examples/sportsbook/wallet"
)

// Sums is what the accounts of each kind come to, by currency.
type Sums map[string]map[wallet.AccountKind]decimal.Decimal

// position is one account in one currency.
type position struct {
	account  wallet.Account
	currency string
}

// judgeJournal adds up the journal: each transaction must sum to zero in each
// currency, no player's account may ever have been below zero, and each wallet
// must hold what its accounts come to.
func (r *Report) judgeJournal(tables house.Tables) {
	balances := make(map[position]decimal.Decimal)
	for _, transaction := range tables.Journal {
		sums := make(map[string]decimal.Decimal)
		for _, entry := range transaction.Entries {
			at := position{entry.Account, entry.Amount.Currency().Code()}
			sums[at.currency] = sums[at.currency].Add(entry.Amount.Decimal())
			balances[at] = balances[at].Add(entry.Amount.Decimal())
		}
		for _, currency := range slices.Sorted(maps.Keys(sums)) {
			if !sums[currency].IsZero() {
				r.unbalanced("transaction %s sums to %v %s", transaction.ID, sums[currency], currency)
			}
		}
		r.judgeOverdraft(transaction, balances)
	}
	r.judgeWallets(tables.Wallets, balances)
	r.judgeHeld(tables, balances)
	r.Sums = sumsOf(balances)
}

// judgeHeld checks that what is held of each wallet is what its open holds are
// for.
func (r *Report) judgeHeld(tables house.Tables, balances map[position]decimal.Decimal) {
	open := make(map[position]decimal.Decimal)
	ended := by(tables.HoldEnds, func(h bet.HoldEnd) bet.Reference { return h.Reference })
	for _, hold := range tables.Holds {
		at := position{wallet.Account{Kind: wallet.Held, Wallet: hold.Wallet}, hold.Amount.Currency().Code()}
		if len(ended[hold.Reference]) == 0 {
			open[at] = open[at].Add(hold.Amount.Decimal())
		}
	}
	for at, balance := range balances {
		if at.account.Kind == wallet.Held && !balance.Equal(open[at]) {
			r.unbalanced("the journal holds %v %s of wallet %s, and its open holds are for %v", balance, at.currency, at.account.Wallet, open[at])
		}
	}
}

// judgeOverdraft looks at the player's accounts just after a transaction.
func (r *Report) judgeOverdraft(transaction wallet.Transaction, balances map[position]decimal.Decimal) {
	for _, entry := range transaction.Entries {
		at := position{entry.Account, entry.Amount.Currency().Code()}
		if entry.Account.Wallet != "" && entry.Amount.Sign() < 0 && balances[at].Sign() < 0 {
			r.unbalanced("%s of wallet %s is %v %s after transaction %s", entry.Account.Kind, entry.Account.Wallet, balances[at], at.currency, transaction.ID)
		}
	}
}

// judgeWallets compares each balance with the journal.
func (r *Report) judgeWallets(wallets []wallet.Wallet, balances map[position]decimal.Decimal) {
	unseen := maps.Clone(balances)
	for _, w := range wallets {
		for _, balance := range w.Balances {
			for kind, amount := range map[wallet.AccountKind]money.Amount{wallet.Available: balance.Available, wallet.Held: balance.Held} {
				at := position{wallet.Account{Kind: kind, Wallet: w.ID}, amount.Currency().Code()}
				if !balances[at].Equal(amount.Decimal()) {
					r.unbalanced("wallet %s has %v %s, and its journal %v", w.ID, amount, kind, balances[at])
				}
				delete(unseen, at)
			}
		}
	}
	for at, balance := range unseen {
		if at.account.Wallet != "" && !balance.IsZero() {
			r.unbalanced("the journal has %v %s %s of wallet %s, which has no such balance", balance, at.currency, at.account.Kind, at.account.Wallet)
		}
	}
}

// judgeStripes compares what is taken of each stripe with the bets that are
// open, and with the stripe's limit.
func (r *Report) judgeStripes(b books, tables house.Tables) {
	type stripe struct {
		exposure.Selection
		number   int
		currency string
	}
	taken := make(map[stripe]decimal.Decimal)
	for _, take := range tables.Taken {
		if len(b.closings[take.Reference]) > 0 {
			continue // given back
		}
		of := stripe{take.Selection, take.Number, take.Amount.Currency().Code()}
		taken[of] = taken[of].Add(take.Amount.Decimal())
	}
	for _, s := range tables.Stripes {
		of := stripe{s.Selection, s.Number, s.Limit.Currency().Code()}
		switch {
		case !s.Taken.Decimal().Equal(taken[of]):
			r.unbalanced("stripe %d of %s on %s has %v taken, and its open bets %v", s.Number, s.Selection.Selection, s.Market, s.Taken, taken[of])
		case taken[of].GreaterThan(s.Limit.Decimal()):
			r.unbalanced("stripe %d of %s on %s is over its limit", s.Number, s.Selection.Selection, s.Market)
		}
	}
}

// movesBy reports whether a transaction changes an account of a kind by exactly
// so much.
func movesBy(transaction wallet.Transaction, kind wallet.AccountKind, amount decimal.Decimal) bool {
	sum := decimal.Zero
	for _, entry := range transaction.Entries {
		if entry.Account.Kind == kind {
			sum = sum.Add(entry.Amount.Decimal())
		}
	}
	return sum.Equal(amount)
}

func sumsOf(balances map[position]decimal.Decimal) Sums {
	sums := make(Sums)
	for at, balance := range balances {
		if sums[at.currency] == nil {
			sums[at.currency] = make(map[wallet.AccountKind]decimal.Decimal)
		}
		sums[at.currency][at.account.Kind] = sums[at.currency][at.account.Kind].Add(balance)
	}
	return sums
}
