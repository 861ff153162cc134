package outboxtest

import (
	"errors"
	"time"

	"github.com/settleonce/settleonce/outbox"
)

// ErrUnavailable is what a faulty [Sender] answers where a fault says nothing
// else.
var ErrUnavailable = errors.New("outboxtest: the destination is not available")

// ErrBehindFailed is what a [Sender] whose batches are InOrder answers for an
// event behind one of its ordering key that was not taken.
var ErrBehindFailed = errors.New("outboxtest: an earlier event of the ordering key was not taken")

// Fault says what goes wrong with one attempt. The zero Fault is none.
type Fault struct {
	// Err is the answer; the destination did not take the event.
	Err error
	// EventAlone, NotSent and RetryAfter go with Err.
	EventAlone bool
	NotSent    bool
	RetryAfter time.Duration
	// Lost: the destination took the event, and its answer was lost.
	Lost bool
	// Bare: somebody answered without a proof, and the destination saw
	// nothing.
	Bare bool
	// Published: a broker's acknowledgement instead of a receipt.
	Published bool
	// Refuse is the reason of a receiver's refusal. Empty: no refusal.
	Refuse string
	// Reject is the reason of a rejection without a receiver's document.
	// Empty: none.
	Reject string
	// Change alters the answer on its way back.
	Change func(*outbox.Ack)
	// Overtakes: the destination takes the event although an earlier one of
	// its ordering key in the same call was not taken, which it declared not
	// to do.
	Overtakes bool
	// Panic: the sender panics instead of answering. What stands before the
	// event in its call was taken.
	Panic bool
	// Exit: the sender ends its goroutine (runtime.Goexit), as for Panic.
	Exit bool
	// Answers is how many answers come for one event. Zero means one.
	// Negative means none.
	Answers int
	// Stall: the answer doesn't come before the context is done, nor does
	// that of any event behind it in the call.
	Stall bool
	// Hold: the destination takes the event once this channel is closed,
	// whatever the context does meanwhile.
	Hold <-chan struct{}
}
