package outbox

import (
	"math/bits"
	"time"
)

const (
	// firstCalls is how many calls a relay begins with.
	firstCalls = 4
	// muchSlower is by what factor an answer must be later than usual for the
	// pace to stay as it is, if it is also later by slowerBy: among answers
	// that take microseconds, a factor says nothing.
	muchSlower = 2
	slowerBy   = 5 * time.Millisecond
)

// pace is how many calls may be out at once, so that a backlog that drains
// doesn't drown the destination. It rises by one with each success until
// something first fails, and then by one with each round of successes. A
// failure halves it, but the calls that were already out then count no more:
// one bad moment is one failure. It knows no clock. One goroutine owns it.
type pace struct {
	most int
	// limit is the number of calls. Its fraction is what counts up to the next
	// one.
	limit float64
	// round rises with each halving.
	round int
	// usual is how long an answer takes, by the number of bits in the number
	// of the call's events: a larger call takes longer by right.
	usual [bits.UintSize + 1]time.Duration
}

func newPace(most int) *pace {
	return &pace{most: most, limit: float64(min(firstCalls, most))}
}

// calls returns how many calls may be out at once, from 1 to most.
func (p *pace) calls() int { return int(p.limit) }

// succeeded notes a call of the given round. used says that as many calls were
// out as may be: a pace that nobody needed proves nothing about a higher one.
func (p *pace) succeeded(round, events int, took time.Duration, used bool) {
	slower := p.isSlower(events, took)
	if slower || !used || round != p.round {
		return
	}
	step := 1.0
	if p.round > 0 {
		step /= p.limit
	}
	p.limit = min(p.limit+step, float64(p.most))
}

// isSlower compares an answer with what is usual, and then lets it count: what
// is faster counts soon, and what is slower only if it lasts.
func (p *pace) isSlower(events int, took time.Duration) bool {
	usual := &p.usual[bits.Len(uint(events))]
	if *usual == 0 {
		*usual = took
		return false
	}
	slower := took > muchSlower**usual && took > *usual+slowerBy
	if took < *usual {
		*usual += (took - *usual) / 4
	} else {
		*usual += (took - *usual) / 64
	}
	return slower
}

// failed notes a call of the given round that failed as a whole.
func (p *pace) failed(round int) {
	if round == p.round {
		p.limit = max(1, p.limit/2)
		p.round++
	}
}
