package postgres

import (
	"context"
	"fmt"

	"github.com/settleonce/settleonce/pgstore"

	"github.com/settleonce/settleonce/examples/sportsbook/bet"
	"github.com/settleonce/settleonce/examples/sportsbook/exposure"
	"github.com/settleonce/settleonce/examples/sportsbook/wallet"
)

const (
	insertBetSQL  = `INSERT INTO bets (wallet, bet, kind, currency, stake, payout, attempt) VALUES ($1, $2, $3, $4, $5, $6, $7)`
	insertLegsSQL = `
		INSERT INTO bet_legs (wallet, bet, attempt, leg, market, selection, odds, tick)
		SELECT $1, $2, $3, leg, market, selection, odds::numeric, tick
		FROM unnest($4::text[], $5::text[], $6::text[], $7::text[]) WITH ORDINALITY AS legs (market, selection, odds, tick, leg)`
	insertHoldSQL = `INSERT INTO holds (wallet, bet, currency, amount, attempt) VALUES ($1, $2, $3, $4, $5)`
	takeStripeSQL = `
		UPDATE stripes SET taken = taken + $5
		WHERE market = $1 AND selection = $2 AND currency = $3 AND stripe = $4 AND taken + $5 <= "limit"`
	insertTakeSQL = `
		INSERT INTO takes (wallet, bet, market, selection, stripe, currency, amount) VALUES ($1, $2, $3, $4, $5, $6, $7)`

	insertTransactionSQL = `
		INSERT INTO journal_transactions (transaction_id, movement, wallet, bet, attempt) VALUES ($1, $2, $3, $4, $5)`
	insertEntriesSQL = `
		INSERT INTO journal_entries (transaction_id, entry, account, wallet, currency, amount)
		SELECT $1, entry, account, wallet, currency, amount::numeric
		FROM unnest($2::text[], $3::text[], $4::text[], $5::text[]) WITH ORDINALITY AS entries (account, wallet, currency, amount, entry)`
	moveBalanceSQL = `
		UPDATE balances SET available = available + $3, held = held + $4 WHERE wallet = $1 AND currency = $2`

	insertHoldEndSQL = `INSERT INTO hold_ends (wallet, bet, consumed, currency, amount, attempt) VALUES ($1, $2, $3, $4, $5, $6)`
	insertClosingSQL = `
		INSERT INTO closings (wallet, bet, state, result_version, currency, payout, rounding, attempt)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`
	giveBackSQL = `
		UPDATE stripes SET taken = taken - $5 WHERE market = $1 AND selection = $2 AND currency = $3 AND stripe = $4`

	insertReferralSQL = `INSERT INTO referrals (wallet, bet, currency, stake, expires_at) VALUES ($1, $2, $3, $4, $5)`
)

// InsertBet writes a bet with its legs.
func (u *Unit) InsertBet(ctx context.Context, placed bet.Bet) error {
	err := u.write(ctx, 1, insertBetSQL, placed.Wallet, placed.ID, string(placed.Kind),
		placed.Stake.Currency().Code(), placed.Stake.Numeric(), placed.Payout.Numeric(), placed.Attempt)
	if err != nil {
		return err
	}
	count := len(placed.Legs)
	markets, selections, odds, ticks := make([]string, count), make([]string, count), make([]string, count), make([]string, count)
	for i, leg := range placed.Legs {
		markets[i], selections[i], odds[i], ticks[i] = leg.Market, leg.Selection, leg.Odds.String(), leg.Tick
	}
	return u.write(ctx, int64(count), insertLegsSQL, placed.Wallet, placed.ID, placed.Attempt, markets, selections, odds, ticks)
}

// InsertHold writes the hold of a bet.
func (u *Unit) InsertHold(ctx context.Context, hold bet.Hold) error {
	return u.write(ctx, 1, insertHoldSQL, hold.Wallet, hold.ID, hold.Amount.Currency().Code(), hold.Amount.Numeric(), hold.Attempt)
}

