// Package house is the bookmaker: what an acceptance runner needs to know to
// take bets, and what settling and voiding them does.
//
// # What one bet does
//
// In one transaction: the bet with its legs, its hold, the movement of its stake
// from available to held in balance and journal, what it takes of the limits
// of exposure, the event, and the receipt. Closing it undoes or completes each
// of them in one transaction, under one key, so that a bet cannot be both
// settled and voided.
//
// # Round trips
//
// The wallet's row, then fence, markets and home stripes together. Everything
// else travels with the commit.
package house

import (
	"errors"
	"log/slog"
	"time"

	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/acceptance/money"
	"github.com/settleonce/settleonce/receipt"
)

// Config makes a house.
type Config struct {
	// Tenant is the house's name. Commands of other tenants are refused. It
	// must be set.
	Tenant string
	// Store keeps the receipts in the database of the units of work. It must
	// be set.
	Store receipt.Store[Unit]
	// Books must be set.
	Books Books
	// Currencies are the house's. Nil: those of ISO 4217.
	Currencies *money.Registry
	// Limits bound single bets. Zero: nothing does.
	Limits Limits
	// Risk says how evidence is obtained. Zero: none is.
	Risk acceptance.Risk
	// Fence says which version a leg's quote version is. Zero: the tick.
	Fence acceptance.FenceVersion
	// ReferralLifetime is how long a trader has. Zero: nothing is referred.
	ReferralLifetime time.Duration
	// Isolation is the isolation level of every transaction. It must be that
	// of the store's units of work. Zero: READ COMMITTED.
	Isolation receipt.Isolation
	// LockTimeout, CommitTimeout and ResolveTimeout are the runners'. Zero:
	// their defaults.
	LockTimeout    time.Duration
	CommitTimeout  time.Duration
	ResolveTimeout time.Duration
	// MaxAttempts bounds the runs of one transaction. Zero is 20: at
	// SERIALIZABLE bets on one market make each other run again, up to a
	// dozen times where 32 of them are under way.
	MaxAttempts int
	// Unreceipted are codes of rejections that are not stored. Nil: all are.
	Unreceipted []acceptance.Code
	// Observer hears of every answer. Nil: nobody does.
	Observer acceptance.Observer
	// Logger is the runners'. Nil: silence.
	Logger *slog.Logger
}

// defaultMaxAttempts is for a Config that leaves MaxAttempts zero.
const defaultMaxAttempts = 20

func (c *Config) validate() error {
	var broken []error
	if c.Tenant == "" {
		broken = append(broken, errors.New("house: Config.Tenant must be set"))
	}
	if c.Store == nil {
		broken = append(broken, errors.New("house: Config.Store must be set"))
	}
	if c.Books == nil {
		broken = append(broken, errors.New("house: Config.Books must be set"))
	}
	if c.Limits.Version == "" && len(c.Limits.MaxStake)+len(c.Limits.MaxPayout) > 0 {
		broken = append(broken, errors.New("house: Config.Limits.Version must be set where there are limits"))
	}
	return errors.Join(broken...)
}
