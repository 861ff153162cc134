// Package database finds the PostgreSQL that a drill keeps its books in: the
// one of a connection string, or a private server for this run. Either way the
// run has two schemas of its own, and leaves none behind.
package database

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/pgstore"
	"github.com/settleonce/settleonce/pgstore/pgtemp"
	"github.com/settleonce/settleonce/receipt"
)

// keysAtOnce is how many receipts are read in one query.
const keysAtOnce = 500

// Config says which database, and what is in it. Every field must be set, DSN
// apart.
type Config struct {
	// DSN is the connection string. Empty: a private server is started.
	DSN string
	// Name begins the names of both schemas.
	Name string
	// Connect opens a pool whose statements find the tables of a schema.
	Connect func(ctx context.Context, dsn, schema string) (*pgxpool.Pool, error)
	// Create makes the schema and its tables.
	Create func(ctx context.Context, pool *pgxpool.Pool, schema string) error
}

// Database is where a run keeps its books: two schemas of its own.
type Database struct {
	// DSN is the server's connection string.
	DSN string
	// Schema holds the drill's own tables, ReceiptSchema those of pgstore.
	Schema, ReceiptSchema string
	// Description is for the first line of output.
	Description string
	// Pool finds the tables of Schema, and Store keeps its own in
	// ReceiptSchema.
	Pool  *pgxpool.Pool
	Store *pgstore.Store

	server *pgtemp.Server // nil: somebody else's
}

// closeTime bounds the clearing up after an Open that failed.
const closeTime = 20 * time.Second

// Open connects to the database or starts a server. errors.Is(err,
// pgtemp.ErrNotInstalled) is true where it cannot. An error leaves nothing
// behind, that of a ctx that is done included.
func Open(ctx context.Context, config Config) (*Database, error) {
	suffix := fmt.Sprintf("%x", time.Now().UnixMicro())
	d := &Database{DSN: config.DSN, Schema: config.Name + "_" + suffix, ReceiptSchema: config.Name + "_receipts_" + suffix}
	if config.DSN == "" {
		server, err := pgtemp.Start(ctx, pgtemp.Config{})
		if err != nil {
			return nil, err
		}
		d.server, d.DSN = server, server.DSN()
	}
	if err := d.prepare(ctx, config); err != nil {
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
		defer cancel()
		return nil, errors.Join(err, d.Close(ending))
	}
	return d, nil
}

func (d *Database) prepare(ctx context.Context, config Config) (err error) {
	if d.Pool, err = config.Connect(ctx, d.DSN, d.Schema); err != nil {
		return err
	}
	var version string
	if err := d.Pool.QueryRow(ctx, `SHOW server_version`).Scan(&version); err != nil {
		return fmt.Errorf("connect to PostgreSQL: %w", err)
	}
	d.Description = fmt.Sprintf("PostgreSQL %s at -dsn or DATABASE_URL, in schemas of this run's own", version)
	if d.server != nil {
		d.Description = fmt.Sprintf("PostgreSQL %s, a private server for this run", version)
	}
	if err := config.Create(ctx, d.Pool, d.Schema); err != nil {
		return err
	}
	if err := pgstore.Migrate(ctx, d.Pool, d.ReceiptSchema); err != nil {
		return err
	}
	if d.Store, err = pgstore.New(pgstore.Config{Pool: d.Pool, Schema: d.ReceiptSchema}); err != nil {
		return err
	}
	return d.Store.Check(ctx)
}

// Private returns the server of this run. It is nil where the database is
// somebody else's, who will not have it restarted.
func (d *Database) Private() *pgtemp.Server { return d.server }

// Close leaves nothing of the run behind.
func (d *Database) Close(ctx context.Context) error {
	var err error
	if d.Pool != nil && d.server == nil {
		for _, schema := range []string{d.Schema, d.ReceiptSchema} {
			_, dropErr := d.Pool.Exec(ctx, "DROP SCHEMA IF EXISTS "+pgx.Identifier{schema}.Sanitize()+" CASCADE")
			err = errors.Join(err, dropErr)
		}
	}
	if d.Pool != nil {
		d.Pool.Close()
	}
	if d.server != nil {
		err = errors.Join(err, d.server.Stop(ctx))
	}
	return err
}

// Receipt returns the first receipt of a key, if there is one.
func (d *Database) Receipt(ctx context.Context, key receipt.Key) (receipt.Receipt, bool, error) {
	history, err := d.Store.History(ctx, key)
	if err != nil || len(history) == 0 {
		return receipt.Receipt{}, false, err
	}
	return history[0], true, nil
}

// Receipts returns every receipt, in the order of their keys.
func (d *Database) Receipts(ctx context.Context) ([]receipt.Receipt, error) {
	rows, err := d.Pool.Query(ctx, "SELECT DISTINCT tenant, scope, operation, id FROM "+
		pgx.Identifier{d.ReceiptSchema, "receipts"}.Sanitize()+" ORDER BY tenant, scope, operation, id")
	if err != nil {
		return nil, err
	}
	keys, err := pgx.CollectRows(rows, pgx.RowToStructByPos[receipt.Key])
	if err != nil {
		return nil, err
	}
	var all []receipt.Receipt
	for some := range slices.Chunk(keys, keysAtOnce) {
		history, err := d.Store.History(ctx, some...)
		if err != nil {
			return nil, err
		}
		all = append(all, history...)
	}
	return all, nil
}

// Events returns every event that was committed and not delivered yet, in the
// order of their positions. Dead letters are not among them.
func (d *Database) Events(ctx context.Context) ([]event.Event, error) {
	rows, err := d.Pool.Query(ctx, "SELECT event_id, source, type, subject, data, partition_key, fingerprint, tenant, scope, operation, id FROM "+
		pgx.Identifier{d.ReceiptSchema, "events"}.Sanitize()+" ORDER BY position")
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (event.Event, error) {
		var e event.Event
		err := row.Scan(&e.ID, &e.Source, &e.Type, &e.Subject, &e.Data, &e.OrderingKey, &e.Fingerprint,
			&e.Key.Tenant, &e.Key.Scope, &e.Key.Operation, &e.Key.ID)
		return e, err
	})
}
