package memory

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/settleonce/settleonce/acceptance/money"
	"github.com/settleonce/settleonce/receipt"

	"github.com/settleonce/settleonce/examples/sportsbook/bet"
	"github.com/settleonce/settleonce/examples/sportsbook/house"
	"github.com/settleonce/settleonce/examples/sportsbook/market"
	"github.com/settleonce/settleonce/examples/sportsbook/wallet"
)

// Wallet returns a wallet.
func (d *Database) Wallet(_ context.Context, id string) (wallet.Wallet, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, known := d.barred[id]; !known {
		return wallet.Wallet{}, fmt.Errorf("%w %s", house.ErrUnknownWallet, id)
	}
	return d.walletOf(id), nil
}

// Barred says whether a player may not bet.
func (d *Database) Barred(_ context.Context, walletID string) (bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.barred[walletID], nil
}

// Journal returns the transactions of a wallet.
func (d *Database) Journal(_ context.Context, walletID string) ([]wallet.Transaction, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var found []wallet.Transaction
	for _, transaction := range d.tables.Journal {
		if transaction.Wallet == walletID {
			found = append(found, transaction)
		}
	}
	return found, nil
}

// Market returns a market.
func (d *Database) Market(_ context.Context, id string) (market.Market, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	found, known := d.marketOf(id)
	if !known {
		return market.Market{}, fmt.Errorf("%w %s", house.ErrUnknownMarket, id)
	}
	return found, nil
}

// Markets returns all markets by ID.
func (d *Database) Markets(context.Context) ([]market.Market, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var found []market.Market
	for _, id := range slices.Sorted(maps.Keys(d.markets)) {
		each, _ := d.marketOf(id)
		found = append(found, each)
	}
	return found, nil
}

// Results returns the results of markets, of those that have one.
func (d *Database) Results(_ context.Context, markets []string) (map[string]market.Result, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	results := make(map[string]market.Result)
	for _, id := range markets {
		if result := d.markets[id].Result; result != nil {
			results[id] = *result
		}
	}
	return results, nil
}

// Bet returns a bet and its state.
func (d *Database) Bet(_ context.Context, reference bet.Reference) (bet.Bet, bet.State, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	placed, err := d.betOf(reference)
	if err != nil {
		return bet.Bet{}, "", err
	}
	if closing := d.closingOf(reference); closing != nil {
		return placed, closing.State, nil
	}
	return placed, bet.Open, nil
}

// betOf is called with mu held.
func (d *Database) betOf(reference bet.Reference) (bet.Bet, error) {
	for _, placed := range d.tables.Bets {
		if placed.Reference == reference {
			return placed, nil
		}
	}
	return bet.Bet{}, fmt.Errorf("%w %s of %s", house.ErrUnknownBet, reference.ID, reference.Wallet)
}

// BetsOn returns the bets with a leg on the market.
func (d *Database) BetsOn(_ context.Context, marketID string) ([]bet.Reference, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	found := make(map[bet.Reference]struct{})
	for _, placed := range d.tables.Bets {
		if slices.Contains(placed.Markets(), marketID) {
			found[placed.Reference] = struct{}{}
		}
	}
	return slices.SortedFunc(maps.Keys(found), func(a, b bet.Reference) int {
		return cmp.Or(strings.Compare(a.Wallet, b.Wallet), strings.Compare(a.ID, b.ID))
	}), nil
}

// OpenWallets opens wallets with deposits.
func (d *Database) OpenWallets(ctx context.Context, deposits []money.Amount, wallets ...string) error {
	return d.alone(ctx, func() error {
		for _, id := range wallets {
			if _, known := d.barred[id]; known {
				return fmt.Errorf("memory: the wallet %s is open", id)
			}
		}
		for _, id := range wallets {
			if err := d.open(id, deposits); err != nil {
				return err
			}
		}
		return nil
	})
}

func (d *Database) open(id string, deposits []money.Amount) error {
	for _, deposit := range deposits {
		nothing, err := deposit.Times(0)
		if err != nil {
			return fmt.Errorf("memory: deposit: %w", err)
		}
		d.balances[account{id, deposit.Currency().Code()}] = wallet.Balance{Wallet: id, Available: nothing, Held: nothing}
		transaction := wallet.NewDeposit(receipt.NewID(), id, deposit)
		changes, err := transaction.Changes()
		if err != nil {
			return fmt.Errorf("memory: deposit: %w", err)
		}
		d.tables.Journal = append(d.tables.Journal, transaction)
		d.move(id, changes)
	}
	d.barred[id] = false
	return nil
}

// Bar says from now on whether a player may bet.
func (d *Database) Bar(_ context.Context, walletID string, barred bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, known := d.barred[walletID]; !known {
		return fmt.Errorf("%w %s", house.ErrUnknownWallet, walletID)
	}
	d.barred[walletID] = barred
	return nil
}
