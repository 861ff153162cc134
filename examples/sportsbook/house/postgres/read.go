package postgres

import (
	"context"
	"database/sql"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/settleonce/settleonce/acceptance/money"

	"github.com/settleonce/settleonce/examples/sportsbook/bet"
	"github.com/settleonce/settleonce/examples/sportsbook/exposure"
	"github.com/settleonce/settleonce/examples/sportsbook/market"
	"github.com/settleonce/settleonce/examples/sportsbook/wallet"
)

// The functions below read rows of their tables that a condition names, or all
// where it is empty.

func (d *Database) readWallets(ctx context.Context, from reader, where string, arguments ...any) ([]wallet.Wallet, error) {
	wallets, err := readAll(ctx, from, func(w *wallet.Wallet) []any { return []any{&w.ID, &w.Barred} },
		`SELECT wallet, barred FROM wallets `+where+` ORDER BY wallet`, arguments...)
	if err != nil {
		return nil, err
	}
	place := placesOf(wallets, func(w *wallet.Wallet) string { return w.ID })
	rows, err := from.Query(ctx, `SELECT wallet, currency, available, held FROM balances `+where+` ORDER BY wallet, currency`, arguments...)
	if err != nil {
		return nil, err
	}
	var id, currency string
	var available, held money.Numeric
	_, err = pgx.ForEachRow(rows, []any{&id, &currency, &available, &held}, func() error {
		balance, err := d.balance(id, currency, available, held)
		owner := &wallets[place[id]]
		owner.Balances = append(owner.Balances, balance)
		return err
	})
	return wallets, err
}

// readJournal leaves out no entry: those whose transaction has no row make one
// that has an ID and nothing else, after all others.
func (d *Database) readJournal(ctx context.Context, from reader, where string, arguments ...any) ([]wallet.Transaction, error) {
	transactions, err := readAll(ctx, from,
		func(t *wallet.Transaction) []any {
			return []any{&t.ID, (*string)(&t.Movement), &t.Wallet, &t.Bet, &t.Attempt}
		},
		`SELECT transaction_id, movement, wallet, bet, attempt FROM journal_transactions AS t `+where+` ORDER BY position`, arguments...)
	if err != nil {
		return nil, err
	}
	place := placesOf(transactions, func(t *wallet.Transaction) string { return t.ID })
	rows, err := from.Query(ctx, `
		SELECT e.transaction_id, e.account, e.wallet, e.currency, e.amount
		FROM journal_entries AS e LEFT JOIN journal_transactions AS t USING (transaction_id) `+where+`
		ORDER BY t.position NULLS LAST, e.entry`, arguments...)
	if err != nil {
		return nil, err
	}
	var id, account, owner, currency string
	var number money.Numeric
	_, err = pgx.ForEachRow(rows, []any{&id, &account, &owner, &currency, &number}, func() error {
		amount, err := d.amount(number, currency)
		if _, begun := place[id]; !begun {
			place[id] = len(transactions)
			transactions = append(transactions, wallet.Transaction{ID: id})
		}
		into := &transactions[place[id]]
		into.Entries = append(into.Entries, wallet.Entry{
			Account: wallet.Account{Kind: wallet.AccountKind(account), Wallet: owner}, Amount: amount,
		})
		return err
	})
	return transactions, err
}

func readMarkets(ctx context.Context, from reader, where string, arguments ...any) ([]market.Market, error) {
	rows, err := from.Query(ctx, `
		SELECT market, event, line, status, material, cut_off, result_version, winner FROM markets `+where+` ORDER BY market`, arguments...)
	if err != nil {
		return nil, err
	}
	markets, err := pgx.CollectRows(rows, scanMarket)
	if err != nil {
		return nil, err
	}
	place := placesOf(markets, func(m *market.Market) string { return m.ID })
	rows, err = from.Query(ctx, `SELECT market, selection, odds, tick FROM selections `+where+` ORDER BY market, selection`, arguments...)
	if err != nil {
		return nil, err
	}
	var id string
	var selection market.Selection
	_, err = pgx.ForEachRow(rows, []any{&id, &selection.ID, &selection.Odds, &selection.Tick}, func() error {
		into := &markets[place[id]]
		into.Selections = append(into.Selections, selection)
		return nil
	})
	return markets, err
}

