package projection

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

//go:embed schema.sql
var schema string

// Connect opens a pool whose connections look for tables in the named schema.
// Their transactions are READ COMMITTED whatever the database's default is.
func Connect(ctx context.Context, dsn, schemaName string) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, fmt.Errorf("projection: %w", err)
	}
	config.ConnConfig.RuntimeParams["search_path"] = pgx.Identifier{schemaName}.Sanitize()
	config.ConnConfig.RuntimeParams["default_transaction_isolation"] = "read committed"
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("projection: %w", err)
	}
	return pool, nil
}

// Create makes the schema with its tables. The schema must not exist.
func Create(ctx context.Context, pool *pgxpool.Pool, schemaName string) error {
	err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "CREATE SCHEMA "+pgx.Identifier{schemaName}.Sanitize()); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, schema)
		return err
	})
	if err != nil {
		return fmt.Errorf("projection: create schema %s: %w", schemaName, err)
	}
	return nil
}
