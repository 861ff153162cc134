package acceptance

import (
	"time"

	"github.com/settleonce/settleonce/acceptance/money"
)

// MarketStatus says whether a market takes bets.
type MarketStatus string

// The states of a market.
const (
	MarketOpen      MarketStatus = "open"
	MarketSuspended MarketStatus = "suspended"
	MarketClosed    MarketStatus = "closed"
)

// Quote is what the house offers for one selection now. A leg is held against
// it in this order:
//
//  1. A Refusal rejects the bet with its code, and nothing else is looked at.
//  2. A closed market rejects with [CodeMarketClosed], a CutOff that has come by
//     [Board.Now] with [CodeCutOffPassed], a suspended market with [CodeMarketSuspended].
//  3. Under [FenceMaterial], Material must be the leg's QuoteVersion.
//  4. Under [OddsExact], the Odds must be the requested ones, and under
//     [FenceTick] the Version must be the leg's QuoteVersion: the same odds
//     under another version are asked about again. Under [OddsBetter] the Odds
//     must be the requested ones or higher; under [OddsAny] they may also be
//     lower, down to requested × (1 − bound) and that included, exactly.
//
// Where 3 or 4 fails for any leg, the whole bet is requoted, with the current
// quotes of all legs. Otherwise it stands at the current odds, not at the
// requested ones. Where several legs reject, refusals go before closed markets,
// these before cut-offs, those before suspensions, and among equals the first
// leg gives the code.
//
// Where a trader has granted the requested odds ([Resolution.GrantRequested]), 3
// and 4 do not apply, and the bet stands at those; 1 and 2 do apply.
type Quote struct {
	// Version changes with every change of the odds: the tick. It must be set
	// and, as the leg's QuoteVersion, have at most [MaxText] bytes of UTF-8
	// without control characters.
	Version string `json:"version"`
	// Material changes only with what a player must be asked about again,
	// such as a suspension. It is formed as Version is. Empty where the house
	// keeps none; it must be set under [FenceMaterial].
	Material string `json:"material,omitempty"`
	// Odds are the current ones. They must be set.
	Odds money.Odds `json:"odds,omitzero"`
	// Status is the market's. It must be one of the three.
	Status MarketStatus `json:"status"`
	// CutOff is when the market stops to take bets: at that instant and later
	// it takes none. Zero: never.
	CutOff time.Time `json:"cut_off,omitzero"`
	// Refusal rejects the bet with this code, for instance
	// [CodeSelectionUnknown]. The other fields need not be set then, and are only
	// stored, if they have their form. Empty: the other fields decide.
	Refusal Code `json:"refusal,omitempty"`
}

// FenceVersion says which version a leg's QuoteVersion is.
type FenceVersion int

const (
	// FenceTick compares with [Quote.Version]. Under [OddsExact] the version
	// must be the current one; the other policies look at the odds alone.
	FenceTick FenceVersion = iota
	// FenceMaterial compares with [Quote.Material], which must be the current
	// one under every policy: after a suspension the player is asked again.
	FenceMaterial
)
