package once

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/settleonce/settleonce/receipt"
)

// Defaults of [Config].
const (
	DefaultMaxAttempts    = 5
	DefaultCommitTimeout  = 10 * time.Second
	DefaultResolveTimeout = 30 * time.Second
)

// rollbackTimeout bounds the wait for a rollback, after which the store gives
// up the connection and leaves the transaction to the server.
const rollbackTimeout = 5 * time.Second

// Config says how a [Runner] works.
type Config[Tx any] struct {
	// Store keeps the receipts. It must be set.
	Store receipt.Store[Tx]
	// Isolation of every transaction: zero is READ COMMITTED.
	Isolation receipt.Isolation
	// LockTimeout bounds the wait for a key: zero leaves it to the store.
	LockTimeout time.Duration
	// CommitTimeout bounds the wait for the answer to a commit: zero is
	// [DefaultCommitTimeout].
	CommitTimeout time.Duration
	// ResolveTimeout bounds the search for the outcome of a commit without
	// an answer: zero is [DefaultResolveTimeout].
	ResolveTimeout time.Duration
	// NoWait gives a duplicate that finds its key in flight in this process
	// ErrInFlight at once: zero waits.
	NoWait bool
	// MaxAttempts bounds the runs of one callback: zero is
	// [DefaultMaxAttempts].
	MaxAttempts int
	// OnReceipt runs before every answer that carries a receipt: nil does
	// nothing.
	OnReceipt func(ctx context.Context, r receipt.Receipt, replayed bool) error
	// Logger hears what an operator needs: nil is silence.
	Logger *slog.Logger
}

// Validate reports every wrong field at once.
func (c *Config[Tx]) Validate() error {
	var broken []error
	if c.Store == nil {
		broken = append(broken, errors.New("Store must be set"))
	}
	if err := checkIsolation(c.Isolation); err != nil {
		broken = append(broken, err)
	}
	for _, timeout := range []struct {
		field string
		value time.Duration
	}{
		{"LockTimeout", c.LockTimeout},
		{"CommitTimeout", c.CommitTimeout},
		{"ResolveTimeout", c.ResolveTimeout},
	} {
		if timeout.value < 0 {
			broken = append(broken, fmt.Errorf("%s must not be negative, is %v", timeout.field, timeout.value))
		}
	}
	if c.MaxAttempts < 0 {
		broken = append(broken, fmt.Errorf("MaxAttempts must not be negative, is %d", c.MaxAttempts))
	}
	return errors.Join(broken...)
}

func checkIsolation(isolation receipt.Isolation) error {
	switch isolation {
	case receipt.ReadCommitted, receipt.Serializable:
		return nil
	case receipt.RepeatableRead:
		return errors.New("Isolation must not be RepeatableRead: a locked but unchanged row would hide what a rival hung on it, such as a hold on a wallet")
	default:
		return fmt.Errorf("Isolation must be ReadCommitted or Serializable, is %d", isolation)
	}
}

func (c Config[Tx]) withDefaults() Config[Tx] {
	if c.CommitTimeout == 0 {
		c.CommitTimeout = DefaultCommitTimeout
	}
	if c.ResolveTimeout == 0 {
		c.ResolveTimeout = DefaultResolveTimeout
	}
	if c.MaxAttempts == 0 {
		c.MaxAttempts = DefaultMaxAttempts
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}
