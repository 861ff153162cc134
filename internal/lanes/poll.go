package lanes

import (
	"sync"
	"time"
)

// poller says when to look into the table though nobody has poked: soon after a
// look that found something, and ever more rarely after looks that found
// nothing.
type poller struct {
	min, max time.Duration

	mu    sync.Mutex
	timer *time.Timer
	pause time.Duration
	// due says that the timer has fired since the last look.
	due   bool
	ended bool
	poke  func()
}

func newPoller(shortest, longest time.Duration, poke func()) *poller {
	return &poller{min: shortest, max: longest, pause: shortest, poke: poke}
}

// looked notes a look, and schedules the next one. Only a look that was due
// makes the pause longer: those that something else asked for say nothing about
// how often something comes unasked.
func (p *poller) looked(found bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.ended:
		return
	case found:
		p.pause = p.min
	case p.due:
		p.pause = min(2*p.pause, p.max)
	}
	p.due = false
	if p.timer == nil {
		p.timer = time.AfterFunc(p.pause, p.fire)
	} else {
		p.timer.Reset(p.pause)
	}
}

func (p *poller) fire() {
	p.mu.Lock()
	p.due = !p.ended
	p.mu.Unlock()
	p.poke()
}

// end schedules nothing more.
func (p *poller) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	if p.timer != nil {
		p.timer.Stop()
	}
}
