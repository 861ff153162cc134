package projection

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/settleonce/settleonce/acceptance/money"
	"github.com/settleonce/settleonce/receipt"

	"github.com/settleonce/settleonce/examples/sportsbook/bet"
)

// ErrUnknownWallet is true where no event of a wallet has been taken.
var ErrUnknownWallet = errors.New("projection: unknown wallet")

// Wallet returns what the events of a wallet come to, or [ErrUnknownWallet].
func (p *Projection) Wallet(ctx context.Context, id string) (Wallet, error) {
	var found []Wallet
	err := p.snapshot(ctx, func(tx pgx.Tx) (err error) {
		found, err = readWallets(ctx, tx, `WHERE wallet = $1`, id)
		return err
	})
	if err != nil {
		return Wallet{}, fmt.Errorf("projection: wallet %s: %w", id, err)
	}
	if len(found) == 0 {
		return Wallet{}, fmt.Errorf("%w %s", ErrUnknownWallet, id)
	}
	return found[0], nil
}

// Tables reads everything in one snapshot, for an audit.
func (p *Projection) Tables(ctx context.Context) (Tables, error) {
	var tables Tables
	err := p.snapshot(ctx, func(tx pgx.Tx) (err error) {
		if tables.Journal, err = readJournal(ctx, tx, ``); err != nil {
			return err
		}
		if tables.Wallets, err = readWallets(ctx, tx, ``); err != nil {
			return err
		}
		if tables.Turnovers, err = readTurnovers(ctx, tx); err != nil {
			return err
		}
		tables.Refused, err = readRefused(ctx, tx)
		return err
	})
	if err != nil {
		return Tables{}, fmt.Errorf("projection: tables: %w", err)
	}
	return tables, nil
}

// Entries returns what has become of one bet here, in the order in which it was
// taken.
func (p *Projection) Entries(ctx context.Context, reference bet.Reference) (found []Entry, err error) {
	err = p.snapshot(ctx, func(tx pgx.Tx) (err error) {
		found, err = readJournal(ctx, tx, `WHERE wallet = $1 AND bet = $2`, reference.Wallet, reference.ID)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("projection: bet %v: %w", reference, err)
	}
	return found, nil
}

// snapshot reads in one snapshot.
func (p *Projection) snapshot(ctx context.Context, read func(pgx.Tx) error) error {
	return pgx.BeginTxFunc(ctx, p.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, read)
}

func readJournal(ctx context.Context, tx pgx.Tx, where string, arguments ...any) ([]Entry, error) {
	rows, err := tx.Query(ctx, `
		SELECT wallet, bet, became, event_id, position, attempt, currency, stake, payout FROM journal `+where+` ORDER BY arrival`, arguments...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (read Entry, err error) {
		var currency *string
		var stake, payout *money.Numeric
		err = row.Scan(&read.Wallet, &read.ID, (*string)(&read.Became), &read.EventID, &read.Position, &read.Attempt, &currency, &stake, &payout)
		if err != nil || currency == nil {
			return read, err
		}
		if read.Stake, err = optional(stake, *currency); err != nil {
			return read, err
		}
		read.Payout, err = optional(payout, *currency)
		return read, err
	})
}

// optional is amount for a number that may be NULL.
func optional(number *money.Numeric, currency string) (*money.Amount, error) {
	if number == nil {
		return nil, nil
	}
	joined, err := amount(*number, currency)
	return &joined, err
}

// readWallets returns the wallets that any table has, by name.
func readWallets(ctx context.Context, tx pgx.Tx, where string, arguments ...any) ([]Wallet, error) {
	rows, err := tx.Query(ctx, `
		SELECT DISTINCT wallet FROM (SELECT wallet FROM counts UNION ALL SELECT wallet FROM sums UNION ALL SELECT wallet FROM latest) AS known `+
		where+` ORDER BY wallet`, arguments...)
	if err != nil {
		return nil, err
	}
	wallets, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Wallet, error) {
		read := Wallet{Counts: make(map[receipt.Kind]int), Sums: []Sum{}}
		return read, row.Scan(&read.ID)
	})
	if err != nil {
		return nil, err
	}
	byID := make(map[string]*Wallet, len(wallets))
	for i := range wallets {
		byID[wallets[i].ID] = &wallets[i]
	}
	for _, read := range []func(context.Context, pgx.Tx, map[string]*Wallet, string, ...any) error{readCounts, readSums, readLatest} {
		if err := read(ctx, tx, byID, where, arguments...); err != nil {
			return nil, err
		}
	}
	return wallets, nil
}

func readCounts(ctx context.Context, tx pgx.Tx, into map[string]*Wallet, where string, arguments ...any) error {
	rows, err := tx.Query(ctx, `SELECT wallet, became, count FROM counts `+where, arguments...)
	if err != nil {
		return err
	}
	var id, became string
	var count int
	_, err = pgx.ForEachRow(rows, []any{&id, &became, &count}, func() error {
		into[id].Counts[receipt.Kind(became)] = count
		return nil
	})
	return err
}

func readSums(ctx context.Context, tx pgx.Tx, into map[string]*Wallet, where string, arguments ...any) error {
	rows, err := tx.Query(ctx, `SELECT wallet, currency, staked, at_stake, returned FROM sums `+where+` ORDER BY wallet, currency`, arguments...)
	if err != nil {
		return err
	}
	var id, currency string
	var staked, atStake, returned money.Numeric
	_, err = pgx.ForEachRow(rows, []any{&id, &currency, &staked, &atStake, &returned}, func() error {
		var sum Sum
		for _, part := range []struct {
			into *money.Amount
			from money.Numeric
		}{{&sum.Staked, staked}, {&sum.AtStake, atStake}, {&sum.Returned, returned}} {
			var err error
			if *part.into, err = amount(part.from, currency); err != nil {
				return err
			}
		}
		into[id].Sums = append(into[id].Sums, sum)
		return nil
	})
	return err
}

func readLatest(ctx context.Context, tx pgx.Tx, into map[string]*Wallet, where string, arguments ...any) error {
	rows, err := tx.Query(ctx, `SELECT wallet, position, bet, became FROM latest `+where, arguments...)
	if err != nil {
		return err
	}
	var id string
	var newest Latest
	_, err = pgx.ForEachRow(rows, []any{&id, &newest.Position, &newest.Bet, (*string)(&newest.Became)}, func() error {
		read := newest
		into[id].Latest = &read
		return nil
	})
	return err
}

func readTurnovers(ctx context.Context, tx pgx.Tx) ([]Turnover, error) {
	rows, err := tx.Query(ctx, `SELECT market, bets, staked, currency FROM turnovers ORDER BY market, currency`)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (read Turnover, err error) {
		var staked money.Numeric
		var currency string
		if err := row.Scan(&read.Market, &read.Bets, &staked, &currency); err != nil {
			return read, err
		}
		read.Staked, err = amount(staked, currency)
		return read, err
	})
}

func readRefused(ctx context.Context, tx pgx.Tx) ([]string, error) {
	rows, err := tx.Query(ctx, `SELECT wallet FROM refused ORDER BY wallet`)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}