// Take adds takes to their stripes, each as long as its room lasts. The stripes
// come last: until the commit, other bets wait for them.
func (u *Unit) Take(ctx context.Context, reference bet.Reference, takes []exposure.Take) error {
	for _, take := range takes {
		err := u.write(ctx, 1, insertTakeSQL, reference.Wallet, reference.ID,
			take.Market, take.Selection.Selection, take.Number, take.Amount.Currency().Code(), take.Amount.Numeric())
		if err != nil {
			return err
		}
	}
	return u.changeStripes(ctx, takeStripeSQL, takes)
}

// GiveBack subtracts takes from their stripes.
func (u *Unit) GiveBack(ctx context.Context, takes []exposure.Take) error {
	return u.changeStripes(ctx, giveBackSQL, takes)
}

func (u *Unit) changeStripes(ctx context.Context, statement string, takes []exposure.Take) error {
	for _, take := range takes {
		err := u.write(ctx, 1, statement,
			take.Market, take.Selection.Selection, take.Amount.Currency().Code(), take.Number, take.Amount.Numeric())
		if err != nil {
			return err
		}
	}
	return nil
}

// Post writes a transaction of the journal and moves the balances.
func (u *Unit) Post(ctx context.Context, transaction wallet.Transaction) error {
	return post(ctx, transaction, u.write)
}

// post writes a transaction with write, which a caller outside of a unit has
// too. The balances come first: they are what two transactions on a wallet wait
// for, so that its part of the journal is in the order of the commits.
func post(
	ctx context.Context, transaction wallet.Transaction, write func(ctx context.Context, rows int64, sql string, arguments ...any) error,
) error {
	changes, err := transaction.Changes()
	if err != nil {
		return fmt.Errorf("postgres: %w", err)
	}
	for _, change := range changes {
		err := write(ctx, 1, moveBalanceSQL,
			transaction.Wallet, change.Available.Currency().Code(), change.Available.Numeric(), change.Held.Numeric())
		if err != nil {
			return err
		}
	}
	err = write(ctx, 1, insertTransactionSQL,
		transaction.ID, string(transaction.Movement), transaction.Wallet, transaction.Bet, transaction.Attempt)
	if err != nil {
		return err
	}
	count := len(transaction.Entries)
	accounts, wallets, currencies, amounts := make([]string, count), make([]string, count), make([]string, count), make([]string, count)
	for i, entry := range transaction.Entries {
		accounts[i], wallets[i] = string(entry.Account.Kind), entry.Account.Wallet
		currencies[i], amounts[i] = entry.Amount.Currency().Code(), entry.Amount.Numeric().String()
	}
	return write(ctx, int64(count), insertEntriesSQL, transaction.ID, accounts, wallets, currencies, amounts)
}

// EndHold writes how a hold ended.
func (u *Unit) EndHold(ctx context.Context, end bet.HoldEnd) error {
	return u.write(ctx, 1, insertHoldEndSQL,
		end.Wallet, end.ID, end.Consumed, end.Amount.Currency().Code(), end.Amount.Numeric(), end.Attempt)
}

// InsertClosing writes how a bet ended.
func (u *Unit) InsertClosing(ctx context.Context, closing bet.Closing) error {
	return u.write(ctx, 1, insertClosingSQL, closing.Wallet, closing.ID, string(closing.State), closing.ResultVersion,
		closing.Payout.Currency().Code(), closing.Payout.Numeric(), closing.Rounding.String(), closing.Attempt)
}

// InsertReferral writes a command that waits for a trader.
func (u *Unit) InsertReferral(ctx context.Context, referral bet.Referral) error {
	return u.write(ctx, 1, insertReferralSQL,
		referral.Wallet, referral.ID, referral.Stake.Currency().Code(), referral.Stake.Numeric(), referral.ExpiresAt)
}

// write has a statement travel with the commit, since nobody waits for what it
// says. It must change so many rows, or nothing is committed.
func (u *Unit) write(ctx context.Context, rows int64, sql string, arguments ...any) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("postgres: %w", err) // Defer sends nothing, so it would not notice
	}
	if err := pgstore.Defer(u.tx, rows, sql, arguments...); err != nil { //nolint:contextcheck // Defer takes none
		return fmt.Errorf("postgres: %w", err)
	}
	return nil
}
