package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/acceptance/money"

	"github.com/settleonce/settleonce/examples/sportsbook/exposure"
	"github.com/settleonce/settleonce/examples/sportsbook/house"
	"github.com/settleonce/settleonce/examples/sportsbook/market"
)

// OpenMarket opens a market.
func (d *Database) OpenMarket(ctx context.Context, opening market.Opening) error {
	if err := opening.Validate(); err != nil {
		return fmt.Errorf("postgres: %w", err)
	}
	cutOff := sql.Null[any]{V: opening.CutOff, Valid: !opening.CutOff.IsZero()}
	err := pgx.BeginFunc(ctx, d.pool, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO markets (market, event, line, status, cut_off, stripes) VALUES ($1, $2, $3, 'open', $4, $5)`,
			opening.ID, opening.Event, opening.Line, cutOff, opening.StripeCount())
		if err != nil {
			return err
		}
		for _, price := range opening.Prices {
			_, err := tx.Exec(ctx, `INSERT INTO selections (market, selection, odds) VALUES ($1, $2, $3)`, opening.ID, price.Selection, price.Odds)
			if err != nil {
				return err
			}
			for _, limit := range opening.Limits {
				if err := d.insertStripes(ctx, tx, exposure.Selection{Market: opening.ID, Selection: price.Selection}, limit, opening.StripeCount()); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("postgres: open market %s: %w", opening.ID, err)
	}
	return nil
}

func (d *Database) insertStripes(ctx context.Context, tx pgx.Tx, selection exposure.Selection, limit money.Amount, count int) error {
	parts, err := exposure.Cut(d.currencies, limit, count)
	if err != nil {
		return err
	}
	limits := make([]string, len(parts))
	for i, part := range parts {
		limits[i] = part.Numeric().String()
	}
	_, err = tx.Exec(ctx, `
		INSERT INTO stripes (market, selection, currency, stripe, "limit")
		SELECT $1, $2, $3, number - 1, part::numeric FROM unnest($4::text[]) WITH ORDINALITY AS parts (part, number)`,
		selection.Market, selection.Selection, limit.Currency().Code(), limits)
	return err
}

// Move sets new odds.
func (d *Database) Move(ctx context.Context, marketID string, prices ...market.Price) error {
	return d.change(ctx, marketID, func(tx pgx.Tx, status acceptance.MarketStatus) error {
		if status == acceptance.MarketClosed {
			return house.ErrMarketClosed
		}
		for _, price := range prices {
			tag, err := tx.Exec(ctx, `UPDATE selections SET odds = $3, tick = tick + 1 WHERE market = $1 AND selection = $2`,
				marketID, price.Selection, price.Odds)
			if err != nil {
				return err
			}
			if tag.RowsAffected() == 0 {
				return fmt.Errorf("%w %s", house.ErrUnknownSelection, price.Selection)
			}
		}
		return d.touch(ctx, tx, marketID)
	})
}

// touch changes the market's row with a change of its selections, see
// schema.sql.
func (d *Database) touch(ctx context.Context, tx pgx.Tx, marketID string) error {
	_, err := tx.Exec(ctx, `UPDATE markets SET revision = revision + 1 WHERE market = $1`, marketID)
	return err
}

// Suspend stops the bets on a market.
func (d *Database) Suspend(ctx context.Context, marketID string) error {
	return d.change(ctx, marketID, func(tx pgx.Tx, status acceptance.MarketStatus) error {
		switch status {
		case acceptance.MarketClosed:
			return house.ErrMarketClosed
		case acceptance.MarketSuspended:
			return nil
		default:
			_, err := tx.Exec(ctx, `
				UPDATE markets SET status = 'suspended', material = material + 1, revision = revision + 1 WHERE market = $1`, marketID)
			return err
		}
	})
}

// Resume lets bets be taken again.
func (d *Database) Resume(ctx context.Context, marketID string) error {
	return d.change(ctx, marketID, func(tx pgx.Tx, status acceptance.MarketStatus) error {
		if status == acceptance.MarketClosed {
			return house.ErrMarketClosed
		}
		_, err := tx.Exec(ctx, `UPDATE markets SET status = 'open', revision = revision + 1 WHERE market = $1`, marketID)
		return err
	})
}

// CloseMarket closes a market for good.
func (d *Database) CloseMarket(ctx context.Context, marketID string, result market.Result) error {
	if err := result.Validate(); err != nil {
		return fmt.Errorf("postgres: close market %s: %w", marketID, err)
	}
	return d.change(ctx, marketID, func(tx pgx.Tx, status acceptance.MarketStatus) error {
		if status == acceptance.MarketClosed {
			return d.sameResult(ctx, tx, marketID, result)
		}
		if !result.Void {
			var known bool
			err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM selections WHERE market = $1 AND selection = $2)`, marketID, result.Winner).Scan(&known)
			if err != nil {
				return err
			}
			if !known {
				return fmt.Errorf("%w %s", house.ErrUnknownSelection, result.Winner)
			}
		}
		_, err := tx.Exec(ctx, `
			UPDATE markets SET status = 'closed', revision = revision + 1, result_version = $2, winner = $3 WHERE market = $1`,
			marketID, result.Version, sql.Null[string]{V: result.Winner, Valid: !result.Void})
		return err
	})
}

func (d *Database) sameResult(ctx context.Context, tx pgx.Tx, marketID string, result market.Result) error {
	stored, err := readResults(ctx, tx, []string{marketID})
	if err != nil {
		return err
	}
	if stored[marketID] != result {
		return house.ErrMarketClosed
	}
	return nil
}

// change runs a change of a market in a transaction of its own, which has the
// market for itself.
func (d *Database) change(ctx context.Context, marketID string, change func(pgx.Tx, acceptance.MarketStatus) error) error {
	err := pgx.BeginFunc(ctx, d.pool, func(tx pgx.Tx) error {
		if err := d.fence.Exclude(ctx, tx, d.fenced(marketID)); err != nil {
			return err
		}
		var status acceptance.MarketStatus
		err := tx.QueryRow(ctx, `SELECT status FROM markets WHERE market = $1`, marketID).Scan(&status)
		if errors.Is(err, pgx.ErrNoRows) {
			return house.ErrUnknownMarket
		}
		if err != nil {
			return err
		}
		return change(tx, status)
	})
	if err != nil {
		return fmt.Errorf("postgres: market %s: %w", marketID, err)
	}
	return nil
}
