package postgres_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/acceptance/money"
	"github.com/settleonce/settleonce/receipt"

	"github.com/settleonce/settleonce/examples/sportsbook/bet"
	"github.com/settleonce/settleonce/examples/sportsbook/exposure"
	"github.com/settleonce/settleonce/examples/sportsbook/house"
	"github.com/settleonce/settleonce/examples/sportsbook/house/housetest"
	"github.com/settleonce/settleonce/examples/sportsbook/house/postgres"
	"github.com/settleonce/settleonce/examples/sportsbook/market"
)

const (
	benchWallets = 10_000
	benchMarkets = 10
	stripes      = market.DefaultStripes
)

// bench is a house with many wallets and few markets, and a connection for each
// caller.
type bench struct {
	b     *testing.B
	books *books
	house *house.House
	stake money.Amount
	odds  money.Odds
}

func newBench(b *testing.B, callers int) *bench {
	b.Helper()
	made := newBooks(b, receipt.ReadCommitted)
	config := made.pool.Config()
	config.MaxConns = int32(callers)
	pool, err := pgxpool.NewWithConfig(b.Context(), config)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(pool.Close)
	wallets := make([]string, benchWallets)
	for i := range wallets {
		wallets[i] = walletNumber(int64(i))
	}
	if err := made.OpenWallets(b.Context(), []money.Amount{housetest.EUR(b, "100000000.00")}, wallets...); err != nil {
		b.Fatal(err)
	}
	for i := range int64(benchMarkets) {
		opening := housetest.Opening(b, marketNumber(i), "100000000000.00", "home", "2.00", "away", "2.00")
		opening.Stripes = stripes
		if err := made.OpenMarket(b.Context(), opening); err != nil {
			b.Fatal(err)
		}
	}
	// Only what is filled: of an empty table it would learn that scanning is best.
	if _, err := pool.Exec(b.Context(), `ANALYZE wallets, balances, markets, selections, stripes`); err != nil {
		b.Fatal(err)
	}
	opened := open(b, pool, made.schema, receipt.ReadCommitted)
	benched, err := house.New(house.Config{
		Tenant: housetest.Tenant, Store: opened.Database.Store(opened.store), Books: opened.Database,
		LockTimeout: time.Minute,
		Limits:      house.Limits{Version: "bench-1", MaxStake: []money.Amount{housetest.EUR(b, "1000.00")}},
	})
	if err != nil {
		b.Fatal(err)
	}
	return &bench{b, opened, benched, housetest.EUR(b, "10.00"), housetest.Odds(b, "2.00")}
}

func walletNumber(number int64) string { return fmt.Sprint("wallet-", number%benchWallets) }
func marketNumber(number int64) string { return fmt.Sprint("market-", number%benchMarkets) }

func (n *bench) command(wallet string, number int64) acceptance.Command {
	return acceptance.Command{
		Tenant: housetest.Tenant, Wallet: wallet, ID: receipt.NewID(),
		Type: acceptance.BetType{Kind: acceptance.Single}, Stake: n.stake,
		Legs: []acceptance.Leg{
			{Event: "final", Market: marketNumber(number), Selection: "home", QuoteVersion: "1", Odds: n.odds},
		},
	}
}

// accept places a bet through the library.
func (n *bench) accept(ctx context.Context, wallet string, number int64) error {
	decision, err := n.house.Accept(ctx, n.command(wallet, number))
	if err == nil && decision.Verdict != acceptance.Accepted {
		err = fmt.Errorf("%s: %s", decision.Code, decision.Detail)
	}
	return err
}

// byHand places a bet with the same statements, one by one in a transaction,
// without key, receipt and event. It makes the comparisons that a bet takes, and
// none of the answers to one that is not taken.
func (n *bench) byHand(ctx context.Context, wallet string, number int64) error {
	return pgx.BeginFunc(ctx, n.books.pool, func(tx pgx.Tx) error {
		var barred bool
		if err := tx.QueryRow(ctx, postgres.BarredSQL, wallet).Scan(&barred); err != nil {
			return err
		}
		balance, err := n.books.Unit(tx).LockBalance(ctx, wallet, n.stake.Currency())
		if err != nil {
			return err
		}
		selection := exposure.Selection{Market: marketNumber(number), Selection: "home"}
		if err := n.books.Share(ctx, tx, selection.Market); err != nil {
			return err
		}
		home := exposure.Home{Wallet: wallet, Currency: n.stake.Currency()}
		offer, stripe, err := n.books.ReadOffer(ctx, tx, selection, home)
		if err != nil {
			return err
		}
		payout, err := bet.Potential(n.stake, []money.Odds{offer.Selection.Odds})
		if err != nil {
			return err
		}
		loss, err := payout.Sub(n.stake)
		if err != nil {
			return err
		}
		funds, err := balance.Available.Cmp(n.stake)
		if err != nil {
			return err
		}
		take, fits, err := stripe.Take(loss)
		if err != nil {
			return err
		}
		if barred || funds < 0 || !fits || offer.Status != acceptance.MarketOpen || !offer.Selection.Odds.Equal(n.odds) {
			return fmt.Errorf("no bet for %s", wallet)
		}
		return n.write(ctx, tx, wallet, payout, take)
	})
}

