// Package wallet has what players own: balances, and the double-entry journal
// that says how they came about.
//
// A [Balance] is a sum that is kept at hand, because bets must compare with it
// in one read. The journal is the truth: every movement is a [Transaction]
// whose entries sum to zero in each currency, nothing in it is ever changed,
// and a balance must equal the sum of its account's entries. The house and the
// world outside have entries and no balance: a row for it would be where all
// bets wait for each other.
package wallet

import "github.com/settleonce/settleonce/acceptance/money"

// Wallet is a player's wallet. In this house a player has one, under the
// player's own name.
type Wallet struct {
	ID string `json:"wallet"`
	// Barred says that the player may not bet.
	Barred bool `json:"barred"`
	// Balances has one balance a currency, by currency.
	Balances []Balance `json:"balances"`
}

// Balance is what a wallet holds in one currency.
type Balance struct {
	Wallet string `json:"wallet"`
	// Available may be staked.
	Available money.Amount `json:"available"`
	// Held is staked on bets that are neither settled nor voided.
	Held money.Amount `json:"held"`
}
