package outbox

import (
	"context"
	"errors"
	"time"

	"github.com/settleonce/settleonce/outbox/event"
)

// DeadLetterPolicy says what becomes of an ordering key one of whose events is
// set aside.
//
// The defaults differ because the facts do. In a directory the facts of one
// ordering key stand on their own, as the results of matches do: one that no
// receiver takes must not stop those that it would take. In a table the facts
// of one ordering key mostly build on each other, as what happened to one
// wallet does: a consumer that misses one would compute nonsense from the rest.
type DeadLetterPolicy int

const (
	// DefaultPolicy is the source's own: [GoOn] for a [Dir], [HoldBack] for a
	// table.
	DefaultPolicy DeadLetterPolicy = iota
	// HoldBack keeps back what follows in the ordering key until the dead
	// letter is requeued or discarded.
	HoldBack
	// GoOn delivers what follows. A dead letter that is requeued then comes
	// after what was delivered meanwhile.
	GoOn
)

// DeadLetter is a record that was set aside.
type DeadLetter struct {
	// ID is what Requeue and Discard take.
	ID string
	// Event is the record's. Nil: it can't be read, and only the source's own
	// means show it.
	Event *event.Event
	// Size is the record's size in bytes, as the source keeps it.
	Size int64
	// Time, Reason and Attempts are when and why it was set aside, and how
	// often it had been sent by then. All are zero where the reason could not
	// be kept.
	Time     time.Time
	Reason   string
	Attempts int
	// HoldsBack says that its ordering key waits for it.
	HoldsBack bool
}

// DeadLetters is where a source keeps what was set aside, for an operator.
//
// Safe for concurrent use, also beside a relay, in this process or another.
type DeadLetters interface {
	// DeadLetters lists up to limit dead letters that come after the one of
	// the given ID ("": from the start), which may be none any more. Those of
	// one ordering key are in their old order. Fewer than limit: there are no
	// more.
	DeadLetters(ctx context.Context, after string, limit int) ([]DeadLetter, error)

	// Requeue makes a dead letter pending again, at its old place: before
	// everything that it held back. Nil: it is pending, durably.
	// errors.Is(err, [ErrNoDeadLetter]) is true where there is none of that ID;
	// nothing was changed then. Any other error: it may be pending or still a
	// dead letter; it is not lost.
	Requeue(ctx context.Context, id string) error

	// Discard ends a dead letter that nobody will deliver, with the reason,
	// which must not be empty. What it held back goes on. The record and both
	// reasons are kept out of sight, as the source documents. Errors as for
	// Requeue.
	Discard(ctx context.Context, id, reason string) error
}

// ErrNoDeadLetter is true where no dead letter has the given ID. Nothing was
// changed.
var ErrNoDeadLetter = errors.New("outbox: no such dead letter")
