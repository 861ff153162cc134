package receipt

import (
	"context"
	"time"

	"github.com/settleonce/settleonce/outbox/event"
)

// Isolation is a transaction's isolation level: [ReadCommitted] or
// [Serializable].
type Isolation int

const (
	// ReadCommitted is the zero value: what a transaction reads after it
	// waited for the key is what the wait was for.
	ReadCommitted Isolation = iota
	// Serializable makes a duplicate show as a serialisation failure or a
	// unique violation, which the runner turns into a replay.
	Serializable
	// RepeatableRead has a name so that it can be refused by it. Nothing runs
	// at it: a locked but unchanged row hides what another transaction hung on
	// it, and two bets of 70 are both taken from a wallet of 100.
	RepeatableRead
)

// String returns the level's name in SQL.
func (i Isolation) String() string {
	switch i {
	case ReadCommitted:
		return "READ COMMITTED"
	case Serializable:
		return "SERIALIZABLE"
	case RepeatableRead:
		return "REPEATABLE READ"
	default:
		return "unknown isolation level"
	}
}

// Claim says what an attempt is about to decide.
type Claim struct {
	Key Key
	// Revision is the receipt to be written: 0 for the first, or the number
	// of a correction.
	Revision int
	// Attempt identifies this run of the callback, fresh for every run (I5).
	Attempt string
	// Isolation: the zero value is [ReadCommitted].
	Isolation Isolation
	// LockTimeout bounds the wait for the key, and for every lock that the
	// callback takes. Zero leaves it to the store.
	LockTimeout time.Duration
	// Beside names at most [MaxBeside] further keys of the same tenant, all
	// distinct, whose first receipts Begin reads after it has waited for Key,
	// and which Commit may write together with Key's or in its place. They
	// are not locked: of two transactions that write one of them the later
	// fails as a duplicate.
	Beside []Key
}

// MaxBeside is the greatest number of keys beside a claim's own.
const MaxBeside = 8

// Store is where receipts live. Tx is the transaction that it hands to
// callbacks.
//
// Safe for concurrent use.
type Store[Tx any] interface {
	// History returns the committed receipts of the keys, as of one moment, in
	// the order of the keys and for each in the order of its revisions. It
	// takes no lock: that a receipt is missing proves nothing about a
	// transaction that is still open.
	History(ctx context.Context, keys ...Key) ([]Receipt, error)

	// Begin opens a transaction that is serialised on the claim's key until
	// it ends, and reads the receipts that the key has. It waits for another
	// transaction on the key; waiting for longer than the LockTimeout is
	// [ErrInFlight].
	//
	// Begin, with nothing done between it and Rollback, also resolves a
	// commit of unknown outcome (I5): it answers only on a server that can
	// take writes, and only after the transaction in doubt has ended. Every
	// error then means "still unknown".
	//
	// After an error nothing is open and nothing is held.
	Begin(ctx context.Context, claim Claim) (Session[Tx], error)

	// Retryable reports whether err, from Begin, from a statement of a
	// callback or from Commit, says that the transaction was rolled back for
	// a cause that may be gone when it runs again: a serialisation failure,
	// a deadlock, or a duplicate that committed first.
	Retryable(err error) bool
}

// Session is one open transaction on one key. It ends with Commit or Rollback,
// whatever they return.
//
// A Session belongs to one goroutine.
type Session[Tx any] interface {
	// Tx returns the transaction for the callback. It refuses to be
	// committed or rolled back, and refuses everything once the session has
	// ended (I2).
	Tx() Tx

	// Prior returns the key's receipt at the claimed revision and its newest
	// one, nil where there is none.
	Prior() (claimed, newest *Receipt)

	// Beside returns the first receipts of the claim's keys beside, those
	// that have one, in the claim's order.
	Beside() []Receipt

	// BeganAt returns the store's clock as it was once the key was held, in
	// UTC. The callback's later waits are not in it.
	BeganAt() time.Time

	// Add has copies of receipts of keys beside travel with Commit. What is
	// wrong with one fails the Commit.
	Add(receipts ...Receipt)

	// Commit writes the receipt, which is the claimed one or the first of a
	// key beside, the receipts that were added, and the events, and commits
	// them together with what was done through Tx. It runs what the callback
	// deferred, then writes the receipts, then locks the events' ordering
	// keys in a fixed order, then writes the events, then commits (I8).
	//
	// It commits nothing where a receipt or an event breaks a rule, where a
	// receipt's key and revision are none that were claimed or stand twice,
	// where its attempt is not the claim's, where its key has a receipt of
	// that revision, where ctx has ended before the call, and where the
	// session has ended. RecordedAt is set by the store.
	//
	// Nil means committed, and the receipt is returned as it was stored. An
	// error for which errors.Is(err, [ErrOutcomeUnknown]) is true means that
	// it may have committed: Begin on the same key resolves it. One that is
	// [ErrTransactionEnded] means what that says. Every other error means
	// that nothing was committed, and errors.Is(err, [ErrNotCommitted]) is
	// true.
	//
	// After a crash the whole is there or nothing is.
	Commit(ctx context.Context, receipt Receipt, events ...event.Event) (Receipt, error)

	// Rollback ends the transaction and leaves nothing of it. After an error
	// the connection is given up, and the server ends the transaction when
	// it notices. After Commit it does nothing.
	//
	// errors.Is(err, [ErrTransactionEnded]) is true where the transaction
	// that Begin opened was no longer there.
	Rollback(ctx context.Context) error
}
