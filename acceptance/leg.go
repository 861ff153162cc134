package acceptance

import "github.com/settleonce/settleonce/acceptance/money"

// Leg is one selection of a bet, with the quote that the player saw.
type Leg struct {
	// Event, Market and Selection name what is bet on, each in 1 to [MaxText]
	// bytes.
	Event     string `json:"event"`
	Market    string `json:"market"`
	Selection string `json:"selection"`
	// Line is the handicap or total that the market is about, such as "2.5",
	// as the house writes it: it is a name, so "2.5" and "2.50" are two.
	// Empty: the market has none.
	Line string `json:"line,omitempty"`
	// QuoteVersion is the version of the quote that the player saw: its tick,
	// or the market's material version, as [Config.Fence] says.
	QuoteVersion string `json:"quote_version"`
	// Odds are the ones that the player saw. They must be set.
	Odds money.Odds `json:"odds"`
	// Proof is a signed quote where another writer owns the market's state,
	// as package quotetoken makes it. It is evidence and no part of the
	// effect, so it is not fingerprinted. It has at most [MaxProof] bytes.
	// Empty: there is none.
	Proof string `json:"proof,omitempty" fingerprint:"-"`
}
