package projection

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/settleonce/settleonce/acceptance/money"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/pgstore"
	"github.com/settleonce/settleonce/settle"

	"github.com/settleonce/settleonce/examples/sportsbook/bet"
	"github.com/settleonce/settleonce/examples/sportsbook/fact"
)

const (
	refusedSQL = `SELECT EXISTS (SELECT FROM refused WHERE wallet = $1)`
	stakeSQL   = `SELECT stake, currency FROM journal WHERE wallet = $1 AND bet = $2 AND stake IS NOT NULL`

	insertEntrySQL = `
		INSERT INTO journal (wallet, bet, became, event_id, position, currency, stake, payout, attempt)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`
	countSQL = `
		INSERT INTO counts (wallet, became, count) VALUES ($1, $2, 1)
		ON CONFLICT (wallet, became) DO UPDATE SET count = counts.count + 1`
	stakedSQL = `
		INSERT INTO sums (wallet, currency, staked, at_stake, returned) VALUES ($1, $2, $3, $3, 0)
		ON CONFLICT (wallet, currency) DO UPDATE SET staked = sums.staked + excluded.staked, at_stake = sums.at_stake + excluded.at_stake`
	returnedSQL = `UPDATE sums SET at_stake = at_stake - $3, returned = returned + $4 WHERE wallet = $1 AND currency = $2`
	turnoverSQL = `
		INSERT INTO turnovers (market, currency, bets, staked) SELECT market, $2, 1, $3 FROM unnest($1::text[]) AS legs (market)
		ON CONFLICT (market, currency) DO UPDATE SET bets = turnovers.bets + 1, staked = turnovers.staked + excluded.staked`
)

// take is the effect. It may run more than once, and touches nothing but the
// transaction. What it writes travels with the commit.
func take(ctx context.Context, a *settle.Attempt[pgx.Tx], e *event.Event, f *fact.Fact) (Entry, error) {
	var refused bool
	if err := a.Tx().QueryRow(ctx, refusedSQL, f.Wallet).Scan(&refused); err != nil {
		return Entry{}, fmt.Errorf("projection: wallet %s: %w", f.Wallet, err)
	}
	if refused {
		return Entry{}, settle.Refuse(CodeRefusedWallet, "the events of wallet %s are refused here until an operator takes them", f.Wallet)
	}
	entry := Entry{Reference: f.Reference, Became: f.Became, EventID: e.ID, Position: e.Position, Attempt: a.ID()}
	w := writer{tx: a.Tx()}
	switch {
	case f.Placed != nil:
		entry.Stake = &f.Placed.Stake
		w.place(ctx, f.Placed)
	case f.Closing != nil:
		entry.Payout = &f.Closing.Payout
		stake, err := stakeOf(ctx, a.Tx(), f.Reference)
		if err != nil {
			return Entry{}, err
		}
		w.close(ctx, f.Closing, stake)
	}
	w.write(ctx, 1, countSQL, f.Wallet, string(f.Became))
	w.note(ctx, &entry)
	return entry, w.err
}

// stakeOf returns what was staked on a bet that is closed now.
func stakeOf(ctx context.Context, tx pgx.Tx, reference bet.Reference) (money.Amount, error) {
	var number money.Numeric
	var currency string
	err := tx.QueryRow(ctx, stakeSQL, reference.Wallet, reference.ID).Scan(&number, &currency)
	if errors.Is(err, pgx.ErrNoRows) {
		return money.Amount{}, settle.Refuse(CodeUnknownBet, "bet %v is closed, and its acceptance never came", reference)
	}
	if err != nil {
		return money.Amount{}, fmt.Errorf("projection: bet %v: %w", reference, err)
	}
	return amount(number, currency)
}

// amount joins the two columns of an amount, in a currency of ISO 4217.
func amount(number money.Numeric, currency string) (money.Amount, error) {
	joined, err := (*money.Registry)(nil).FromNumeric(number, currency)
	if err != nil {
		return money.Amount{}, fmt.Errorf("projection: %w", err)
	}
	return joined, nil
}

// writer has statements travel with the commit, to the first that can't.
type writer struct {
	tx  pgx.Tx
	err error
}

// write defers a statement, which must change so many rows.
func (w *writer) write(ctx context.Context, rows int64, sql string, arguments ...any) {
	if w.err != nil {
		return
	}
	w.err = ctx.Err() // Defer sends nothing, so it would not notice
	if w.err == nil {
		w.err = pgstore.Defer(w.tx, rows, sql, arguments...) //nolint:contextcheck // it takes none
	}
	if w.err != nil {
		w.err = fmt.Errorf("projection: %w", w.err)
	}
}

// place adds a bet. Events of other wallets change the same markets, so these
// are locked in one order.
func (w *writer) place(ctx context.Context, placed *bet.Bet) {
	currency, stake := placed.Stake.Currency().Code(), placed.Stake.Numeric()
	markets := slices.Compact(slices.Sorted(slices.Values(placed.Markets())))
	w.write(ctx, 1, stakedSQL, placed.Wallet, currency, stake)
	w.write(ctx, int64(len(markets)), turnoverSQL, markets, currency, stake)
}

// close ends a bet.
func (w *writer) close(ctx context.Context, closing *bet.Closing, stake money.Amount) {
	w.write(ctx, 1, returnedSQL, closing.Wallet, stake.Currency().Code(), stake.Numeric(), closing.Payout.Numeric())
}

// note writes the journal.
func (w *writer) note(ctx context.Context, entry *Entry) {
	var currency *string
	var stake, payout *money.Numeric
	for _, part := range []struct {
		amount *money.Amount
		column **money.Numeric
	}{{entry.Stake, &stake}, {entry.Payout, &payout}} {
		if part.amount != nil {
			number, code := part.amount.Numeric(), part.amount.Currency().Code()
			*part.column, currency = &number, &code
		}
	}
	w.write(ctx, 1, insertEntrySQL, entry.Wallet, entry.ID, string(entry.Became), entry.EventID, entry.Position,
		currency, stake, payout, entry.Attempt)
}
