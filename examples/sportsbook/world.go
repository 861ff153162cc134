package main

import (
	"context"
	"fmt"

	"github.com/settleonce/settleonce/acceptance/money"

	"github.com/settleonce/settleonce/examples/sportsbook/house"
	"github.com/settleonce/settleonce/examples/sportsbook/market"
)

const (
	// tenant is the house's name.
	tenant = "corner-book"
	// markets is how many markets the ordinary traffic bets on, and players
	// how many wallets it bets from.
	markets = 12
	players = 40
	// everyPoor is how often a wallet has next to nothing.
	everyPoor = 10
)

// world is the wallets and markets of a run, all of them open before it begins.
type world struct {
	rich, staged, poor []string
	markets            []string
}

// newWorld returns the world for a list of scenes: each stage has a wallet and a
// market of its own.
func newWorld(scenes []scene) world {
	var w world
	for i := range players {
		if i%everyPoor == everyPoor-1 {
			w.poor = append(w.poor, playerName(i))
		} else {
			w.rich = append(w.rich, playerName(i))
		}
	}
	for i := range markets {
		w.markets = append(w.markets, marketName(i))
	}
	for _, s := range scenes {
		w.staged = append(w.staged, s.stages()...)
		w.markets = append(w.markets, s.stages()...)
	}
	return w
}

func playerName(i int) string { return fmt.Sprintf("player-%02d", i) }
func marketName(i int) string { return fmt.Sprintf("match-%02d", i) }

// selections are those of every market.
func selections() []string { return []string{"home", "draw", "away"} }

// firstPrices are those that every market opens with.
func firstPrices() []market.Price {
	return []market.Price{{Selection: "home", Odds: odds("2.10")}, {Selection: "draw", Odds: odds("3.40")}, {Selection: "away", Odds: odds("3.60")}}
}

// odds reads odds. The text is the program's own.
func odds(text string) money.Odds {
	parsed, err := money.ParseOdds(text)
	if err != nil {
		panic(err) // no text of the program's own is wrong
	}
	return parsed
}

// open opens the wallets and markets.
func (w *world) open(ctx context.Context, cashier house.Cashier, trading house.Trading) error {
	for deposit, wallets := range map[string][]string{"1000.00": w.rich, "100.00": w.staged, "5.00": w.poor} {
		if len(wallets) == 0 {
			continue
		}
		if err := cashier.OpenWallets(ctx, []money.Amount{euros(deposit)}, wallets...); err != nil {
			return err
		}
	}
	for _, name := range w.markets {
		err := trading.OpenMarket(ctx, market.Opening{
			ID: name, Event: eventOf(name), Prices: firstPrices(), Limits: []money.Amount{euros("100000.00")}, Stripes: 4,
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// eventOf returns the event that a market is about.
func eventOf(market string) string { return "event-" + market }
