package wallet

import "github.com/settleonce/settleonce/acceptance/money"

// NewDeposit moves an amount from outside to available.
func NewDeposit(id, walletID string, amount money.Amount) Transaction {
	return Transaction{
		ID: id, Movement: Deposit, Wallet: walletID,
		Entries: []Entry{
			{Account{Kind: Outside}, amount.Neg()},
			{Account{Available, walletID}, amount},
		},
	}
}

// NewStake moves a stake from available to held.
func NewStake(id, walletID string, stake money.Amount) Transaction {
	return Transaction{
		ID: id, Movement: Stake, Wallet: walletID,
		Entries: []Entry{
			{Account{Available, walletID}, stake.Neg()},
			{Account{Held, walletID}, stake},
		},
	}
}

// NewSettlement moves a stake from held to the house, and the payout, if there
// is one, from the house to available.
func NewSettlement(id, walletID string, stake, payout money.Amount) Transaction {
	settlement := Transaction{
		ID: id, Movement: Settlement, Wallet: walletID,
		Entries: []Entry{
			{Account{Held, walletID}, stake.Neg()},
			{Account{Kind: House}, stake},
		},
	}
	if payout.Sign() != 0 {
		settlement.Entries = append(settlement.Entries,
			Entry{Account{Kind: House}, payout.Neg()},
			Entry{Account{Available, walletID}, payout})
	}
	return settlement
}

// NewVoid moves a stake from held back to available.
func NewVoid(id, walletID string, stake money.Amount) Transaction {
	return Transaction{
		ID: id, Movement: Void, Wallet: walletID,
		Entries: []Entry{
			{Account{Held, walletID}, stake.Neg()},
			{Account{Available, walletID}, stake},
		},
	}
}
