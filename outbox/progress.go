package outbox

import (
	"sync"
	"time"
)

// progress is what a relay tells of itself to whoever asks. It is written by
// the calls and by the goroutine of Run, and read from anywhere. Its mutex is
// held over nothing that waits.
type progress struct {
	mu         sync.Mutex
	counts     Counts
	delivered  meter
	backlog    backlog
	remembered *remembered
	state      state
}

// state is where the relay stands.
type state struct {
	running bool
	calls   int
	pace    int
	out     int
	atHand  int
	resting int
	// down is why the destination counts as down. Nil: it doesn't.
	down error
	// fetching and settling are why the source hands out nothing, or can't let
	// go of what was delivered.
	fetching error
	settling error
}

func newProgress(remember int, now time.Time) *progress {
	return &progress{delivered: meter{began: now}, remembered: newRemembered(remember)}
}

// count takes in a call that is over.
func (p *progress) count(c *call, o Observation, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts.add(o)
	p.delivered.add(now, o.Delivered)
	for i := range c.attempts {
		a := &c.attempts[i]
		if a.fate != removed {
			continue
		}
		p.remembered.add(a.line.ordering, Acknowledged{
			RecordID: a.record.ID,
			EventID:  a.record.Event.ID,
			Position: a.record.Event.Position,
			Time:     c.settled,
		})
	}
}

// set takes in where the run stands.
func (p *progress) set(s state) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.state = s
}

func (p *progress) get() state {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.state
}

// LastAcknowledged returns the last event of an ordering key, as
// [event.Event.Ordering] names it, that this relay delivered. False: none since
// [NewRelay], or it was so long ago that it is forgotten
// ([RelayConfig.Remember]), or another relay delivered it. What the source has
// pending of the same ordering key comes after it, except for what was requeued
// and what a crash brought back.
//
// Safe for concurrent use, also beside Run.
func (r *Relay) LastAcknowledged(ordering string) (Acknowledged, bool) {
	r.progress.mu.Lock()
	defer r.progress.mu.Unlock()
	return r.progress.remembered.of(ordering)
}
