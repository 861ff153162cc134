package main

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/examples/sportsbook/house"
	"github.com/settleonce/settleonce/examples/sportsbook/house/memory"
	"github.com/settleonce/settleonce/examples/sportsbook/market"
)

// closing closes a market after a few moves of its quotes.
type closing struct {
	house.Trading
	moves []string
}

func (c *closing) Move(ctx context.Context, id string, prices ...market.Price) error {
	if err := c.Trading.Move(ctx, id, prices...); err != nil {
		return err
	}
	c.moves = append(c.moves, id+" "+prices[0].Odds.String())
	if len(c.moves) == 5 {
		return c.CloseMarket(ctx, id, market.Result{Version: "feed-1", Void: true})
	}
	return nil
}

// Quotes move until the market is closed, and nobody needs to say so.
func TestQuotesMoveUntilTheMarketIsClosed(t *testing.T) {
	t.Parallel()
	tables := memory.New(memory.Config{})
	world := demoWorld()
	world.every = time.Nanosecond
	if err := world.open(t.Context(), tables, tables); err != nil {
		t.Fatal(err)
	}
	trading := &closing{Trading: tables}
	world.move(t.Context(), trading, slog.New(slog.DiscardHandler))
	want := []string{"friendly 2.05", "friendly 2.1", "friendly 2.15", "friendly 2.1", "friendly 2.05"}
	if diff := cmp.Diff(want, trading.moves); diff != "" {
		t.Errorf("moves (-want +got)\n%s", diff)
	}
}
