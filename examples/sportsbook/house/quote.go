package house

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/settleonce/settleonce/acceptance"

	"github.com/settleonce/settleonce/examples/sportsbook/exposure"
	"github.com/settleonce/settleonce/examples/sportsbook/market"
)

// lockWallet locks the wallet's balance in the currency of the stake.
func lockWallet(ctx context.Context, unit Unit, c *acceptance.Command) (acceptance.Wallet, error) {
	balance, err := unit.LockBalance(ctx, c.Wallet, c.Stake.Currency())
	switch {
	case errors.Is(err, ErrUnknownWallet):
		return acceptance.Wallet{Refusal: acceptance.CodeWalletUnknown}, nil
	case errors.Is(err, ErrNoBalance):
		return acceptance.Wallet{Refusal: acceptance.CodeCurrencyMismatch}, nil
	case err != nil:
		return acceptance.Wallet{}, fmt.Errorf("house: %w", err)
	}
	return acceptance.Wallet{Available: balance.Available}, nil
}

// quote reads what is offered for each leg.
func quote(ctx context.Context, unit Unit, c *acceptance.Command) (acceptance.Board, error) {
	selections := make([]exposure.Selection, len(c.Legs))
	for i, leg := range c.Legs {
		selections[i] = exposure.Selection{Market: leg.Market, Selection: leg.Selection}
	}
	board, err := unit.Board(ctx, selections, homeOf(c))
	if err != nil {
		return acceptance.Board{}, fmt.Errorf("house: %w", err)
	}
	quotes := make([]acceptance.Quote, len(c.Legs))
	for i := range quotes {
		quotes[i] = quoteOf(&c.Legs[i], &board.Offers[i])
	}
	return acceptance.Board{Now: board.Now, Quotes: quotes}, nil
}

func homeOf(c *acceptance.Command) exposure.Home {
	return exposure.Home{Wallet: c.Wallet, Currency: c.Stake.Currency()}
}

// quoteOf makes a quote of what is offered. A selection of another event or line
// is not the one that the player saw.
func quoteOf(leg *acceptance.Leg, offer *market.Offer) acceptance.Quote {
	if offer.Unknown || offer.Event != leg.Event || offer.Line != leg.Line {
		return acceptance.Quote{Refusal: acceptance.CodeSelectionUnknown}
	}
	return acceptance.Quote{
		Version:  strconv.FormatInt(offer.Selection.Tick, 10),
		Material: strconv.FormatInt(offer.Material, 10),
		Odds:     offer.Selection.Odds,
		Status:   offer.Status,
		CutOff:   offer.CutOff,
	}
}