// write makes the writes of a bet by hand.
func (n *bench) write(ctx context.Context, tx pgx.Tx, wallet string, payout money.Amount, take exposure.Take) error {
	id, attempt, transaction := receipt.NewID(), receipt.NewID(), receipt.NewID()
	stake, negative := n.stake.Numeric(), n.stake.Neg().Numeric()
	for _, statement := range []struct {
		sql       string
		arguments []any
	}{
		{postgres.InsertBetSQL, []any{wallet, id, "single", "EUR", stake, payout.Numeric(), attempt}},
		{postgres.InsertLegsSQL, []any{wallet, id, attempt, []string{take.Market}, []string{"home"}, []string{"2.00"}, []string{"1"}}},
		{postgres.InsertHoldSQL, []any{wallet, id, "EUR", stake, attempt}},
		{postgres.InsertTransactionSQL, []any{transaction, "stake", wallet, id, attempt}},
		{postgres.InsertEntriesSQL, []any{
			transaction,
			[]string{"available", "held"},
			[]string{wallet, wallet},
			[]string{"EUR", "EUR"},
			[]string{negative.String(), stake.String()},
		}},
		{postgres.MoveBalanceSQL, []any{wallet, "EUR", negative, stake}},
		{postgres.InsertTakeSQL, []any{wallet, id, take.Market, "home", take.Number, "EUR", take.Amount.Numeric()}},
		{postgres.TakeStripeSQL, []any{take.Market, "home", "EUR", take.Number, take.Amount.Numeric()}},
	} {
		tag, err := tx.Exec(ctx, statement.sql, statement.arguments...)
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return fmt.Errorf("no row by %s", statement.sql)
		}
	}
	return nil
}

// spread has each call bet from a wallet of its own, until all have had a turn.
func spread(bet func(ctx context.Context, wallet string, number int64) error) func(context.Context, int64) error {
	return func(ctx context.Context, number int64) error { return bet(ctx, walletNumber(number*7919), number) }
}

// hot has all calls bet from one wallet.
func hot(bet func(ctx context.Context, wallet string, number int64) error) func(context.Context, int64) error {
	return func(ctx context.Context, number int64) error { return bet(ctx, walletNumber(0), number) }
}

// BenchmarkAccept compares a bet with the same statements by hand, over many
// wallets.
func BenchmarkAccept(b *testing.B) {
	for _, callers := range []int{8, 32} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			n := newBench(b, callers)
			compete(b, callers,
				&contestant{name: "accept", call: spread(n.accept)},
				&contestant{name: "by-hand", call: spread(n.byHand)})
		})
	}
}

// BenchmarkHotWallet compares the two where all bets are on one wallet.
func BenchmarkHotWallet(b *testing.B) {
	const callers = 32
	n := newBench(b, callers)
	compete(b, callers,
		&contestant{name: "accept", call: hot(n.accept)},
		&contestant{name: "by-hand", call: hot(n.byHand)})
}

// BenchmarkReplay compares the answer to a command that is decided with the
// decision of one that is not.
func BenchmarkReplay(b *testing.B) {
	const callers, decided = 8, 1_000
	n := newBench(b, callers)
	commands := make([]acceptance.Command, decided)
	for i := range commands {
		commands[i] = n.command(walletNumber(int64(i)), int64(i))
		if _, err := n.house.Accept(b.Context(), commands[i]); err != nil {
			b.Fatal(err)
		}
	}
	compete(b, callers,
		&contestant{name: "replay", call: func(ctx context.Context, number int64) error {
			decision, err := n.house.Accept(ctx, commands[number%decided])
			if err == nil && !decision.Replayed {
				err = fmt.Errorf("a decision was made anew: %+v", decision)
			}
			return err
		}},
		&contestant{name: "fresh", call: spread(n.accept)})
}
