package outbox

import (
	"context"
	"errors"
	"time"

	"github.com/settleonce/settleonce/outbox/event"
)

// Record is one pending event of a [Source].
type Record struct {
	// ID is the source's own name for the record. It means nothing to
	// anybody else.
	ID string
	// Event is what is to be delivered.
	Event event.Event
	// Added is when the source took the event, by the source's clock. Across
	// ordering keys, the relay sends what was added first.
	Added time.Time
}

// Refusal says why a record is set aside.
type Refusal struct {
	// Reason is what the destination said.
	Reason string
	// Attempts is how often the relay that gave up had sent the record. Calls
	// in which one before it in its ordering key failed don't count.
	Attempts int
}

// Source is where a [Relay] takes its records from. One relay works on a source
// value at a time; what several values share among themselves, of one process
// or of many, is theirs to divide ([LeasedSource]).
//
// A source hands each record out once, and keeps it until it is told what
// became of it: delivered (Remove), refused for good (SetAside), or neither
// (Release). Which ordering keys rest after a failure is the relay's affair: it
// asks for records of others meanwhile.
//
// The relay gives Remove and SetAside contexts without a deadline, which end with
// nothing, since what is out is finished when it stops: a source that can hang
// bounds them itself.
//
// Safe for concurrent use.
type Source interface {
	// Next hands out up to limit pending records, oldest first, of ordering
	// keys that are not in except, whose members are what
	// [event.Event.Ordering] returns. Within an ordering key it leaves none
	// out: what it hands out follows what was handed out of that key before,
	// and after a Release begins with the oldest that was released.
	//
	// Fewer than limit means that there are no more now. With an error, the
	// records that come with it are handed out. Next neither keeps nor changes
	// except; the events belong to the caller. The relay calls one Next at a
	// time; any other method may be called meanwhile. It must return soon after
	// ctx is done: Run waits for it.
	Next(ctx context.Context, limit int, except map[string]struct{}) ([]Record, error)

	// Remove takes records out that need no further delivery. Nil: none of
	// them is handed out again, unless a crash brings it back. An error or a
	// crash: each may still be pending, and is handed out until it is
	// released. errors.Is(err, [ErrLeaseLost]) is true where records are
	// another's now; those stay as they are. Removing one that is gone is no
	// error. Remove keeps nothing of records after it returned.
	Remove(ctx context.Context, records []Record) error

	// SetAside makes a record a dead letter and keeps it, with the reason, for
	// an operator. Nil: it is kept and Next leaves it out, and where the
	// source's policy is [HoldBack] also what follows it in its ordering key.
	// Only Next knows that, so whoever sets a record aside releases what was
	// handed out after it of its ordering key.
	// An error or a crash: it may still be pending, but it is not lost. For
	// [ErrLeaseLost] see Remove.
	SetAside(ctx context.Context, record Record, why Refusal) error

	// Release takes back records that were handed out and neither removed nor
	// set aside: they are pending as before. Whoever releases one releases all
	// that were handed out after it of its ordering key. Releasing what is gone
	// changes nothing.
	Release(records []Record)

	// Wake returns a channel, the same at each call, that delivers a value
	// when records may have become pending. A source that can't know sends
	// one from time to time.
	Wake() <-chan struct{}
}

// LeasedSource is a [Source] whose records are this relay's only for a time,
// because relays of other processes share what it takes them from.
type LeasedSource interface {
	Source

	// Lease is asked immediately before a call to the sender. It returns those
	// of the records that may be delivered, in their order, and until when:
	// the call must have ended by then. The others are another relay's now, or
	// soon; the relay forgets them without releasing them. done must be called
	// once what became of every leased record has been told to the source, which
	// keeps nothing of records after that.
	Lease(records []Record) (leased []Record, until time.Time, done func())
}

// ErrLeaseLost is true where a record is not this relay's any more. Nothing was
// changed; the relay that has it now delivers it, which may be once more. A source
// that hands out again what it says this of, or what it does not lease, has the
// ordering key rest as after failures, from the second time on.
var ErrLeaseLost = errors.New("outbox: the record is another relay's now")
