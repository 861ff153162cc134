package lanes

import "time"

// Clock tells the time by two clocks at once, because each can stand still or
// jump where the other goes on: a monotonic clock stops while the machine is
// suspended, and a wall clock is set back and forth.
//
// It judges what has passed: leases, and what a query took. What wakes the
// goroutines that poll, renew and look are timers of package time, which run by
// the process's monotonic clock. One that comes late, as after a suspension,
// delays work; it never makes a lease last longer.
//
// Safe for concurrent use.
type Clock interface {
	// Now returns the time by both clocks.
	Now() Instant
}

// Instant is a moment by two clocks.
type Instant struct {
	// Wall has no monotonic reading.
	Wall time.Time
	// Monotonic is the time since a moment that stays the same for the life of
	// the process. It never goes back.
	Monotonic time.Duration
}

// systemClock is the process's own two clocks.
type systemClock struct {
	now   func() time.Time
	start time.Time
}

var _ Clock = systemClock{}

func newSystemClock() systemClock {
	clock := systemClock{
		now: time.Now,
	}
	clock.start = clock.now()
	return clock
}

// Now implements [Clock].
func (c systemClock) Now() Instant {
	now := c.now()
	return Instant{Wall: now.Round(0), Monotonic: now.Sub(c.start)}
}
