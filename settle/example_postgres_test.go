package settle_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/settleonce/settleonce/fingerprint"
	"github.com/settleonce/settleonce/pgstore"
	"github.com/settleonce/settleonce/pgstore/pgtemp"
	"github.com/settleonce/settleonce/receipt"
	"github.com/settleonce/settleonce/settle"
)

// MatchResult is the fact. Every field of it changes the effect, so every
// field is in the fingerprint.
type MatchResult struct {
	Room   string
	Winner string
}

// openRunner prepares the database of the side effects. A program does it once.
func openRunner(ctx context.Context, pool *pgxpool.Pool) (*settle.Runner[pgx.Tx], error) {
	if err := pgstore.Migrate(ctx, pool, ""); err != nil {
		return nil, err
	}
	store, err := pgstore.New(pgstore.Config{Pool: pool})
	if err != nil {
		return nil, err
	}
	if err := store.Check(ctx); err != nil { // may this server keep receipts?
		return nil, err
	}
	return settle.New(settle.Config[pgx.Tx]{Store: store})
}

// settleMatch may be called with the same result any number of times, from any
// number of processes. The rating rises once, and every call returns it.
func settleMatch(ctx context.Context, runner *settle.Runner[pgx.Tx], match MatchResult) (settle.Result[int], error) {
	sum, err := fingerprint.Of(fingerprint.Schema{Name: "match.result", Version: 1}, match)
	if err != nil {
		return settle.Result[int]{}, err
	}
	request := settle.Request{
		Key:         receipt.Key{Tenant: "game", Scope: "match", Operation: "settle", ID: match.Room},
		Kind:        settle.Settled,
		Fingerprint: sum,
	}
	return settle.Do(ctx, runner, request, func(ctx context.Context, a *settle.Attempt[pgx.Tx]) (rating int, err error) {
		const win = "UPDATE ratings SET rating = rating + 16 WHERE player = $1 RETURNING rating"
		err = a.Tx().QueryRow(ctx, win, match.Winner).Scan(&rating)
		return rating, err
	})
}

// deliver settles one match twice, and then with another winner.
func deliver(ctx context.Context, dsn string) error {
	pool, err := pgxpool.New(ctx, dsn)
	if err != nil {
		return err
	}
	defer pool.Close()
	if _, err := pool.Exec(ctx, "CREATE TABLE ratings AS SELECT 'alice' AS player, 1000 AS rating"); err != nil {
		return err
	}
	runner, err := openRunner(ctx, pool)
	if err != nil {
		return err
	}
	room := receipt.NewID() // never used for a second match
	for range 2 {
		settled, err := settleMatch(ctx, runner, MatchResult{Room: room, Winner: "alice"})
		if err != nil {
			return err
		}
		fmt.Printf("rating %d, replayed %t\n", settled.Value, settled.Replayed)
	}
	_, err = settleMatch(ctx, runner, MatchResult{Room: room, Winner: "bob"})
	fmt.Println("another winner is a conflict:", errors.Is(err, receipt.ErrFingerprintMismatch))
	return nil
}

// On PostgreSQL the callback gets a pgx.Tx, and its statements commit together
// with the receipt. Here the server is a private one that ends with the
// example; a program passes the DSN of its own.
func ExampleDo_postgres() {
	ctx := context.Background()
	server, err := pgtemp.Start(ctx, pgtemp.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := errors.Join(deliver(ctx, server.DSN()), server.Stop(ctx)); err != nil {
		fmt.Println(err)
	}
	// Output:
	// rating 1016, replayed false
	// rating 1016, replayed true
	// another winner is a conflict: true
}
