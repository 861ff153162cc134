package outbox

import (
	"context"
	"time"

	"github.com/settleonce/settleonce/fingerprint"
	"github.com/settleonce/settleonce/outbox/event"
)

// AckKind says what kind of proof an [Ack] is.
type AckKind int

const (
	// AckNone is the zero value: no proof of anything. The record stays.
	AckNone AckKind = iota
	// AckReceipt is a receiver's receipt: the key has its final outcome.
	AckReceipt
	// AckRefusal is a receiver's refusal document: this event will never be
	// taken, however often it is sent. The record is set aside.
	AckRefusal
	// AckPublished is a broker's durable acknowledgement. It is proof only
	// where a relay's Config says so.
	AckPublished
	// AckRejected is the word of a destination that gives no receipts that it
	// will never take this event, such as a broker's "message too large". It
	// sets the record aside only where a relay's Config says so, as for
	// AckPublished.
	AckRejected
)

// Ack is what a destination proved about one event. A sender fills it from
// what the destination *said*, never from the event that it sent: the relay
// compares the two (I6).
type Ack struct {
	Kind AckKind
	// Key and Fingerprint are those that the destination's document names.
	Key         event.Key
	Fingerprint fingerprint.Digest
	// EventID is the event that was acknowledged or rejected, for
	// [AckPublished] and [AckRejected].
	EventID string
	// Reason says why, for [AckRefusal] and [AckRejected].
	Reason string
}

// Answer is what became of one event that was sent.
type Answer struct {
	// Ack is the proof. It counts only where Err is nil.
	Ack Ack
	// Err is why there is no proof. The record stays and is sent again.
	Err error
	// EventAlone says that Err is about this event alone: the destination
	// works, and would take others. A relay that had counted it as down then
	// stops doing so, as after an acknowledgement. False leaves that open.
	EventAlone bool
	// NotSent says that Err kept the event from being sent at all, for no fault
	// of the destination's: it is no sign of that, neither good nor bad. A sender
	// sets it and not EventAlone.
	NotSent bool
	// RetryAfter is how long the destination asks to be left alone. Zero
	// leaves it to the relay's back-off.
	RetryAfter time.Duration
}

// Sender delivers events to one destination.
type Sender interface {
	// Send delivers batch and returns one answer an event, in the same
	// order. It must return soon after ctx is done. The events belong to
	// the caller; Send keeps nothing of them after it returned.
	//
	// Safe for concurrent use.
	Send(ctx context.Context, batch []event.Event) []Answer
}
