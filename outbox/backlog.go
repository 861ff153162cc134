package outbox

import (
	"math"
	"time"
)

const (
	// backlogSpan is over how long the trend of a backlog is measured.
	backlogSpan = time.Minute
	// backlogStep is how far apart samples are at least, and the shortest span
	// that says anything.
	backlogStep = time.Second
	// never is the time to drain of a backlog that does not shrink.
	never = time.Duration(math.MaxInt64)
)

// backlog tells from samples of what is pending how fast it grows or shrinks.
// It knows no clock.
type backlog struct {
	samples []backlogSample // a step apart at least; the first is the base
}

type backlogSample struct {
	at      time.Time
	pending int64
	gone    int64 // how many this relay has taken out by then
}

// trend is what two samples come to.
type trend struct {
	// span is what lies between them. Zero: there is nothing to compare yet.
	span time.Duration
	// arrivals is how many a second were added.
	arrivals float64
	// shrinks is by how many a second the backlog got smaller.
	shrinks float64
}

// sample takes in one moment and compares it with that of a minute ago, or the
// nearest to it that there is.
func (b *backlog) sample(now backlogSample) trend {
	for len(b.samples) > 1 && now.at.Sub(b.samples[1].at) >= backlogSpan {
		b.samples = b.samples[1:]
	}
	if n := len(b.samples); n == 0 || now.at.Sub(b.samples[n-1].at) >= backlogStep {
		b.samples = append(b.samples, now)
	}
	base := b.samples[0]
	span := now.at.Sub(base.at)
	if span < backlogStep {
		return trend{}
	}
	grown := float64(now.pending - base.pending)
	gone := float64(now.gone - base.gone)
	return trend{
		span:     span,
		arrivals: max(0, (grown+gone)/span.Seconds()),
		shrinks:  -grown / span.Seconds(),
	}
}

// timeToDrain returns how long pending records last if shrinks goes on.
func timeToDrain(pending int64, shrinks float64) time.Duration {
	if pending == 0 {
		return 0
	}
	seconds := float64(pending) / shrinks
	if shrinks <= 0 || seconds >= never.Seconds() {
		return never
	}
	return time.Duration(seconds * float64(time.Second))
}
