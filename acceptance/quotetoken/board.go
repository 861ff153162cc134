package quotetoken

import (
	"time"

	"github.com/settleonce/settleonce/acceptance"
)

// Board returns the board of a command all of whose legs carry tokens, which is
// what a Quote callback returns: each leg has the quote that its proof proves,
// or the refusal that [Refusal] gives for it. now must be the database's clock,
// read in the transaction that places the bet.
//
// An error is the caller's mistake, as of [Verifier.Verify]. Use that where some
// markets are the house's own, or where an operator shall hear why a token was
// refused: after a rotation in the wrong order, every token is.
func (v *Verifier) Board(c *acceptance.Command, now time.Time) (acceptance.Board, error) {
	board := acceptance.Board{Now: now, Quotes: make([]acceptance.Quote, len(c.Legs))}
	for i, leg := range c.Legs {
		quote, err := v.Verify(leg.Proof, leg, c.Tenant, now)
		if code, refused := Refusal(err); refused {
			quote = acceptance.Quote{Refusal: code}
		} else if err != nil {
			return acceptance.Board{}, err
		}
		board.Quotes[i] = quote
	}
	return board, nil
}
