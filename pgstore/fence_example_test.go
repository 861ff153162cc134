package pgstore_test

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/settleonce/settleonce/pgstore"
	"github.com/settleonce/settleonce/pgstore/pgtemp"
)

// A bet shares the fence of its market, and a trader's suspension excludes all
// bets. A bet that comes while the suspension is under way waits for it and is
// then rejected.
func ExampleFence() {
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
	if _, err := pool.Exec(ctx, `CREATE TABLE markets (id text PRIMARY KEY, status text NOT NULL);
		CREATE TABLE bets (market text NOT NULL); INSERT INTO markets VALUES ('m1', 'open')`); err != nil {
		fmt.Println(err)
		return
	}

	fence, err := pgstore.NewFence(pgstore.FenceConfig{Name: "market"})
	if err != nil {
		fmt.Println(err)
		return
	}
	desk := bettingDesk{pool, fence}
	fmt.Println(desk.bet(ctx, "m1"))
	fmt.Println(desk.suspend(ctx, "m1"))
	fmt.Println(desk.bet(ctx, "m1"))
	// Output:
	// accepted <nil>
	// <nil>
	// rejected: the market is suspended <nil>
}

type bettingDesk struct {
	pool  *pgxpool.Pool
	fence *pgstore.Fence
}

// bet begins a transaction of its own here. In a runner's callback the
// transaction is the attempt's, and decide is the same.
func (d bettingDesk) bet(ctx context.Context, id string) (verdict string, err error) {
	err = pgx.BeginFunc(ctx, d.pool, func(tx pgx.Tx) error {
		verdict, err = d.decide(ctx, tx, id)
		return err
	})
	return verdict, err
}

// decide waits for the fence and reads the market in one round trip. At
// SERIALIZABLE the read would end in FOR SHARE.
func (d bettingDesk) decide(ctx context.Context, tx pgx.Tx, id string) (string, error) {
	var batch pgx.Batch
	if err := d.fence.Share(&batch, pgstore.Subject{Tenant: "bookmaker", ID: id}); err != nil {
		return "", err
	}
	var status string
	batch.Queue("SELECT status FROM markets WHERE id = $1", id).
		QueryRow(func(row pgx.Row) error { return row.Scan(&status) })
	if err := tx.SendBatch(ctx, &batch).Close(); err != nil {
		return "", err
	}
	if status != "open" {
		return "rejected: the market is " + status, nil
	}
	_, err := tx.Exec(ctx, "INSERT INTO bets VALUES ($1)", id)
	return "accepted", err
}

// suspend returns once every bet that was accepted before it is committed, and
// none can be accepted after it.
func (d bettingDesk) suspend(ctx context.Context, id string) error {
	return pgx.BeginFunc(ctx, d.pool, func(tx pgx.Tx) error {
		if err := d.fence.Exclude(ctx, tx, pgstore.Subject{Tenant: "bookmaker", ID: id}); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, "UPDATE markets SET status = 'suspended' WHERE id = $1", id)
		return err
	})
}
