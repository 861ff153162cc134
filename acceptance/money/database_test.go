package money_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/settleonce/settleonce/internal/pgtest"
)

// database is what the tests need of pgx and of database/sql.
type database interface {
	Exec(ctx context.Context, statement string, args ...any) error
	Row(ctx context.Context, query string, args ...any) interface{ Scan(places ...any) error }
}

type throughPgx struct{ pool *pgxpool.Pool }

func (d throughPgx) Exec(ctx context.Context, statement string, args ...any) error {
	_, err := d.pool.Exec(ctx, statement, args...)
	return err
}

func (d throughPgx) Row(ctx context.Context, query string, args ...any) interface{ Scan(places ...any) error } {
	return d.pool.QueryRow(ctx, query, args...)
}

type throughSQL struct{ *sql.DB }

func (d throughSQL) Exec(ctx context.Context, statement string, args ...any) error {
	_, err := d.ExecContext(ctx, statement, args...)
	return err
}

func (d throughSQL) Row(ctx context.Context, query string, args ...any) interface{ Scan(places ...any) error } {
	return d.QueryRowContext(ctx, query, args...)
}

// databases returns one PostgreSQL of the test's own, through pgx and through
// database/sql, in each of pgx's query modes. prepare makes the tables, which
// all of them share.
func databases(t *testing.T, prepare string) map[string]database {
	t.Helper()
	dsn := pgtest.DSN(t)
	must(t, throughPgx{pgtest.PoolOn(t, dsn)}.Exec(t.Context(), prepare))
	made := map[string]database{}
	for _, mode := range []pgx.QueryExecMode{
		pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec,
		pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol,
	} {
		pool := pgtest.PoolOn(t, dsn, func(cfg *pgxpool.Config) {
			cfg.ConnConfig.DefaultQueryExecMode = mode
			cfg.MaxConns = 2
		})
		standard := stdlib.OpenDBFromPool(pool)
		t.Cleanup(func() {
			if err := standard.Close(); err != nil {
				t.Error(err)
			}
		})
		made["pgx, "+mode.String()] = throughPgx{pool}
		made["database/sql, "+mode.String()] = throughSQL{standard}
	}
	return made
}
