package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/acceptance/money"

	"github.com/settleonce/settleonce/examples/sportsbook/exposure"
	"github.com/settleonce/settleonce/examples/sportsbook/house"
	"github.com/settleonce/settleonce/examples/sportsbook/market"
)

// OpenMarket opens a market.
func (d *Database) OpenMarket(ctx context.Context, opening market.Opening) error {
	if err := opening.Validate(); err != nil {
		return fmt.Errorf("memory: %w", err)
	}
	return d.alone(ctx, func() error {
		if _, known := d.markets[opening.ID]; known {
			return fmt.Errorf("memory: the market %s exists", opening.ID)
		}
		opened := market.Market{
			ID: opening.ID, Event: opening.Event, Line: opening.Line,
			Status: acceptance.MarketOpen, Material: 1, CutOff: opening.CutOff,
		}
		for _, price := range opening.Prices {
			opened.Selections = append(opened.Selections, market.Selection{ID: price.Selection, Odds: price.Odds, Tick: 1})
			for _, limit := range opening.Limits {
				selection := exposure.Selection{Market: opening.ID, Selection: price.Selection}
				if err := d.insertStripes(selection, limit, opening.StripeCount()); err != nil {
					return err
				}
			}
		}
		slices.SortFunc(opened.Selections, func(a, b market.Selection) int { return cmp.Compare(a.ID, b.ID) })
		d.markets[opening.ID] = opened
		return nil
	})
}

func (d *Database) insertStripes(selection exposure.Selection, limit money.Amount, count int) error {
	parts, err := exposure.Cut(d.config.Currencies, limit, count)
	if err != nil {
		return fmt.Errorf("memory: %w", err)
	}
	nothing, err := limit.Times(0)
	if err != nil {
		return fmt.Errorf("memory: %w", err)
	}
	stripes := make([]exposure.Stripe, count)
	for i, part := range parts {
		stripes[i] = exposure.Stripe{Selection: selection, Number: i, Limit: part, Taken: nothing}
	}
	d.stripes[limited{selection, limit.Currency().Code()}] = stripes
	return nil
}

// Move sets new odds.
func (d *Database) Move(ctx context.Context, marketID string, prices ...market.Price) error {
	return d.change(ctx, marketID, func(m *market.Market) error {
		if m.Status == acceptance.MarketClosed {
			return house.ErrMarketClosed
		}
		for _, price := range prices {
			selection := selectionOf(m, price.Selection)
			if selection == nil {
				return fmt.Errorf("%w %s", house.ErrUnknownSelection, price.Selection)
			}
			selection.Odds = price.Odds
			selection.Tick++
		}
		return nil
	})
}

func selectionOf(m *market.Market, id string) *market.Selection {
	for i := range m.Selections {
		if m.Selections[i].ID == id {
			return &m.Selections[i]
		}
	}
	return nil
}

// Suspend stops the bets on a market.
func (d *Database) Suspend(ctx context.Context, marketID string) error {
	return d.change(ctx, marketID, func(m *market.Market) error {
		switch m.Status {
		case acceptance.MarketClosed:
			return house.ErrMarketClosed
		case acceptance.MarketOpen:
			m.Status = acceptance.MarketSuspended
			m.Material++
		case acceptance.MarketSuspended:
		}
		return nil
	})
}

// Resume lets bets be taken again.
func (d *Database) Resume(ctx context.Context, marketID string) error {
	return d.change(ctx, marketID, func(m *market.Market) error {
		if m.Status == acceptance.MarketClosed {
			return house.ErrMarketClosed
		}
		m.Status = acceptance.MarketOpen
		return nil
	})
}

// CloseMarket closes a market for good.
func (d *Database) CloseMarket(ctx context.Context, marketID string, result market.Result) error {
	if err := result.Validate(); err != nil {
		return fmt.Errorf("memory: close market %s: %w", marketID, err)
	}
	return d.change(ctx, marketID, func(m *market.Market) error {
		if m.Status == acceptance.MarketClosed {
			if *m.Result != result {
				return house.ErrMarketClosed
			}
			return nil
		}
		if !result.Void && selectionOf(m, result.Winner) == nil {
			return fmt.Errorf("%w %s", house.ErrUnknownSelection, result.Winner)
		}
		m.Status = acceptance.MarketClosed
		m.Result = &result
		return nil
	})
}

// change changes a copy of a market, and keeps it if that succeeds.
func (d *Database) change(ctx context.Context, marketID string, change func(*market.Market) error) error {
	err := d.alone(ctx, func() error {
		changed, known := d.marketOf(marketID)
		if !known {
			return house.ErrUnknownMarket
		}
		if err := change(&changed); err != nil {
			return err
		}
		d.markets[marketID] = changed
		return nil
	})
	if err != nil {
		return fmt.Errorf("memory: market %s: %w", marketID, err)
	}
	return nil
}
