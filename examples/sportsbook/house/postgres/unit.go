package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/settleonce/settleonce/acceptance/money"

	"github.com/settleonce/settleonce/examples/sportsbook/bet"
	"github.com/settleonce/settleonce/examples/sportsbook/exposure"
	"github.com/settleonce/settleonce/examples/sportsbook/house"
	"github.com/settleonce/settleonce/examples/sportsbook/wallet"
)

// Unit is a unit of work in a transaction of pgstore. What it reads takes a round
// trip each; what it writes travels with the commit.
type Unit struct {
	database *Database
	tx       pgx.Tx
	// Read at most once a transaction, so that two steps see the same.
	stripes map[exposure.Selection]readStripe
	all     map[exposure.Selection][]exposure.Stripe
}

var _ house.Unit = (*Unit)(nil)

// Unit wraps tx.
func (d *Database) Unit(tx pgx.Tx) *Unit {
	return &Unit{
		database: d, tx: tx,
		stripes: make(map[exposure.Selection]readStripe), all: make(map[exposure.Selection][]exposure.Stripe),
	}
}

const (
	// The row is locked but for its key, which a reference to it may share.
	lockBalanceSQL  = `SELECT available, held FROM balances WHERE wallet = $1 AND currency = $2 FOR NO KEY UPDATE`
	walletExistsSQL = `SELECT EXISTS (SELECT FROM wallets WHERE wallet = $1)`
)

// LockBalance locks and returns a wallet's balance.
func (u *Unit) LockBalance(ctx context.Context, walletID string, currency money.Currency) (wallet.Balance, error) {
	var available, held money.Numeric
	err := u.tx.QueryRow(ctx, lockBalanceSQL, walletID, currency.Code()).Scan(&available, &held)
	if errors.Is(err, pgx.ErrNoRows) {
		return wallet.Balance{}, u.whyNoBalance(ctx, walletID, currency)
	}
	if err != nil {
		return wallet.Balance{}, fmt.Errorf("postgres: wallet %s: %w", walletID, err)
	}
	return u.database.balance(walletID, currency.Code(), available, held)
}

func (u *Unit) whyNoBalance(ctx context.Context, walletID string, currency money.Currency) error {
	var exists bool
	if err := u.tx.QueryRow(ctx, walletExistsSQL, walletID).Scan(&exists); err != nil {
		return fmt.Errorf("postgres: wallet %s: %w", walletID, err)
	}
	if !exists {
		return fmt.Errorf("%w %s", house.ErrUnknownWallet, walletID)
	}
	return fmt.Errorf("%w: %s, %s", house.ErrNoBalance, walletID, currency)
}

func (d *Database) balance(walletID, currency string, available, held money.Numeric) (wallet.Balance, error) {
	balance := wallet.Balance{Wallet: walletID}
	var err error
	if balance.Available, err = d.amount(available, currency); err != nil {
		return wallet.Balance{}, err
	}
	if balance.Held, err = d.amount(held, currency); err != nil {
		return wallet.Balance{}, err
	}
	return balance, nil
}

const takesOfBetSQL = `SELECT market, selection, stripe, currency, amount FROM takes WHERE wallet = $1 AND bet = $2
	ORDER BY market, selection, stripe`

// Bet returns a bet and what it has of stripes.
func (u *Unit) Bet(ctx context.Context, reference bet.Reference) (bet.Bet, []exposure.Take, error) {
	placed, err := u.database.readBet(ctx, u.tx, reference)
	if err != nil {
		return bet.Bet{}, nil, err
	}
	rows, err := u.tx.Query(ctx, takesOfBetSQL, reference.Wallet, reference.ID)
	if err != nil {
		return bet.Bet{}, nil, fmt.Errorf("postgres: takes of bet %s: %w", reference.ID, err)
	}
	takes, err := pgx.CollectRows(rows, u.database.scanTake)
	if err != nil {
		return bet.Bet{}, nil, fmt.Errorf("postgres: takes of bet %s: %w", reference.ID, err)
	}
	return placed, takes, nil
}
