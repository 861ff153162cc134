package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/settleonce/settleonce/pgstore"

	"github.com/settleonce/settleonce/examples/sportsbook/exposure"
	"github.com/settleonce/settleonce/examples/sportsbook/market"
)

// Statements of one bet, for the one by hand that the benchmarks compare with.
const (
	BarredSQL            = barredSQL
	InsertBetSQL         = insertBetSQL
	InsertLegsSQL        = insertLegsSQL
	InsertHoldSQL        = insertHoldSQL
	InsertTransactionSQL = insertTransactionSQL
	InsertEntriesSQL     = insertEntriesSQL
	MoveBalanceSQL       = moveBalanceSQL
	TakeStripeSQL        = takeStripeSQL
	InsertTakeSQL        = insertTakeSQL
)

// ReadOffer reads what is offered and the home stripe, in a statement of its own.
func (d *Database) ReadOffer(
	ctx context.Context, tx pgx.Tx, selection exposure.Selection, home exposure.Home,
) (market.Offer, exposure.Stripe, error) {
	unit := d.Unit(tx)
	row := tx.QueryRow(ctx, d.readOffer, selection.Market, selection.Selection, home.Currency.Code(), home.Number())
	_, offer, err := unit.scanOffer(row, selection, home)
	return offer, unit.stripes[selection].stripe, err
}

// Share takes the fence of a market in a statement of its own.
func (d *Database) Share(ctx context.Context, tx pgx.Tx, market string) error {
	var batch pgx.Batch
	if err := d.fence.Share(&batch, pgstore.Subject{Tenant: d.tenant, ID: market}); err != nil {
		return err
	}
	return tx.SendBatch(ctx, &batch).Close()
}
