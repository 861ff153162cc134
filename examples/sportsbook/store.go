package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/settleonce/settleonce/acceptance/money"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/pgstore/pgtemp"
	"github.com/settleonce/settleonce/receipt"

	"github.com/settleonce/settleonce/examples/drill/database"
	"github.com/settleonce/settleonce/examples/drill/fault"
	"github.com/settleonce/settleonce/examples/sportsbook/faults"
	"github.com/settleonce/settleonce/examples/sportsbook/house"
	"github.com/settleonce/settleonce/examples/sportsbook/house/postgres"
)

// books is what the drill can learn from the store without asking an API process
// for its opinion.
type books interface {
	// Receipt returns the first receipt of a key, if there is one.
	Receipt(ctx context.Context, key receipt.Key) (receipt.Receipt, bool, error)
	// Receipts returns all that there are.
	Receipts(ctx context.Context) ([]receipt.Receipt, error)
	// Events returns those that the outbox still has, or, where nobody relays
	// them, all that were committed.
	Events(ctx context.Context) ([]event.Event, error)
	// tables returns the house's tables.
	tables(ctx context.Context) (house.Tables, error)
	// now returns the store's clock.
	now(ctx context.Context) (time.Time, error)
}

// stored is the database of a run, as [books].
type stored struct {
	*database.Database
	house *postgres.Database
}

var _ books = stored{}

// openDatabase connects to dsn or, where that is empty, starts a private
// server. errors.Is(err, pgtemp.ErrNotInstalled) is true where it cannot.
func openDatabase(ctx context.Context, dsn string) (*database.Database, error) {
	return database.Open(ctx, database.Config{DSN: dsn, Name: "sportsbook", Connect: postgres.Connect, Create: postgres.Create})
}

// opener is openDatabase.
type opener func(ctx context.Context, dsn string) (*database.Database, error)

// openStore finds a store, says which on the first line of output, and opens
// wallets and markets in it.
func (d *drill) openStore(ctx context.Context, open opener) error {
	reason := "as asked for"
	if !d.options.memory {
		opened, err := open(ctx, d.options.dsn)
		if err == nil {
			return d.useDatabase(ctx, opened)
		}
		if !errors.Is(err, pgtemp.ErrNotInstalled) {
			return err
		}
		reason = "since there is no PostgreSQL to be had"
	}
	unavailable := faults.Catalogue().NeedDatabase()
	if err := d.options.Without(faults.Catalogue(), unavailable, "PostgreSQL"); err != nil {
		return err
	}
	if d.options.sabotage == faults.SkipInbox {
		return fmt.Errorf("-%s needs PostgreSQL: in memory nobody relays events to a projection", faults.SkipInbox)
	}
	d.books = memoryOfAPI{d}
	fmt.Fprintf(d.out, "store: in memory, the fake of receipttest, %s; one API process, whose books die with it, and no relay; not available: %v\n", reason, unavailable)
	return nil
}

// useDatabase has the run use a database. One that is somebody else's is not
// restarted.
func (d *drill) useDatabase(ctx context.Context, opened *database.Database) error {
	d.database = opened
	unavailable := ""
	if opened.Private() == nil {
		if err := d.options.Without(faults.Catalogue(), []fault.Name{faults.Restart}, "a private server, which is started without -dsn and DATABASE_URL"); err != nil {
			return err
		}
		unavailable = fmt.Sprintf("; not available, since the server is somebody else's: [%s]", faults.Restart)
	}
	fmt.Fprintf(d.out, "store: %s%s\n", opened.Description, unavailable)
	tables, err := postgres.New(postgres.Config{Pool: opened.Pool, Schema: opened.Schema, Tenant: tenant})
	if err != nil {
		return err
	}
	d.books = stored{opened, tables}
	return d.world.open(ctx, tables, tables)
}

func (s stored) tables(ctx context.Context) (house.Tables, error) { return s.house.Tables(ctx) }

func (s stored) now(ctx context.Context) (time.Time, error) { return clock(ctx, s.Pool) }

func clock(ctx context.Context, pool *pgxpool.Pool) (now time.Time, err error) {
	err = pool.QueryRow(ctx, `SELECT clock_timestamp()`).Scan(&now)
	return now, err
}

// euros returns an amount in the house's currency. The text is the program's
// own.
func euros(text string) money.Amount {
	var registry *money.Registry // that of ISO 4217
	amount, err := registry.Parse(text, "EUR")
	if err != nil {
		panic(err) // no text of the program's own is wrong
	}
	return amount
}
