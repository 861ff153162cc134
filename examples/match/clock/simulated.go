package clock

import (
	"slices"
	"sync"
	"time"
)

// Simulated is a clock that stands still until [Simulated.Advance] or
// [Simulated.Run] moves it. Functions run on the goroutine that moves the
// clock, in the order of their times, so that a simulation repeats exactly.
type Simulated struct {
	mu     sync.Mutex
	now    time.Time
	alarms []*alarm // by time, then by order of AfterFunc
}

type alarm struct {
	at time.Time
	f  func()
}

var _ Clock = (*Simulated)(nil)

// NewSimulated returns a clock that shows start.
func NewSimulated(start time.Time) *Simulated { return &Simulated{now: start} }

// Now returns the time to which the clock was moved.
func (c *Simulated) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// AfterFunc calls f when the clock is moved past d from now. A d of zero or
// less waits for the next move too.
func (c *Simulated) AfterFunc(d time.Duration, f func()) (stop func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	set := &alarm{at: c.now.Add(max(d, 0)), f: f}
	place := len(c.alarms)
	for place > 0 && c.alarms[place-1].at.After(set.at) {
		place--
	}
	c.alarms = slices.Insert(c.alarms, place, set)
	return func() { c.remove(set) }
}

func (c *Simulated) remove(set *alarm) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := slices.Index(c.alarms, set); i >= 0 {
		c.alarms = slices.Delete(c.alarms, i, i+1)
	}
}

// Advance moves the clock by d and calls what comes due on the way, at the
// time for which it was set.
func (c *Simulated) Advance(d time.Duration) {
	until := c.Now().Add(d)
	for {
		due := c.next(until)
		if due == nil {
			return
		}
		due.f()
	}
}

// Run moves the clock from alarm to alarm until none is left.
func (c *Simulated) Run() {
	for {
		c.mu.Lock()
		if len(c.alarms) == 0 {
			c.mu.Unlock()
			return
		}
		until := c.alarms[0].at
		c.mu.Unlock()
		if due := c.next(until); due != nil {
			due.f()
		}
	}
}

// next takes the first alarm up to until and moves the clock to it, or to
// until where there is none.
func (c *Simulated) next(until time.Time) *alarm {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.alarms) == 0 || c.alarms[0].at.After(until) {
		c.now = until
		return nil
	}
	due := c.alarms[0]
	c.alarms = c.alarms[1:]
	c.now = due.at
	return due
}
