package settle

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/settleonce/settleonce/internal/once"
	"github.com/settleonce/settleonce/receipt"
)

// Config says how a [Runner] works. Tx is the store's transaction, which the
// callbacks get.
type Config[Tx any] struct {
	// Store keeps the receipts, in the database of the side effects. It must
	// be set.
	Store receipt.Store[Tx]

	// Isolation is the isolation level of every transaction. Zero is READ
	// COMMITTED, under which a duplicate waits for the key and never calls
	// back. Under SERIALIZABLE a duplicate from another process may call
	// back, and fails at its commit.
	Isolation receipt.Isolation

	// LockTimeout bounds the wait for a key that another process holds, and
	// for every lock that a callback takes. Zero leaves it to the store.
	LockTimeout time.Duration

	// CommitTimeout bounds the wait for the answer to a commit, after which
	// its outcome is looked up. Zero is 10 seconds.
	CommitTimeout time.Duration

	// ResolveTimeout bounds that look-up, after which Do returns
	// [receipt.ErrOutcomeUnknown]. Zero is 30 seconds.
	//
	// A commit once begun is seen through whatever becomes of the caller's
	// context, so Do can outlive it by CommitTimeout and ResolveTimeout.
	ResolveTimeout time.Duration

	// NoWait gives a duplicate whose key is in flight in this process
	// [receipt.ErrInFlight] at once. False waits for the first one, without
	// a connection, and answers with its receipt.
	NoWait bool

	// MaxAttempts bounds the runs of one callback. Zero is 5.
	MaxAttempts int

	// OnReceipt runs before every answer that carries a receipt: after the
	// first commit, after the hooks, and at each replay. It gets a context
	// that the caller's cancellation does not reach. Where it returns an
	// error or panics, Do returns the result and [receipt.ErrWithheld], so
	// that the sender sends again and OnReceipt runs again.
	//
	// It is the place for what must happen after the commit even if the
	// process dies in between, such as freeing the players of a match. It
	// must compare and clear ("free player P where P's room is 7"), because
	// a late duplicate may come when P plays another match already.
	//
	// Several calls may run at once. Nil does nothing.
	OnReceipt func(ctx context.Context, r receipt.Receipt, replayed bool) error

	// Logger hears of attempts that are tried again, commits in doubt, hooks
	// that panic and transactions ended by a callback. It never hears a
	// payload. Nil is silence.
	Logger *slog.Logger
}

// Runner settles facts, each key once.
//
// Make one with [New]. Safe for concurrent use. It holds no resource of its own
// and needs no close.
type Runner[Tx any] struct {
	engine *once.Runner[Tx]
}

// New returns a Runner, or an error that names every wrong field of config.
func New[Tx any](config Config[Tx]) (*Runner[Tx], error) {
	engine, err := once.New(once.Config[Tx](config))
	if err != nil {
		return nil, fmt.Errorf("settle: Config: %w", err)
	}
	return &Runner[Tx]{engine}, nil
}

// Lookup returns the key's newest receipt. errors.Is(err,
// [receipt.ErrNotFound]) is true where there is none, which proves nothing
// about a transaction that is still open.
func (r *Runner[Tx]) Lookup(ctx context.Context, key receipt.Key) (receipt.Receipt, error) {
	found, err := r.engine.Lookup(ctx, key)
	if err != nil {
		return receipt.Receipt{}, fmt.Errorf("settle: %w", err)
	}
	return found, nil
}
