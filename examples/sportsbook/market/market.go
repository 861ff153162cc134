// Package market has what is bet on: markets with their selections, quotes and
// results.
//
// A quote has two versions. The tick of a selection changes with each of its
// odds. The material version of a market changes when it is suspended: what a
// player saw before that must be shown again, even if the odds came back.
package market

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/acceptance/money"
)

// Market is one question about an event, such as who wins it.
type Market struct {
	ID    string `json:"market"`
	Event string `json:"event"`
	// Line is the handicap or total that it is about. Empty: none.
	Line   string                  `json:"line,omitempty"`
	Status acceptance.MarketStatus `json:"status"`
	// Material changes with every suspension.
	Material int64 `json:"material"`
	// CutOff is when it stops to take bets. Zero: never.
	CutOff time.Time `json:"cut_off,omitzero"`
	// Selections are its possible answers, by ID.
	Selections []Selection `json:"selections"`
	// Result is nil until it is known.
	Result *Result `json:"result,omitempty"`
}

// Selection is one answer with its quote.
type Selection struct {
	ID   string     `json:"selection"`
	Odds money.Odds `json:"odds"`
	// Tick changes with every change of the odds.
	Tick int64 `json:"tick"`
}

// Opening is a market to be opened.
type Opening struct {
	ID, Event, Line string
	CutOff          time.Time
	Prices          []Price
	// Limits bound what the house may lose on each selection, one limit for
	// each currency in which bets are taken.
	Limits []money.Amount
	// Stripes is the number of parts of each limit, see package exposure.
	// Zero: [DefaultStripes].
	Stripes int
}

// DefaultStripes is well above the number of bets that commit at once, so that
// few of them meet in one stripe.
const DefaultStripes = 64

// Price is a selection's odds.
type Price struct {
	Selection string     `json:"selection"`
	Odds      money.Odds `json:"odds"`
}

// Result is how a market ended.
type Result struct {
	// Version names the result in the feed that it came from.
	Version string `json:"version"`
	// Winner is the selection that won. Empty where Void is set.
	Winner string `json:"winner,omitempty"`
	// Void says that the market does not count: a leg on it has odds of one.
	Void bool `json:"void,omitempty"`
}

// Board is what one read of the market state found.
type Board struct {
	// Now is the store's clock, read after the markets were fenced.
	Now time.Time
	// Offers has one offer a leg, in the order of the legs.
	Offers []Offer
}

// Offer is the state of one leg's market and selection.
type Offer struct {
	// Unknown says that there is no such selection. All else is zero then.
	Unknown   bool
	Event     string
	Line      string
	Status    acceptance.MarketStatus
	Material  int64
	CutOff    time.Time
	Selection Selection
}

// Validate names what is wrong with the opening.
func (o Opening) Validate() error {
	var broken []error
	if o.ID == "" || o.Event == "" {
		broken = append(broken, errors.New("market: Opening.ID and Opening.Event must be set"))
	}
	if len(o.Prices) == 0 {
		broken = append(broken, errors.New("market: Opening.Prices must not be empty"))
	}
	if o.Stripes < 0 {
		broken = append(broken, fmt.Errorf("market: Opening.Stripes must not be negative, is %d", o.Stripes))
	}
	return errors.Join(broken...)
}

// StripeCount returns the number of stripes.
func (o Opening) StripeCount() int { return cmp.Or(o.Stripes, DefaultStripes) }

// Validate reports whether the result names its version, and either a winner or
// that the market is void.
func (r Result) Validate() error {
	if r.Version == "" {
		return errors.New("market: Result.Version must be set")
	}
	if (r.Winner == "") != r.Void {
		return errors.New("market: Result.Winner must be set, unless Void is")
	}
	return nil
}
