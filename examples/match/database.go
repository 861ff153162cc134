package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/pgstore"
	"github.com/settleonce/settleonce/pgstore/pgtemp"
	"github.com/settleonce/settleonce/receipt"

	"github.com/settleonce/settleonce/examples/match/lobby"
	"github.com/settleonce/settleonce/examples/match/lobby/postgres"
)

// database is where a run keeps its books: two schemas of its own.
type database struct {
	dsn string
	// schema holds the lobby's tables, receipts those of pgstore.
	schema, receipts string
	// description is for the first line of output.
	description string

	server *pgtemp.Server // nil: somebody else's
	pool   *pgxpool.Pool
	store  *pgstore.Store
}

// openDatabase connects to dsn or, where that is empty, starts a private
// server. errors.Is(err, pgtemp.ErrNotInstalled) is true where it cannot.
func openDatabase(ctx context.Context, dsn string, players []string) (*database, error) {
	suffix := fmt.Sprintf("%x", time.Now().UnixMicro())
	db := &database{dsn: dsn, schema: "arena_" + suffix, receipts: "arena_receipts_" + suffix}
	if dsn == "" {
		server, err := pgtemp.Start(ctx, pgtemp.Config{})
		if err != nil {
			return nil, err
		}
		db.server, db.dsn = server, server.DSN()
	}
	if err := db.prepare(ctx, players); err != nil {
		return nil, errors.Join(err, db.close(ctx))
	}
	return db, nil
}

func (d *database) prepare(ctx context.Context, players []string) (err error) {
	if d.pool, err = postgres.Connect(ctx, d.dsn, d.schema); err != nil {
		return err
	}
	var version string
	if err := d.pool.QueryRow(ctx, `SHOW server_version`).Scan(&version); err != nil {
		return fmt.Errorf("connect to PostgreSQL: %w", err)
	}
	d.description = fmt.Sprintf("PostgreSQL %s at -dsn or DATABASE_URL, in schemas of this run's own", version)
	if d.server != nil {
		d.description = fmt.Sprintf("PostgreSQL %s, a private server for this run", version)
	}
	if err := postgres.Create(ctx, d.pool, d.schema, players); err != nil {
		return err
	}
	if err := pgstore.Migrate(ctx, d.pool, d.receipts); err != nil {
		return err
	}
	if d.store, err = pgstore.New(pgstore.Config{Pool: d.pool, Schema: d.receipts}); err != nil {
		return err
	}
	return d.store.Check(ctx)
}

// close leaves nothing of the run behind.
func (d *database) close(ctx context.Context) error {
	var err error
	if d.pool != nil && d.server == nil {
		for _, schema := range []string{d.schema, d.receipts} {
			_, dropErr := d.pool.Exec(ctx, "DROP SCHEMA IF EXISTS "+pgx.Identifier{schema}.Sanitize()+" CASCADE")
			err = errors.Join(err, dropErr)
		}
	}
	if d.pool != nil {
		d.pool.Close()
	}
	if d.server != nil {
		err = errors.Join(err, d.server.Stop(ctx))
	}
	return err
}

var _ books = (*database)(nil)

func (d *database) receipt(ctx context.Context, key receipt.Key) (receipt.Receipt, bool, error) {
	history, err := d.store.History(ctx, key)
	if err != nil || len(history) == 0 {
		return receipt.Receipt{}, false, err
	}
	return history[0], true, nil
}

func (d *database) settled(ctx context.Context) (count int, err error) {
	err = d.pool.QueryRow(ctx, `SELECT count(*) FROM matches`).Scan(&count)
	return count, err
}

func (d *database) tables(ctx context.Context) (lobby.Tables, error) {
	tables, err := postgres.NewRooms(d.pool).Tables(ctx)
	if err != nil {
		return lobby.Tables{}, err
	}
	rows, err := d.pool.Query(ctx, "SELECT envelope FROM "+pgx.Identifier{d.receipts, "events"}.Sanitize()+" ORDER BY position")
	if err != nil {
		return lobby.Tables{}, err
	}
	tables.Events, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (event.Event, error) {
		var envelope []byte
		var e event.Event
		if err := row.Scan(&envelope); err != nil {
			return e, err
		}
		return e, json.Unmarshal(envelope, &e)
	})
	return tables, err
}
