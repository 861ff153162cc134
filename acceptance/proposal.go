package acceptance

import (
	"time"

	"github.com/settleonce/settleonce/acceptance/money"
	"github.com/settleonce/settleonce/fingerprint"
)

// Proposal is a bet that has passed every step so far, with what those found.
// It belongs to the runner: a callback reads it and keeps nothing of it.
type Proposal struct {
	// Command is what was asked for, without Meta.
	Command *Command
	// Fingerprint is the command's.
	Fingerprint fingerprint.Digest
	// Attempt is the id of this run, which no other run shares.
	Attempt string
	// Wallet is what LockWallet returned.
	Wallet Wallet
	// Legs are the command's legs with the quotes at which the bet stands.
	Legs []DecidedLeg
	// Lines is the number of lines, Stake the total stake.
	Lines int64
	Stake money.Amount
	// Now is the database's clock as [Board.Now] gave it.
	Now time.Time
	// Resolution is the trader's, nil for a bet that was not referred.
	Resolution *Resolution
}

// DecidedLeg is a leg as a decision stores it.
type DecidedLeg struct {
	Event     string `json:"event"`
	Market    string `json:"market"`
	Selection string `json:"selection"`
	Line      string `json:"line,omitempty"`
	// Requested is the quote that the player saw.
	Requested RequestedQuote `json:"requested"`
	// Quote is the one at which an accepted bet stands (under a trader's grant
	// with the requested odds), the one that a requote offers, or the one
	// that a rejection found. Nil where the decision fell before quotes were
	// read.
	Quote *Quote `json:"quote,omitempty"`
}

// RequestedQuote is the quote that the player saw.
type RequestedQuote struct {
	Version string     `json:"version"`
	Odds    money.Odds `json:"odds"`
}
