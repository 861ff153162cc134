package outbox

import (
	"fmt"
	"time"
)

// outage tells a destination that is down from records that fail. What shows
// that it works ends one: that it proved something of a record, or that it failed
// one for a reason that is the record's alone. A probe that its lease cut off
// shows nothing, and only puts off the next one. It knows no clock. One goroutine
// owns it.
type outage struct {
	// after is how many ordering keys must fail, with no answer in between that
	// shows that the destination works.
	after   int
	backoff backoff
	random  func() float64

	// suspects are the ordering keys that failed since the last such answer.
	suspects map[string]struct{}
	down     bool
	probes   int // that failed in a row, with what took the destination down as one
	probeAt  time.Time
	last     error // of the last suspect
}

func newOutage(after int, b backoff, random func() float64) *outage {
	return &outage{after: after, backoff: b, random: random, suspects: make(map[string]struct{})}
}

// failed notes a failure that may be the destination's. What was sent before the
// destination was down and fails after that is no probe: it is one failure with
// that which took the destination down.
func (o *outage) failed(ordering string, probe bool, now time.Time, retryAfter time.Duration, err error) {
	o.last = err
	switch {
	case o.down && probe:
		o.probes++
	case !o.down:
		o.suspects[ordering] = struct{}{}
		if len(o.suspects) < o.after {
			return
		}
		o.down, o.probes = true, 1
	}
	o.putOff(now, retryAfter)
}

// unanswered notes a probe of which the destination had no time to say anything.
func (o *outage) unanswered(now time.Time) { o.putOff(now, 0) }

// putOff does not bring a probe forward: another answer may have asked for longer.
func (o *outage) putOff(now time.Time, retryAfter time.Duration) {
	at := now.Add(o.backoff.delay(o.probes, retryAfter, o.random()))
	if at.After(o.probeAt) {
		o.probeAt = at
	}
}

// answered notes that the destination works.
func (o *outage) answered() {
	clear(o.suspects)
	o.down, o.probeAt, o.last = false, time.Time{}, nil
}

// err is nil while the destination is not down.
func (o *outage) err() error {
	if !o.down {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrDestinationDown, o.last)
}
