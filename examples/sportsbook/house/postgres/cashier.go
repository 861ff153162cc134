package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/settleonce/settleonce/acceptance/money"
	"github.com/settleonce/settleonce/receipt"

	"github.com/settleonce/settleonce/examples/sportsbook/house"
	"github.com/settleonce/settleonce/examples/sportsbook/wallet"
)

// OpenWallets opens wallets with deposits.
func (d *Database) OpenWallets(ctx context.Context, deposits []money.Amount, wallets ...string) error {
	var batch pgx.Batch
	queue := func(_ context.Context, _ int64, sql string, arguments ...any) error {
		batch.Queue(sql, arguments...)
		return nil
	}
	for _, id := range wallets {
		batch.Queue(`INSERT INTO wallets (wallet) VALUES ($1)`, id)
		for _, deposit := range deposits {
			batch.Queue(`INSERT INTO balances (wallet, currency, available, held) VALUES ($1, $2, 0, 0)`, id, deposit.Currency().Code())
			if err := post(ctx, wallet.NewDeposit(receipt.NewID(), id, deposit), queue); err != nil {
				return err
			}
		}
	}
	err := pgx.BeginFunc(ctx, d.pool, func(tx pgx.Tx) error { return tx.SendBatch(ctx, &batch).Close() })
	if err != nil {
		return fmt.Errorf("postgres: open wallets: %w", err)
	}
	return nil
}

// Bar says from now on whether a player may bet.
func (d *Database) Bar(ctx context.Context, walletID string, barred bool) error {
	tag, err := d.pool.Exec(ctx, `UPDATE wallets SET barred = $2 WHERE wallet = $1`, walletID, barred)
	if err != nil {
		return fmt.Errorf("postgres: wallet %s: %w", walletID, err)
	}
	if tag.RowsAffected() == 0 {
		return fmt.Errorf("%w %s", house.ErrUnknownWallet, walletID)
	}
	return nil
}
