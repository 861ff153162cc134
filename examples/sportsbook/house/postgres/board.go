package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/acceptance/money"
	"github.com/settleonce/settleonce/pgstore"
	"github.com/settleonce/settleonce/receipt"

	"github.com/settleonce/settleonce/examples/sportsbook/exposure"
	"github.com/settleonce/settleonce/examples/sportsbook/house"
	"github.com/settleonce/settleonce/examples/sportsbook/market"
)

// readOfferSQL returns the statement that reads market, selection and home
// stripe of one leg, and the clock. It has one row whatever there is, and each
// leg has a statement of its own in one batch: with all legs in an array the
// server would plan it anew each time, which takes longer than to run it.
//
// It runs behind the fence, which suffices at READ COMMITTED: the snapshot of
// the statement is younger than the wait. At SERIALIZABLE the snapshot is older,
// and only a row lock notices that the market was changed meanwhile. It is on
// the market's row alone, which changes with each of its selections.
func readOfferSQL(isolation receipt.Isolation) string {
	const statement = `
		SELECT clock_timestamp(), m.event, m.line, m.status, m.material, m.cut_off, s.odds, s.tick, x.stripe, x."limit", x.taken
		FROM (VALUES (1)) AS always (row)
		LEFT JOIN LATERAL (
			SELECT event, line, status, material, cut_off, stripes FROM markets WHERE market = $1 LOCKING
		) AS m ON true
		LEFT JOIN selections AS s ON s.market = $1 AND s.selection = $2
		LEFT JOIN stripes AS x ON x.market = $1 AND x.selection = $2
			AND x.currency = $3 AND x.stripe = ($4::bigint % m.stripes)::integer`
	locking := ""
	if isolation == receipt.Serializable {
		locking = "FOR SHARE"
	}
	return strings.Replace(statement, "LOCKING", locking, 1)
}

// readStripe is what was found of a home stripe.
type readStripe struct {
	stripe exposure.Stripe
	found  bool
}

// Board fences the markets and reads what is offered, and the home stripes
// along with it.
func (u *Unit) Board(ctx context.Context, selections []exposure.Selection, home exposure.Home) (market.Board, error) {
	subjects := make([]pgstore.Subject, len(selections))
	for i, selection := range selections {
		subjects[i] = u.database.fenced(selection.Market)
	}
	var batch pgx.Batch
	if err := u.database.fence.Share(&batch, subjects...); err != nil {
		return market.Board{}, fmt.Errorf("postgres: board: %w", err)
	}
	board := market.Board{Offers: make([]market.Offer, len(selections))}
	for i, selection := range selections {
		batch.Queue(u.database.readOffer, selection.Market, selection.Selection, home.Currency.Code(), home.Number()).
			QueryRow(func(row pgx.Row) (err error) {
				board.Now, board.Offers[i], err = u.scanOffer(row, selection, home)
				return err
			})
	}
	if err := u.tx.SendBatch(ctx, &batch).Close(); err != nil {
		return market.Board{}, fmt.Errorf("postgres: board: %w", err)
	}
	return board, nil
}

// scanOffer reads a row of [readOfferSQL], and remembers its stripe.
func (u *Unit) scanOffer(row pgx.Row, selection exposure.Selection, home exposure.Home) (time.Time, market.Offer, error) {
	var read offerRow
	if err := row.Scan(read.fields()...); err != nil {
		return time.Time{}, market.Offer{}, err
	}
	stripe, err := read.stripe(u.database, selection, home)
	u.stripes[selection] = stripe
	return read.now, read.offer(selection.Selection), err
}

// offerRow is what was read for a leg. Each part but the clock may be missing.
type offerRow struct {
	now                 time.Time
	event, line, status *string
	material            *int64
	cutOff              *time.Time
	odds                *money.Odds
	tick                *int64
	number              *int
	limit, taken        *money.Numeric
}

func (r *offerRow) fields() []any {
	return []any{
		&r.now, &r.event, &r.line, &r.status, &r.material, &r.cutOff, &r.odds, &r.tick, &r.number, &r.limit, &r.taken,
	}
}

func (r *offerRow) offer(selection string) market.Offer {
	if r.event == nil || r.odds == nil {
		return market.Offer{Unknown: true}
	}
	offer := market.Offer{
		Event: *r.event, Line: *r.line, Status: acceptance.MarketStatus(*r.status), Material: *r.material,
		Selection: market.Selection{ID: selection, Odds: *r.odds, Tick: *r.tick},
	}
	if r.cutOff != nil {
		offer.CutOff = *r.cutOff
	}
	return offer
}

func (r *offerRow) stripe(d *Database, selection exposure.Selection, home exposure.Home) (readStripe, error) {
	if r.number == nil {
		return readStripe{}, nil
	}
	stripe, err := d.stripe(selection, *r.number, home.Currency.Code(), *r.limit, *r.taken)
	return readStripe{stripe, true}, err
}

func (d *Database) stripe(selection exposure.Selection, number int, currency string, limit, taken money.Numeric) (exposure.Stripe, error) {
	stripe := exposure.Stripe{Selection: selection, Number: number}
	var err error
	if stripe.Limit, err = d.amount(limit, currency); err != nil {
		return exposure.Stripe{}, err
	}
	if stripe.Taken, err = d.amount(taken, currency); err != nil {
		return exposure.Stripe{}, err
	}
	return stripe, nil
}

// errNotRead: the house asked for a stripe of a selection that was not on the
// board.
var errNotRead = errors.New("postgres: the selection was not on the board")

// Stripe returns the home stripe of a selection, which Board has read.
func (u *Unit) Stripe(_ context.Context, selection exposure.Selection, home exposure.Home) (exposure.Stripe, error) {
	read, known := u.stripes[selection]
	if !known {
		return exposure.Stripe{}, fmt.Errorf("%w: %s in %s", errNotRead, selection.Selection, selection.Market)
	}
	if !read.found {
		return exposure.Stripe{}, fmt.Errorf("%w: %s in %s, %s", house.ErrNoLimit, selection.Selection, selection.Market, home.Currency)
	}
	return read.stripe, nil
}

const readStripesSQL = `SELECT stripe, "limit", taken FROM stripes
	WHERE market = $1 AND selection = $2 AND currency = $3 ORDER BY stripe`

// Stripes returns all stripes of a selection.
func (u *Unit) Stripes(ctx context.Context, selection exposure.Selection, currency money.Currency) ([]exposure.Stripe, error) {
	if read, known := u.all[selection]; known {
		return read, nil
	}
	rows, err := u.tx.Query(ctx, readStripesSQL, selection.Market, selection.Selection, currency.Code())
	if err != nil {
		return nil, fmt.Errorf("postgres: stripes: %w", err)
	}
	stripes, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (exposure.Stripe, error) {
		var number int
		var limit, taken money.Numeric
		if err := row.Scan(&number, &limit, &taken); err != nil {
			return exposure.Stripe{}, err
		}
		return u.database.stripe(selection, number, currency.Code(), limit, taken)
	})
	if err != nil {
		return nil, fmt.Errorf("postgres: stripes: %w", err)
	}
	u.all[selection] = stripes
	return stripes, nil
}
