package outbox

import (
	"math"
	"time"
)

// burstSpan is for how long a limit saves up what was not used.
const burstSpan = 100 * time.Millisecond

// longestWait is after what time a limit is asked again at the latest. A wait
// for one event at a very low rate has no Duration.
const longestWait = 24 * time.Hour

// limit bounds events a second: a bucket that fills at the rate and holds what
// burstSpan brings, but at least one event. One that ran dry opens again when
// it is half full, so that a high rate makes few large calls instead of many
// small ones. It knows no clock. One goroutine owns it.
type limit struct {
	rate  float64 // events a second; 0 is no limit
	burst float64
	has   float64
	at    time.Time
	dry   bool
}

func newLimit(rate float64, now time.Time) *limit {
	burst := max(1, rate*burstSpan.Seconds())
	return &limit{rate: rate, burst: burst, has: burst, at: now}
}

// room returns how many events may be sent now.
func (l *limit) room(now time.Time) int {
	if l.rate == 0 {
		return math.MaxInt
	}
	if passed := now.Sub(l.at); passed > 0 {
		l.has = min(l.burst, l.has+l.rate*passed.Seconds())
		l.at = now
	}
	if l.has < l.opensAt() {
		return 0
	}
	l.dry = false
	return int(min(l.has, math.MaxInt32)) // No call has so many.
}

// opensAt is what the bucket must hold for anything to be sent.
func (l *limit) opensAt() float64 {
	if l.dry {
		return max(1, l.burst/2)
	}
	return 1
}

// spend notes that events, no more than there was room for, are sent.
func (l *limit) spend(events int) {
	if l.rate == 0 {
		return
	}
	l.has -= float64(events)
	l.dry = l.has < 1
}

// next returns when there is room again, as of the last call of room.
func (l *limit) next() time.Time {
	if l.rate == 0 {
		return l.at
	}
	missing := max(0, l.opensAt()-l.has)
	wait := min(missing/l.rate, longestWait.Seconds())
	// A nanosecond more than the division says, so that the bucket is never
	// short by a rounding error.
	return l.at.Add(time.Duration(wait*float64(time.Second)) + 1)
}
