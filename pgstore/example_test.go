package pgstore_test

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/settleonce/settleonce/fingerprint"
	"github.com/settleonce/settleonce/pgstore"
	"github.com/settleonce/settleonce/pgstore/pgtemp"
	"github.com/settleonce/settleonce/receipt"
	"github.com/settleonce/settleonce/settle"
)

// A service migrates and checks its database when it starts, and settles
// through one runner from then on.
func Example() {
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

	runner, err := open(ctx, pool)
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := pool.Exec(ctx, "CREATE TABLE wallets (owner text PRIMARY KEY, balance bigint NOT NULL); INSERT INTO wallets VALUES ('alice', 0)"); err != nil {
		fmt.Println(err)
		return
	}
	for range 2 { // the same result, delivered twice
		result, err := payOut(ctx, runner, payout{Match: "0199", Owner: "alice", Amount: 250})
		fmt.Println(result.Value, result.Replayed, err)
	}
	var balance int64
	err = pool.QueryRow(ctx, "SELECT balance FROM wallets WHERE owner = 'alice'").Scan(&balance)
	fmt.Println(balance, err)
	// Output:
	// 250 false <nil>
	// 250 true <nil>
	// 250 <nil>
}

// open prepares the database and returns the runner for it.
func open(ctx context.Context, pool *pgxpool.Pool) (*settle.Runner[pgx.Tx], error) {
	if err := pgstore.Migrate(ctx, pool, ""); err != nil {
		return nil, err
	}
	store, err := pgstore.New(pgstore.Config{Pool: pool})
	if err != nil {
		return nil, err
	}
	if err := store.Check(ctx); err != nil {
		return nil, err
	}
	return settle.New(settle.Config[pgx.Tx]{Store: store})
}

type payout struct {
	Match  string
	Owner  string
	Amount int64
}

// payOut credits a wallet once a match. Nothing that the callback still needs
// depends on the UPDATE, so it is deferred: it travels with the commit, which
// fails unless exactly one wallet was credited.
func payOut(ctx context.Context, runner *settle.Runner[pgx.Tx], p payout) (settle.Result[int64], error) {
	sum, err := fingerprint.Of(fingerprint.Schema{Name: "payout", Version: 1}, p)
	if err != nil {
		return settle.Result[int64]{}, err
	}
	return settle.Do(ctx, runner, settle.Request{
		Key:         receipt.Key{Tenant: "game", Scope: "match", Operation: "pay-out", ID: p.Match},
		Kind:        settle.Settled,
		Fingerprint: sum,
	}, func(_ context.Context, a *settle.Attempt[pgx.Tx]) (int64, error) {
		return p.Amount, pgstore.Defer(a.Tx(), 1,
			"UPDATE wallets SET balance = balance + $1 WHERE owner = $2", p.Amount, p.Owner)
	})
}
