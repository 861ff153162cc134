package main

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/settleonce/settleonce/examples/drill/database"
	"github.com/settleonce/settleonce/examples/match/lobby"
	"github.com/settleonce/settleonce/examples/match/lobby/postgres"
)

// arena is the database of a run, as [books].
type arena struct{ *database.Database }

var _ books = arena{}

// openDatabase connects to dsn or, where that is empty, starts a private
// server. errors.Is(err, pgtemp.ErrNotInstalled) is true where it cannot.
func openDatabase(ctx context.Context, dsn string, players []string) (*database.Database, error) {
	return database.Open(ctx, database.Config{
		DSN: dsn, Name: "arena", Connect: postgres.Connect,
		Create: func(ctx context.Context, pool *pgxpool.Pool, schema string) error {
			return postgres.Create(ctx, pool, schema, players)
		},
	})
}

func (a arena) settled(ctx context.Context) (count int, err error) {
	err = a.Pool.QueryRow(ctx, `SELECT count(*) FROM matches`).Scan(&count)
	return count, err
}

func (a arena) tables(ctx context.Context) (lobby.Tables, error) {
	tables, err := postgres.NewRooms(a.Pool).Tables(ctx)
	if err != nil {
		return lobby.Tables{}, err
	}
	tables.Events, err = a.Events(ctx)
	return tables, err
}
