// Package postgres keeps the house's tables in PostgreSQL.
//
// # What bets wait for
//
// A bet locks its wallet's row for the whole transaction, the home stripe of
// each selection from the last flush to its commit, and shares the fences of its
// markets with all other bets. So bets of different wallets wait for each other
// only where they meet in a stripe. The house's accounts have no row to wait
// for.
//
// # Isolation
//
// At READ COMMITTED the fence vouches for the market's state. At SERIALIZABLE
// the market's row is locked FOR SHARE too, because the snapshot is older than
// the fence, and bets near each other in an index make each other run again.
package postgres

import (
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/settleonce/settleonce/acceptance/money"
	"github.com/settleonce/settleonce/pgstore"
	"github.com/settleonce/settleonce/receipt"

	"github.com/settleonce/settleonce/examples/sportsbook/house"
)

// Config makes a [Database].
type Config struct {
	// Pool is of [Connect]. It must be set.
	Pool *pgxpool.Pool
	// Schema is the one that the tables are in. It must be set.
	Schema string
	// Tenant is the house's. It must be set.
	Tenant string
	// Currencies are the house's. Nil: those of ISO 4217.
	Currencies *money.Registry
	// Isolation is the isolation level of the units of work. Zero: READ
	// COMMITTED.
	Isolation receipt.Isolation
}

// Database is the house's tables. Safe for concurrent use.
type Database struct {
	pool       *pgxpool.Pool
	tenant     string
	currencies *money.Registry
	fence      *pgstore.Fence
	readOffer  string
}

var (
	_ house.Books   = (*Database)(nil)
	_ house.Cashier = (*Database)(nil)
	_ house.Trading = (*Database)(nil)
)

// New returns a database, or an error that names every wrong field of config.
func New(config Config) (*Database, error) {
	fence, err := pgstore.NewFence(pgstore.FenceConfig{Schema: config.Schema, Name: "market"})
	if config.Pool == nil {
		err = errors.Join(errors.New("Pool must be set"), err)
	}
	if config.Schema == "" {
		err = errors.Join(errors.New("Schema must be set"), err)
	}
	if config.Tenant == "" {
		err = errors.Join(errors.New("Tenant must be set"), err)
	}
	if err != nil {
		return nil, fmt.Errorf("postgres: Config: %w", err)
	}
	return &Database{
		pool: config.Pool, tenant: config.Tenant, currencies: config.Currencies, fence: fence,
		readOffer: readOfferSQL(config.Isolation),
	}, nil
}

// Store makes a store of units of work of one of transactions.
func (d *Database) Store(store receipt.Store[pgx.Tx]) receipt.Store[house.Unit] {
	return unitStore{receipt.Map(store, func(tx pgx.Tx) house.Unit { return d.Unit(tx) })}
}

// unitStore has a transaction run again where another bet took the room of a
// stripe between the look at it and the commit.
type unitStore struct{ receipt.Store[house.Unit] }

// Retryable reports whether it was that, or what the store itself retries.
func (s unitStore) Retryable(err error) bool {
	return errors.Is(err, pgstore.ErrRowCount) || s.Store.Retryable(err)
}

// fenced returns a market as the fence knows it.
func (d *Database) fenced(market string) pgstore.Subject {
	return pgstore.Subject{Tenant: d.tenant, ID: market}
}

// amount joins the two columns of an amount.
func (d *Database) amount(number money.Numeric, currency string) (money.Amount, error) {
	amount, err := d.currencies.FromNumeric(number, currency)
	if err != nil {
		return money.Amount{}, fmt.Errorf("postgres: %w", err)
	}
	return amount, nil
}
