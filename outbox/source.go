package outbox

import (
	"context"
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
	// Attempts is how often the relay that gave up had sent the record.
	Attempts int
}

// Source is where a [Relay] takes its records from. One relay works on a source
// at a time.
//
// A source only remembers what is pending. Which records are being sent, wait
// behind another or rest after a failure is the relay's affair: it asks for
// records of other ordering keys meanwhile.
//
// Safe for concurrent use.
type Source interface {
	// Next returns up to limit pending records, oldest first, of ordering
	// keys that are not in except, whose members are what
	// [event.Event.Ordering] returns. Within an ordering key it leaves none
	// out: what it returns begins with that key's oldest pending record and
	// goes on in order. A record stays pending, and is returned again, until
	// it is removed or set aside.
	//
	// Fewer than limit means that there are no more now. With an error, the
	// records that come with it are valid. Next neither keeps nor changes
	// except; the events belong to the caller.
	Next(ctx context.Context, limit int, except map[string]struct{}) ([]Record, error)

	// Remove takes records out that need no further delivery. Nil: none of
	// them is returned again, unless a crash brings it back. An error or a
	// crash: each may still be pending. Removing one that is gone is no
	// error.
	Remove(ctx context.Context, records []Record) error

	// SetAside takes a record out of line and keeps it, with the reason, for
	// an operator. Nil: it is kept and Next leaves it out. An error or a
	// crash: it may still be pending, but it is not lost.
	SetAside(ctx context.Context, record Record, why Refusal) error

	// Wake returns a channel, the same at each call, that delivers a value
	// when records may have become pending. A source that can't know sends
	// one from time to time.
	Wake() <-chan struct{}
}
