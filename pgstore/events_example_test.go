package pgstore_test

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/settleonce/settleonce/fingerprint"
	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/outbox/outboxtest"
	"github.com/settleonce/settleonce/pgstore"
	"github.com/settleonce/settleonce/pgstore/pgtemp"
	"github.com/settleonce/settleonce/receipt"
	"github.com/settleonce/settleonce/settle"
)

// A relay process delivers what the services of a database have committed. An
// operator looks at what no destination takes.
func Example_relay() {
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
	events, err := openEvents(ctx, pool)
	if err != nil {
		fmt.Println(err)
		return
	}

	running, stop := context.WithCancel(ctx)
	refused := func(e event.Event, _ int) outboxtest.Fault {
		stop() // finishes what is out
		return outboxtest.Fault{Refuse: "unknown wallet"}
	}
	relay, err := outbox.NewRelay(outbox.RelayConfig{
		Source: events, Sender: &outboxtest.Sender{Fault: refused}, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(relay.Run(running))

	letters, err := events.DeadLetters(ctx, "", 10)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, letter := range letters {
		fmt.Printf("%s: %s, %s\n", letter.ID, letter.Event.Type, letter.Reason)
		fmt.Println(events.Requeue(ctx, letter.ID)) // the destination was mended
	}
	lag, err := events.Lag(ctx)
	fmt.Println(lag.Pending, lag.DeadLetters, err)
	fmt.Println(events.Close(ctx))
	// Output:
	// <nil>
	// 0000000000000000001: wallet.credited, unknown wallet
	// <nil>
	// 1 0 <nil>
	// <nil>
}

// openEvents returns the events of a database in which one was committed.
func openEvents(ctx context.Context, pool *pgxpool.Pool) (*pgstore.Events, error) {
	if err := pgstore.Migrate(ctx, pool, ""); err != nil {
		return nil, err
	}
	store, err := pgstore.New(pgstore.Config{Pool: pool})
	if err != nil {
		return nil, err
	}
	runner, err := settle.New(settle.Config[pgx.Tx]{Store: store})
	if err != nil {
		return nil, err
	}
	key := receipt.Key{Tenant: "game", Scope: "wallet", Operation: "credit", ID: "0199"}
	sum, err := fingerprint.Of(fingerprint.Schema{Name: "credit", Version: 1}, 250)
	if err != nil {
		return nil, err
	}
	_, err = settle.Do(ctx, runner, settle.Request{Key: key, Kind: settle.Settled, Fingerprint: sum},
		func(_ context.Context, a *settle.Attempt[pgx.Tx]) (int, error) {
			return 250, a.Emit(event.Event{
				ID: receipt.NewID(), Source: "/wallets", Type: "wallet.credited", Data: []byte("250"),
				Key: key, OrderingKey: "alice", Fingerprint: sum,
			})
		})
	if err != nil {
		return nil, err
	}
	return pgstore.NewEvents(pgstore.EventsConfig{Store: store, Logger: slog.New(slog.DiscardHandler)})
}
