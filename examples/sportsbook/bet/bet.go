// Package bet has the placed bet and what becomes of it.
//
// Nothing about a bet is ever changed: its hold, the end of the hold and its
// closing are facts of their own, so that one that came twice would be seen.
package bet

import (
	"time"

	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/acceptance/money"

	"github.com/settleonce/settleonce/examples/sportsbook/exposure"
)

// Reference names a bet: by its wallet and the ID of the command that placed
// it, which is unique within the wallet.
type Reference struct {
	Wallet string `json:"wallet"`
	ID     string `json:"bet"`
}

// Bet is a bet that stands.
type Bet struct {
	Reference
	Kind  acceptance.BetKind `json:"kind"`
	Stake money.Amount       `json:"stake"`
	// Payout is what is paid if all legs win, stake included.
	Payout money.Amount `json:"payout"`
	Legs   []Leg        `json:"legs"`
	// Attempt is the run that placed it. The receipt of the bet names the
	// same one.
	Attempt string `json:"attempt"`
}

// Leg is one selection of the bet, at the odds at which it stands.
type Leg struct {
	Market    string     `json:"market"`
	Selection string     `json:"selection"`
	Odds      money.Odds `json:"odds"`
	Tick      string     `json:"tick"`
}

// Markets returns the markets of its legs, in their order.
func (b Bet) Markets() []string {
	markets := make([]string, len(b.Legs))
	for i, leg := range b.Legs {
		markets[i] = leg.Market
	}
	return markets
}

// Hold keeps the stake while the bet is open.
type Hold struct {
	Reference
	Amount  money.Amount `json:"amount"`
	Attempt string       `json:"attempt"`
}

// HoldEnd is how a hold ended.
type HoldEnd struct {
	Reference
	// Consumed says that the stake went to the house; otherwise it was
	// released to the player.
	Consumed bool         `json:"consumed"`
	Amount   money.Amount `json:"amount"`
	Attempt  string       `json:"attempt"`
}

// Closing is how a bet ended.
type Closing struct {
	Reference
	State State `json:"state"`
	// ResultVersion names what it was closed by.
	ResultVersion string `json:"result_version"`
	// Payout is what the player got, stake included.
	Payout money.Amount `json:"payout"`
	// Rounding is the rule by which Payout was rounded.
	Rounding money.Rounding `json:"rounding"`
	Attempt  string         `json:"attempt"`
}

// Taken is what a bet has of a stripe of a limit while it is open.
type Taken struct {
	Reference
	exposure.Take
}

// State is where a bet stands.
type State string

// The states of a bet.
const (
	Open    State = "open"
	Settled State = "settled"
	Voided  State = "voided"
)

// Referral is a command that waits for a trader.
type Referral struct {
	Reference
	Stake money.Amount `json:"stake"`
	// ExpiresAt is when it becomes a rejection.
	ExpiresAt time.Time `json:"expires_at"`
}
