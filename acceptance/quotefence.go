package acceptance

import (
	"fmt"
	"time"

	"github.com/shopspring/decimal"
)

// fenced is what the quote fence makes of a bet. It is taken where there is
// neither a code nor a requote.
type fenced struct {
	// legs have each the quote at which the bet is taken, or else the current
	// one.
	legs []DecidedLeg
	// code rejects the bet, and detail says which leg does. Empty: none does.
	code   Code
	detail string
	// requote asks the player about the quotes in legs.
	requote bool
}

// fence holds the legs of a bet against the board. It is a pure function: the
// same arguments give the same answer.
//
// A leg that may not be bet on rejects the bet, whatever the odds. Where
// several may not, or one for several reasons, what lasts outranks what may
// pass: a refusal of Quote, a closed market, a passed cut-off, a suspended
// market. The first leg with the highest reason gives the code.
//
// Otherwise every leg must pass by itself, as [Quote] says, at the current
// odds. One that does not requotes the whole bet, with all current quotes.
//
// A trader's grant takes the requested odds in place of that comparison. The
// rest of the quote stays the current one.
//
// The legs' odds and change must have passed the command's validation. An error
// wraps [ErrCallback]: the board is not one that may be decided by.
func fence(legs []Leg, change OddsChange, version FenceVersion, board *Board, granted bool) (fenced, error) {
	if err := board.validate(len(legs), version); err != nil {
		return fenced{}, err
	}
	result := fenced{legs: make([]DecidedLeg, len(legs))}
	var highest barrier
	for i := range legs {
		leg, quote := &legs[i], board.Quotes[i]
		if bar := barrierOf(&quote, board.Now); bar > highest {
			highest = bar
			result.code, result.detail = bar.code(&quote), fmt.Sprintf("legs[%d]", i)
		}
		if !granted && !takes(leg, &quote, change, version) {
			result.requote = true
		}
		result.legs[i] = leg.decided(&quote)
	}
	switch {
	case highest != notBarred:
		result.requote = false
	case granted:
		for i := range legs {
			result.legs[i].Quote.Odds = legs[i].Odds
		}
	}
	return result, nil
}

// barrier is why a leg may not be bet on. The higher one gives the code.
type barrier int

const (
	notBarred barrier = iota
	barredBySuspension
	barredByCutOff
	barredByClosure
	barredByRefusal
)

func barrierOf(quote *Quote, now time.Time) barrier {
	switch {
	case quote.Refusal != "":
		return barredByRefusal
	case quote.Status == MarketClosed:
		return barredByClosure
	case !quote.CutOff.IsZero() && !now.Before(quote.CutOff):
		return barredByCutOff
	case quote.Status == MarketSuspended:
		return barredBySuspension
	default:
		return notBarred
	}
}

func (b barrier) code(quote *Quote) Code {
	switch b {
	case barredByRefusal:
		return quote.Refusal
	case barredByClosure:
		return CodeMarketClosed
	case barredByCutOff:
		return CodeCutOffPassed
	case barredBySuspension:
		return CodeMarketSuspended
	default:
		return ""
	}
}

// takes reports whether the leg may be taken at the current odds without
// asking. What a refused quote gives is not looked at.
func takes(leg *Leg, quote *Quote, change OddsChange, version FenceVersion) bool {
	if version == FenceMaterial && leg.QuoteVersion != quote.Material {
		return false
	}
	switch change.Policy {
	case OddsBetter:
		return quote.Odds.Cmp(leg.Odds) >= 0
	case OddsAny:
		return withinBound(quote.Odds.Decimal(), leg.Odds.Decimal(), change.WithinBasisPoints)
	default: // OddsExact, and what a policy of tomorrow means to today's build
		current := version == FenceMaterial || leg.QuoteVersion == quote.Version
		return current && quote.Odds.Equal(leg.Odds)
	}
}

// wholeInBasisPoints is one, in basis points.
const wholeInBasisPoints = 10_000

// withinBound reports current ≥ requested × (1 − bound), multiplied out so that
// nothing is divided and so nothing rounded (I9).
func withinBound(current, requested decimal.Decimal, basisPoints int) bool {
	kept := int64(wholeInBasisPoints - basisPoints)
	return current.Mul(decimal.NewFromInt(wholeInBasisPoints)).Cmp(requested.Mul(decimal.NewFromInt(kept))) >= 0
}

// decided returns the leg as a decision stores it. A nil quote: none was read.
func (l *Leg) decided(quote *Quote) DecidedLeg {
	return DecidedLeg{
		Event:     l.Event,
		Market:    l.Market,
		Selection: l.Selection,
		Line:      l.Line,
		Requested: RequestedQuote{Version: l.QuoteVersion, Odds: l.Odds},
		Quote:     quote,
	}
}
