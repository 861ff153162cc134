package postgres

import (
	"context"
	"encoding"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/settleonce/settleonce/acceptance/money"

	"github.com/settleonce/settleonce/examples/sportsbook/bet"
	"github.com/settleonce/settleonce/examples/sportsbook/exposure"
	"github.com/settleonce/settleonce/examples/sportsbook/house"
)

// Tables reads everything in one snapshot. Receipts and events are the store's,
// see pgstore, and are not among it.
func (d *Database) Tables(ctx context.Context) (tables house.Tables, err error) {
	err = d.snapshot(ctx, func(tx pgx.Tx) error {
		for _, read := range []func(context.Context, pgx.Tx, *house.Tables) error{
			d.tablesOfOwners, d.tablesOfBets, d.tablesOfHolds, d.tablesOfExposure,
		} {
			if err := read(ctx, tx, &tables); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return house.Tables{}, fmt.Errorf("postgres: tables: %w", err)
	}
	return tables, nil
}

func (d *Database) tablesOfOwners(ctx context.Context, tx pgx.Tx, tables *house.Tables) (err error) {
	if tables.Wallets, err = d.readWallets(ctx, tx, ``); err != nil {
		return err
	}
	if tables.Journal, err = d.readJournal(ctx, tx, ``); err != nil {
		return err
	}
	tables.Markets, err = readMarkets(ctx, tx, ``)
	return err
}

func (d *Database) tablesOfBets(ctx context.Context, tx pgx.Tx, tables *house.Tables) (err error) {
	if tables.Bets, tables.StrayLegs, err = d.readBets(ctx, tx, ``); err != nil {
		return err
	}
	tables.Closings, err = readAmounts(ctx, tx, d,
		func(c *bet.Closing) ([]any, *money.Amount) {
			return []any{&c.Wallet, &c.ID, (*string)(&c.State), &c.ResultVersion, scanText{&c.Rounding}, &c.Attempt}, &c.Payout
		},
		`SELECT wallet, bet, state, result_version, rounding, attempt, payout, currency FROM closings`)
	if err != nil {
		return err
	}
	tables.Referrals, err = readAmounts(ctx, tx, d,
		func(r *bet.Referral) ([]any, *money.Amount) {
			return []any{&r.Wallet, &r.ID, &r.ExpiresAt}, &r.Stake
		},
		`SELECT wallet, bet, expires_at, stake, currency FROM referrals`)
	return err
}

func (d *Database) tablesOfHolds(ctx context.Context, tx pgx.Tx, tables *house.Tables) (err error) {
	tables.Holds, err = readAmounts(ctx, tx, d,
		func(h *bet.Hold) ([]any, *money.Amount) {
			return []any{&h.Wallet, &h.ID, &h.Attempt}, &h.Amount
		},
		`SELECT wallet, bet, attempt, amount, currency FROM holds`)
	if err != nil {
		return err
	}
	tables.HoldEnds, err = readAmounts(ctx, tx, d,
		func(e *bet.HoldEnd) ([]any, *money.Amount) {
			return []any{&e.Wallet, &e.ID, &e.Consumed, &e.Attempt}, &e.Amount
		},
		`SELECT wallet, bet, consumed, attempt, amount, currency FROM hold_ends`)
	return err
}

func (d *Database) tablesOfExposure(ctx context.Context, tx pgx.Tx, tables *house.Tables) (err error) {
	tables.Taken, err = readAmounts(ctx, tx, d,
		func(t *bet.Taken) ([]any, *money.Amount) {
			return []any{&t.Wallet, &t.ID, &t.Market, &t.Selection.Selection, &t.Number}, &t.Amount
		},
		`SELECT wallet, bet, market, selection, stripe, amount, currency FROM takes`)
	if err != nil {
		return err
	}
	rows, err := tx.Query(ctx, `SELECT market, selection, currency, stripe, "limit", taken FROM stripes ORDER BY market, selection, currency, stripe`)
	if err != nil {
		return err
	}
	tables.Stripes, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (exposure.Stripe, error) {
		var selection exposure.Selection
		var currency string
		var number int
		var limit, taken money.Numeric
		if err := row.Scan(&selection.Market, &selection.Selection, &currency, &number, &limit, &taken); err != nil {
			return exposure.Stripe{}, err
		}
		return d.stripe(selection, number, currency, limit, taken)
	})
	return err
}

// readAmounts is readAll for rows with an amount, whose number and currency are
// the last two columns.
func readAmounts[T any](
	ctx context.Context, from reader, d *Database, fields func(*T) ([]any, *money.Amount), statement string,
) ([]T, error) {
	rows, err := from.Query(ctx, statement)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (read T, err error) {
		var number money.Numeric
		var currency string
		into, amount := fields(&read)
		if err := row.Scan(append(into, &number, &currency)...); err != nil {
			return read, err
		}
		*amount, err = d.amount(number, currency)
		return read, err
	})
}

// scanText reads a column of text into what reads text.
type scanText struct{ into encoding.TextUnmarshaler }

// Scan reads a string.
func (s scanText) Scan(source any) error {
	text, ok := source.(string)
	if !ok {
		return fmt.Errorf("postgres: must come from a column of text, is %T", source)
	}
	return s.into.UnmarshalText([]byte(text))
}