func scanMarket(row pgx.CollectableRow) (market.Market, error) {
	var read market.Market
	var cutOff sql.Null[time.Time]
	var version, winner sql.Null[string]
	err := row.Scan(&read.ID, &read.Event, &read.Line, (*string)(&read.Status), &read.Material, &cutOff, &version, &winner)
	if cutOff.Valid {
		read.CutOff = cutOff.V.UTC()
	}
	if version.Valid {
		read.Result = &market.Result{Version: version.V, Winner: winner.V, Void: !winner.Valid}
	}
	return read, err
}

// readBets also returns, for each leg that has no bet, whose leg it is.
func (d *Database) readBets(
	ctx context.Context, from reader, where string, arguments ...any,
) (bets []bet.Bet, strays []bet.Reference, err error) {
	rows, err := from.Query(ctx, `
		SELECT wallet, bet, kind, currency, stake, payout, attempt FROM bets `+where+` ORDER BY wallet, bet, attempt`, arguments...)
	if err != nil {
		return nil, nil, err
	}
	bets, err = pgx.CollectRows(rows, d.scanBet)
	if err != nil {
		return nil, nil, err
	}
	type run struct {
		bet.Reference
		attempt string
	}
	place := placesOf(bets, func(b *bet.Bet) run { return run{b.Reference, b.Attempt} })
	rows, err = from.Query(ctx, `
		SELECT wallet, bet, attempt, market, selection, odds, tick FROM bet_legs `+where+` ORDER BY wallet, bet, attempt, leg`, arguments...)
	if err != nil {
		return nil, nil, err
	}
	var owner run
	var leg bet.Leg
	_, err = pgx.ForEachRow(rows, []any{&owner.Wallet, &owner.ID, &owner.attempt, &leg.Market, &leg.Selection, &leg.Odds, &leg.Tick}, func() error {
		at, found := place[owner]
		if !found {
			strays = append(strays, owner.Reference)
			return nil
		}
		into := &bets[at]
		into.Legs = append(into.Legs, leg)
		return nil
	})
	return bets, strays, err
}

func (d *Database) scanBet(row pgx.CollectableRow) (bet.Bet, error) {
	var read bet.Bet
	var currency string
	var stake, payout money.Numeric
	if err := row.Scan(&read.Wallet, &read.ID, (*string)(&read.Kind), &currency, &stake, &payout, &read.Attempt); err != nil {
		return bet.Bet{}, err
	}
	var err error
	if read.Stake, err = d.amount(stake, currency); err != nil {
		return bet.Bet{}, err
	}
	read.Payout, err = d.amount(payout, currency)
	return read, err
}

func (d *Database) scanTake(row pgx.CollectableRow) (exposure.Take, error) {
	var take exposure.Take
	var currency string
	var number money.Numeric
	if err := row.Scan(&take.Market, &take.Selection.Selection, &take.Number, &currency, &number); err != nil {
		return exposure.Take{}, err
	}
	var err error
	take.Amount, err = d.amount(number, currency)
	return take, err
}

// placesOf returns where each row is, by what names it.
func placesOf[T any, K comparable](rows []T, name func(*T) K) map[K]int {
	places := make(map[K]int, len(rows))
	for i := range rows {
		places[name(&rows[i])] = i
	}
	return places
}

// readAll scans each row into the fields of a T.
func readAll[T any](ctx context.Context, from reader, fields func(*T) []any, statement string, arguments ...any) ([]T, error) {
	rows, err := from.Query(ctx, statement, arguments...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (T, error) {
		var read T
		err := row.Scan(fields(&read)...)
		return read, err
	})
}
