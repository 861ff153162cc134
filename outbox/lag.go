package outbox

import (
	"context"
	"time"
)

// Lag says how far behind a source's deliveries are.
type Lag struct {
	// Pending counts the records that are to be delivered, what is held back
	// included. Where Exact is false there are at least so many.
	Pending int64
	Exact   bool
	// Oldest is when the oldest pending record was added, and Age how long ago
	// that is, both by the source's clock. Zero: none is pending.
	Oldest time.Time
	Age    time.Duration
	// DeadLetters counts those that are neither requeued nor discarded, and
	// HeldBack the ordering keys that wait for one.
	DeadLetters int64
	HeldBack    int64
}

// LagSource is a [Source] that knows its [Lag].
type LagSource interface {
	Source

	// Lag returns the lag at one moment, of everything that relays share, not
	// of one relay's part alone.
	Lag(ctx context.Context) (Lag, error)
}
