// Package postgres keeps the lobby's tables in PostgreSQL.
package postgres

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/settleonce/settleonce/examples/match/elo"
)

//go:embed schema.sql
var schema string

// Connect opens a pool whose connections look for tables in the named schema.
// Their transactions are READ COMMITTED whatever the database's default is:
// what [Rooms] reads after a wait must be what the wait was for.
func Connect(ctx context.Context, dsn, schemaName string) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, fmt.Errorf("postgres: %w", err)
	}
	config.ConnConfig.RuntimeParams["search_path"] = pgx.Identifier{schemaName}.Sanitize()
	config.ConnConfig.RuntimeParams["default_transaction_isolation"] = "read committed"
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("postgres: %w", err)
	}
	return pool, nil
}

// Create makes the schema with its tables, and players who are idle and new.
// The schema must not exist.
func Create(ctx context.Context, pool *pgxpool.Pool, schemaName string, players []string) error {
	err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "CREATE SCHEMA "+pgx.Identifier{schemaName}.Sanitize()); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, schema); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `INSERT INTO ratings (player, rating, initial) SELECT unnest($1::text[]), $2, $2`, players, elo.Start); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `INSERT INTO presence (player) SELECT unnest($1::text[])`, players)
		return err
	})
	if err != nil {
		return fmt.Errorf("postgres: create schema %s: %w", schemaName, err)
	}
	return nil
}
