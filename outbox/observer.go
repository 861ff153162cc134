package outbox

import (
	"context"
	"time"
)

// Observer hears of every call that a [Relay] makes to its sender, on the
// goroutine that made it, so it should be quick. It gets no payload and no key.
type Observer interface {
	// Observe is called once a call to the sender, when what became of its
	// events has been told to the source. What it panics with is logged, and
	// changes nothing else.
	Observe(ctx context.Context, o Observation)
}

// Observation is what one call to the sender came to.
type Observation struct {
	// Events is how many were sent: the sum of the five that follow.
	Events int
	// Delivered, Refused and Failed count events by what their answers proved.
	Delivered int
	Refused   int
	Failed    int
	// Unsettled counts those that were delivered or refused and that the
	// source could not let go of, so that they are sent again.
	Unsettled int
	// Lost counts those that were another relay's by then.
	Lost int
	// Age is how long ago the oldest of the delivered ones was added, by the
	// relay's clock. Zero: none was delivered.
	Age time.Duration
	// Send is the time in the sender, Settle the time in the source after it.
	Send   time.Duration
	Settle time.Duration
	// Down says that the destination counted as down when the call began.
	Down bool
}
