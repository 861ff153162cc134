package acceptance_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/acceptance/money"
	"github.com/settleonce/settleonce/pgstore"
	"github.com/settleonce/settleonce/pgstore/pgtemp"
)

// Every key begins with the tenant, so that no command of one reaches what is
// another's, and a bet's has the wallet, since ids are unique within it.
const bookSchema = `
CREATE TABLE wallets (
	tenant text, id text, available numeric NOT NULL CHECK (available >= 0 AND available = round(available, 2)),
	PRIMARY KEY (tenant, id));
CREATE TABLE quotes (
	tenant text, event text, market text, selection text,
	version text NOT NULL, odds numeric NOT NULL, status text NOT NULL,
	PRIMARY KEY (tenant, event, market, selection));
CREATE TABLE bets (
	tenant text, wallet text, id text, selection text NOT NULL, stake numeric NOT NULL, odds numeric NOT NULL,
	PRIMARY KEY (tenant, wallet, id));
INSERT INTO wallets VALUES ('shop', 'ann', 100), ('shop', 'bob', 100);
INSERT INTO quotes VALUES ('shop', 'final', '1x2', 'home', 'v1', 2.00, 'open')`

// book is the caller's side: a few tables, and how they are locked, read and
// written.
type book struct {
	currencies *money.Registry
	fence      *pgstore.Fence
}

func openBook(pool *pgxpool.Pool) (*acceptance.Runner[pgx.Tx, string], error) {
	store, err := pgstore.New(pgstore.Config{Pool: pool})
	if err != nil {
		return nil, err
	}
	fence, err := pgstore.NewFence(pgstore.FenceConfig{Name: "event"})
	if err != nil {
		return nil, err
	}
	b := book{fence: fence} // a nil registry knows ISO 4217
	return acceptance.New(acceptance.Config[pgx.Tx, string]{
		Store: store, LockWallet: b.lockWallet, Quote: b.quote, Place: b.place,
	})
}

func (b book) lockWallet(ctx context.Context, tx pgx.Tx, c *acceptance.Command) (acceptance.Wallet, error) {
	var number money.Numeric
	err := tx.QueryRow(ctx, "SELECT available FROM wallets WHERE tenant = $1 AND id = $2 FOR UPDATE", c.Tenant, c.Wallet).Scan(&number)
	if errors.Is(err, pgx.ErrNoRows) {
		return acceptance.Wallet{Refusal: acceptance.CodeWalletUnknown}, nil
	}
	if err != nil {
		return acceptance.Wallet{}, err
	}
	available, err := b.currencies.FromNumeric(number, "EUR")
	return acceptance.Wallet{Available: available}, err
}

// quote waits for the fences of the events and reads the quotes, in one round
// trip.
func (b book) quote(ctx context.Context, tx pgx.Tx, c *acceptance.Command) (board acceptance.Board, err error) {
	var batch pgx.Batch
	board.Quotes = make([]acceptance.Quote, len(c.Legs))
	events := make([]pgstore.Subject, len(c.Legs)) // what this house suspends
	for i := range c.Legs {
		events[i] = pgstore.Subject{Tenant: c.Tenant, ID: c.Legs[i].Event}
	}
	if err := b.fence.Share(&batch, events...); err != nil {
		return board, err
	}
	for i := range c.Legs {
		leg := &c.Legs[i]
		batch.Queue("SELECT version, odds, status FROM quotes WHERE tenant = $1 AND event = $2 AND market = $3 AND selection = $4",
			c.Tenant, leg.Event, leg.Market, leg.Selection).
			QueryRow(func(row pgx.Row) error {
				quote := &board.Quotes[i]
				err := row.Scan(&quote.Version, &quote.Odds, &quote.Status)
				if errors.Is(err, pgx.ErrNoRows) {
					quote.Refusal, err = acceptance.CodeSelectionUnknown, nil
				}
				return err
			})
	}
	batch.Queue("SELECT clock_timestamp()").QueryRow(func(row pgx.Row) error { return row.Scan(&board.Now) })
	return board, tx.SendBatch(ctx, &batch).Close()
}

// place sends nothing: its statements travel with the commit.
func (b book) place(_ context.Context, tx pgx.Tx, p *acceptance.Proposal) (string, error) {
	c, leg := p.Command, &p.Legs[0]
	return c.ID, errors.Join(
		pgstore.Defer(tx, 1, "UPDATE wallets SET available = available - $3 WHERE tenant = $1 AND id = $2",
			c.Tenant, c.Wallet, p.Stake.Numeric()),
		pgstore.Defer(tx, 1, "INSERT INTO bets VALUES ($1, $2, $3, $4, $5, $6)",
			c.Tenant, c.Wallet, c.ID, leg.Selection, p.Stake.Numeric(), leg.Quote.Odds),
	)
}

// A book in PostgreSQL: two bets of 70 on a wallet of 100, the first one sent
// twice, and one of another wallet, whose ids are its own.
func Example_postgres() {
	ctx := context.Background()
	server, err := pgtemp.Start(ctx, pgtemp.Config{}) // a service has its own
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = server.Stop(ctx) }()
	pool, err := pgxpool.New(ctx, server.DSN())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer pool.Close()
	if _, err := pool.Exec(ctx, bookSchema); err != nil {
		fmt.Println(err)
		return
	}
	if err := pgstore.Migrate(ctx, pool, ""); err != nil {
		fmt.Println(err)
		return
	}
	runner, err := openBook(pool)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, one := range []struct{ wallet, id string }{{"ann", "b1"}, {"ann", "b1"}, {"ann", "b2"}, {"bob", "b1"}} {
		command := bet(one.id, "70.00", "v1", "2.00")
		command.Wallet = one.wallet
		decision, err := runner.Accept(ctx, command)
		fmt.Println(decision.Verdict, decision.Bet, decision.Code, decision.Replayed, err)
	}
	// Output:
	// accepted b1  false <nil>
	// accepted b1  true <nil>
	// rejected  insufficient_funds false <nil>
	// accepted b1  false <nil>
}
