package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/settleonce/settleonce/acceptance/money"

	"github.com/settleonce/settleonce/examples/sportsbook/house"
	"github.com/settleonce/settleonce/examples/sportsbook/market"
)

// demo is the world that people are served.
type demo struct {
	wallets []string
	// still is a market whose quotes only traders move, moving one whose
	// quotes also move by themselves.
	still, moving string
	// every is how often they do.
	every time.Duration
}

func demoWorld() demo {
	return demo{wallets: []string{"alice", "bob"}, still: "derby", moving: "friendly", every: 5 * time.Second}
}

// open opens its wallets and markets.
func (w *demo) open(ctx context.Context, cashier house.Cashier, trading house.Trading) error {
	if err := cashier.OpenWallets(ctx, []money.Amount{euros("1000.00")}, w.wallets...); err != nil {
		return err
	}
	for _, name := range []string{w.still, w.moving} {
		err := trading.OpenMarket(ctx, market.Opening{
			ID: name, Event: eventOf(name), Prices: firstPrices(), Limits: []money.Amount{euros("10000.00")},
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// move moves quotes up and down until ctx is done or the market is closed.
func (w *demo) move(ctx context.Context, trading house.Trading, logger *slog.Logger) {
	ticker := time.NewTicker(w.every)
	defer ticker.Stop()
	steps := []string{"2.05", "2.10", "2.15", "2.10"}
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		err := trading.Move(ctx, w.moving, market.Price{Selection: "home", Odds: odds(steps[i%len(steps)])})
		switch {
		case errors.Is(err, house.ErrMarketClosed): // a trader has seen to that
			return
		case err != nil && ctx.Err() == nil:
			logger.WarnContext(ctx, "sportsbook: the quotes do not move", "error", err)
		}
	}
}
