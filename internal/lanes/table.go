package lanes

import (
	"context"
	"errors"
	"time"

	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/outbox/event"
)

// Count is the number of lanes. It is stored: do not change.
const Count = 256

// Lane is one of them.
type Lane uint8

// Ticket is a relay's membership. The zero Ticket is none.
type Ticket struct {
	// ID is the relay's, and never repeats.
	ID int64
	// Epoch rises whenever the relay loses lanes.
	Epoch int64
}

// Roster is what a renewal tells.
type Roster struct {
	// Relays is how many members there are, this one included.
	Relays int
	// Free is how many lanes nobody holds.
	Free int
	// Requeued rises whenever a dead letter is requeued or discarded.
	Requeued int64
}

// Row is one pending event.
type Row struct {
	Position int64
	Lane     Lane
	// Ordering is the event's [event.Event.Ordering].
	Ordering string
	// Event is the event, with its Position.
	Event event.Event
	// RecordedAt is the table's clock when the row was written.
	RecordedAt time.Time
	// Broken is why what is stored is no event, and Event empty. Nil: it is one.
	Broken error
}

// Head is what of a row tells whether it is known.
type Head struct {
	Position int64
	Lane     Lane
	Ordering string
}

// Table carries out what the package decides. Every method is one transaction
// of its own, and keeps no state of a session. Lanes in arguments are distinct.
//
// What the order of events rests on:
//
//   - Each call sees at least what every call saw that had ended before it
//     began.
//   - A position is greater than all that were drawn before it (a sequence that
//     caches none).
//   - A transaction draws the position of an event when it holds its ordering
//     key against all others, which it does until what it wrote is visible.
//   - It has its number before it draws a position, and counts as open, in the
//     sense of Read, until what it wrote is visible or never will be. Numbers
//     don't repeat while anybody remembers them (64 bits).
//
// Safe for concurrent use.
type Table interface {
	// Join adds a relay whose membership lasts for lease, by the table's clock.
	Join(ctx context.Context, lease time.Duration) (Ticket, error)

	// Renew makes the membership last for lease from now on, removes the
	// members whose time is up, and frees their lanes. It waits for none of
	// these: one that has a write under way is left to a later Renew.
	// errors.Is(err, [ErrFenced]) is true where the ticket is no member's any
	// more.
	Renew(ctx context.Context, t Ticket, lease time.Duration) (Roster, error)

	// Take takes up to limit free lanes. [ErrFenced] as for Renew. After any
	// other error the relay may hold lanes that it does not know of, so it must
	// leave, and join anew.
	Take(ctx context.Context, t Ticket, limit int) ([]Lane, error)

	// Give frees lanes and returns the ticket with its next epoch; without lanes
	// it only raises the epoch. [ErrFenced] as for Renew. After any other error
	// the relay must leave, and join anew.
	Give(ctx context.Context, t Ticket, lanes []Lane) (Ticket, error)

	// Leave ends the membership with the ticket's ID, whatever its epoch, and
	// frees its lanes. One that is no member any more is no error.
	Leave(ctx context.Context, t Ticket) error

	// Read returns up to limit rows of the lanes with positions above after,
	// in the order of their positions, and the numbers of all transactions that
	// were open in the very snapshot that the rows were read in, of any kind,
	// in ascending order; also where there are no rows. The rows take the place
	// of what is in into, if it has room for them: a row is large, and a backlog
	// is read much faster into the same memory. What the rows point at is new.
	Read(ctx context.Context, lanes []Lane, after int64, limit int, into []Row) (rows []Row, open []uint64, err error)

	// ReadOf is Read for the rows of some ordering keys with positions from
	// first to last.
	ReadOf(ctx context.Context, orderings []string, first, last int64, limit int) ([]Row, error)

	// ReadAt returns the rows at the positions that are there, in their order.
	ReadAt(ctx context.Context, positions []int64) ([]Row, error)

	// Heads returns up to limit heads of the lanes with positions above after
	// and up to last, in the order of their positions.
	Heads(ctx context.Context, lanes []Lane, after, last int64, limit int) ([]Head, error)

	// HeldBack returns, for each ordering key of the lanes that a dead letter
	// holds back, nothing but its name.
	HeldBack(ctx context.Context, lanes []Lane) ([]string, error)

	// Delete removes the rows at the positions, which are of lanes that the
	// relay holds by t. [ErrFenced] where t does not hold any more; nothing is
	// removed then. It need not be durable when it returns: what comes back
	// after a crash is delivered once more. Rows that are gone are no error.
	Delete(ctx context.Context, t Ticket, positions []int64) error

	// Bury makes the row at a position a dead letter, durably. [ErrFenced] as
	// for Delete. A row that is gone is no error.
	Bury(ctx context.Context, t Ticket, position int64, why outbox.Refusal, holdBack bool) error
}

// ErrFenced is true where a ticket holds no more: its time was up and somebody
// removed it, or lanes were given up since.
var ErrFenced = errors.New("lanes: the membership has ended, or has another epoch by now")
