package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/settleonce/settleonce/examples/sportsbook/bet"
	"github.com/settleonce/settleonce/examples/sportsbook/house"
	"github.com/settleonce/settleonce/examples/sportsbook/market"
	"github.com/settleonce/settleonce/examples/sportsbook/wallet"
)

// reader is the pool or a transaction.
type reader interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// snapshot reads in one snapshot.
func (d *Database) snapshot(ctx context.Context, read func(pgx.Tx) error) error {
	return pgx.BeginTxFunc(ctx, d.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, read)
}

const barredSQL = `SELECT barred FROM wallets WHERE wallet = $1`

// Barred says whether a player may not bet.
func (d *Database) Barred(ctx context.Context, walletID string) (bool, error) {
	var barred bool
	err := d.pool.QueryRow(ctx, barredSQL, walletID).Scan(&barred)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return false, fmt.Errorf("postgres: wallet %s: %w", walletID, err)
	}
	return barred, nil
}

// Wallet returns a wallet.
func (d *Database) Wallet(ctx context.Context, id string) (wallet.Wallet, error) {
	var found []wallet.Wallet
	err := d.snapshot(ctx, func(tx pgx.Tx) (err error) {
		found, err = d.readWallets(ctx, tx, `WHERE wallet = $1`, id)
		return err
	})
	if err != nil {
		return wallet.Wallet{}, fmt.Errorf("postgres: wallet %s: %w", id, err)
	}
	if len(found) == 0 {
		return wallet.Wallet{}, fmt.Errorf("%w %s", house.ErrUnknownWallet, id)
	}
	return found[0], nil
}

// Journal returns the transactions of a wallet.
func (d *Database) Journal(ctx context.Context, walletID string) ([]wallet.Transaction, error) {
	var found []wallet.Transaction
	err := d.snapshot(ctx, func(tx pgx.Tx) (err error) {
		found, err = d.readJournal(ctx, tx, `WHERE t.wallet = $1`, walletID)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("postgres: journal of %s: %w", walletID, err)
	}
	return found, nil
}

// Market returns a market.
func (d *Database) Market(ctx context.Context, id string) (market.Market, error) {
	var found []market.Market
	err := d.snapshot(ctx, func(tx pgx.Tx) (err error) {
		found, err = readMarkets(ctx, tx, `WHERE market = $1`, id)
		return err
	})
	if err != nil {
		return market.Market{}, fmt.Errorf("postgres: market %s: %w", id, err)
	}
	if len(found) == 0 {
		return market.Market{}, fmt.Errorf("%w %s", house.ErrUnknownMarket, id)
	}
	return found[0], nil
}

// Markets returns all markets by ID.
func (d *Database) Markets(ctx context.Context) ([]market.Market, error) {
	var found []market.Market
	err := d.snapshot(ctx, func(tx pgx.Tx) (err error) {
		found, err = readMarkets(ctx, tx, ``)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("postgres: markets: %w", err)
	}
	return found, nil
}

// Results returns the results of markets, of those that have one.
func (d *Database) Results(ctx context.Context, markets []string) (map[string]market.Result, error) {
	results, err := readResults(ctx, d.pool, markets)
	if err != nil {
		return nil, fmt.Errorf("postgres: results: %w", err)
	}
	return results, nil
}

func readResults(ctx context.Context, from reader, markets []string) (map[string]market.Result, error) {
	rows, err := from.Query(ctx, `
		SELECT market, result_version, winner FROM markets WHERE market = ANY($1) AND result_version IS NOT NULL`, markets)
	if err != nil {
		return nil, err
	}
	results := make(map[string]market.Result)
	var id, version string
	var winner sql.Null[string]
	_, err = pgx.ForEachRow(rows, []any{&id, &version, &winner}, func() error {
		results[id] = market.Result{Version: version, Winner: winner.V, Void: !winner.Valid}
		return nil
	})
	return results, err
}

// Bet returns a bet and its state.
func (d *Database) Bet(ctx context.Context, reference bet.Reference) (placed bet.Bet, state bet.State, err error) {
	err = d.snapshot(ctx, func(tx pgx.Tx) error {
		if placed, err = d.readBet(ctx, tx, reference); err != nil {
			return err
		}
		return tx.QueryRow(ctx, `
			SELECT coalesce((SELECT state FROM closings WHERE wallet = $1 AND bet = $2 LIMIT 1), $3)`,
			reference.Wallet, reference.ID, string(bet.Open)).Scan(&state)
	})
	if err != nil {
		return bet.Bet{}, "", fmt.Errorf("postgres: bet %s of %s: %w", reference.ID, reference.Wallet, err)
	}
	return placed, state, nil
}

func (d *Database) readBet(ctx context.Context, from reader, reference bet.Reference) (bet.Bet, error) {
	found, _, err := d.readBets(ctx, from, `WHERE wallet = $1 AND bet = $2`, reference.Wallet, reference.ID)
	if err != nil {
		return bet.Bet{}, fmt.Errorf("postgres: bet %s: %w", reference.ID, err)
	}
	if len(found) == 0 {
		return bet.Bet{}, house.ErrUnknownBet
	}
	return found[0], nil
}

// BetsOn returns the bets with a leg on the market.
func (d *Database) BetsOn(ctx context.Context, marketID string) ([]bet.Reference, error) {
	placed, err := readAll(ctx, d.pool, func(r *bet.Reference) []any { return []any{&r.Wallet, &r.ID} },
		`SELECT DISTINCT wallet, bet FROM bet_legs WHERE market = $1 ORDER BY wallet, bet`, marketID)
	if err != nil {
		return nil, fmt.Errorf("postgres: bets on %s: %w", marketID, err)
	}
	return placed, nil
}
