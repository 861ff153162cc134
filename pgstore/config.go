package pgstore

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// What the zero values of a [Config] stand for.
const (
	DefaultLockTimeout         = 5 * time.Second
	DefaultIdleTimeout         = 30 * time.Second
	DefaultClientCheckInterval = time.Second
	DefaultRollbackTimeout     = 5 * time.Second
)

// Config says where and how a [Store] keeps receipts.
type Config struct {
	// Pool lends one connection to each open session. It must be set, and
	// stays the caller's to close. [WatchReplication] prepares its
	// configuration for servers that replicate synchronously.
	Pool *pgxpool.Pool
	// Schema holds the tables, see [Migrate]. Empty: [DefaultSchema].
	Schema string
	// LockTimeout bounds the wait for the key where the claim sets no
	// bound, and for every lock in the same transaction. Zero:
	// [DefaultLockTimeout].
	LockTimeout time.Duration
	// IdleTimeout is how long the server lets a transaction wait for its
	// client's next statement before it ends it, so that a client that has
	// vanished frees its key and its rows. It must exceed the longest pause
	// that a callback makes between two statements. Zero:
	// [DefaultIdleTimeout].
	IdleTimeout time.Duration
	// ClientCheckInterval is how often the server looks, while a statement
	// runs, whether the client is still there. PostgreSQL 13 cannot, so
	// there the statement's own length is the bound. Zero:
	// [DefaultClientCheckInterval]. Negative: the server's own setting
	// stays, for servers whose system cannot do it either.
	ClientCheckInterval time.Duration
	// RollbackTimeout bounds the ROLLBACK of a session. It runs whatever
	// became of the caller's context; when the time is up the connection is
	// given up. Zero: [DefaultRollbackTimeout].
	RollbackTimeout time.Duration
	// Allow lists weaknesses of the server that [Store.Check] and
	// [Store.Begin] put up with. Nil: none.
	Allow []Weakness
}

// withDefaults returns c with its zero values filled in, or every field that
// breaks a rule, all at once.
func (c Config) withDefaults() (Config, error) {
	c.Schema = schemaOrDefault(c.Schema)
	fill(&c.LockTimeout, DefaultLockTimeout)
	fill(&c.IdleTimeout, DefaultIdleTimeout)
	fill(&c.ClientCheckInterval, DefaultClientCheckInterval)
	fill(&c.RollbackTimeout, DefaultRollbackTimeout)
	return c, c.validate()
}

func fill(duration *time.Duration, standard time.Duration) {
	if *duration == 0 {
		*duration = standard
	}
}

func (c Config) validate() error {
	var broken []error
	check := func(field string, err error) {
		if err != nil {
			broken = append(broken, fmt.Errorf("pgstore: Config.%s %w", field, err))
		}
	}
	if c.Pool == nil {
		check("Pool", errors.New("must be set"))
	}
	check("Schema", validateSchema(c.Schema))
	check("LockTimeout", validateTimeout(c.LockTimeout))
	check("IdleTimeout", validateTimeout(c.IdleTimeout))
	if c.ClientCheckInterval > 0 {
		check("ClientCheckInterval", validateTimeout(c.ClientCheckInterval))
	}
	check("RollbackTimeout", validateTimeout(c.RollbackTimeout))
	for _, weakness := range c.Allow {
		check("Allow", weakness.validate())
	}
	return errors.Join(broken...)
}

// maxTimeout is the greatest duration that PostgreSQL takes.
const maxTimeout = math.MaxInt32 * time.Millisecond

func validateTimeout(timeout time.Duration) error {
	if timeout < 0 || timeout > maxTimeout {
		return fmt.Errorf("must be between 0 and %v, is %v", maxTimeout, timeout)
	}
	return nil
}
