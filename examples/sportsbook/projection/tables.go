package projection

import (
	"github.com/settleonce/settleonce/acceptance/money"
	"github.com/settleonce/settleonce/receipt"

	"github.com/settleonce/settleonce/examples/sportsbook/bet"
)

// Entry is one event that was taken.
type Entry struct {
	bet.Reference
	Became  receipt.Kind `json:"became"`
	EventID string       `json:"event"`
	// Position is the event's, in the wallet's line.
	Position int64 `json:"position"`
	// Stake is that of a bet that was accepted, and Payout what came back for
	// one that was closed. Nil: the event tells of no such thing.
	Stake  *money.Amount `json:"stake,omitempty"`
	Payout *money.Amount `json:"payout,omitempty"`
	// Attempt is the run that wrote it. The receipt of the event names the
	// same one.
	Attempt string `json:"attempt"`
}

// Wallet is what the events of one wallet come to.
type Wallet struct {
	ID string `json:"wallet"`
	// Counts says how often what became of its bets, or of the commands to
	// place some.
	Counts map[receipt.Kind]int `json:"counts"`
	// Sums has one for each currency, by currency.
	Sums []Sum `json:"sums"`
	// Latest is the newest thing that is known of it. Nil: nothing is.
	Latest *Latest `json:"latest"`
}

// Sum is what a wallet's bets come to in one currency.
type Sum struct {
	// Staked is the stakes of all bets, AtStake of those that are open.
	Staked  money.Amount `json:"staked"`
	AtStake money.Amount `json:"at_stake"`
	// Returned is what came back for those that are closed: payouts, and the
	// stakes of voided bets.
	Returned money.Amount `json:"returned"`
}

// Latest is the newest thing that became of a wallet's bets.
type Latest struct {
	Position int64        `json:"position"`
	Bet      string       `json:"bet"`
	Became   receipt.Kind `json:"became"`
}

// Turnover is what was staked on bets with a leg on a market.
type Turnover struct {
	Market string       `json:"market"`
	Bets   int          `json:"bets"`
	Staked money.Amount `json:"staked"`
}

// Tables is everything that the projection keeps. Receipts are the store's, and
// not among it.
type Tables struct {
	// Journal is in the order in which the events of each wallet were taken.
	Journal   []Entry
	Wallets   []Wallet
	Turnovers []Turnover
	// Refused are the wallets whose events are refused, by name.
	Refused []string
}
