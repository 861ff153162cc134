package outbox

import (
	"context"
	"time"

	"github.com/settleonce/settleonce/internal/panictext"
)

// account counts what became of a call, and tells the observer.
func (r *Relay) account(ctx context.Context, c *call) {
	o := c.observation()
	if o.Events == 0 {
		return
	}
	r.progress.count(c, o, r.now())
	if r.cfg.Observer == nil {
		return
	}
	defer func() {
		if value := recover(); value != nil {
			r.cfg.Logger.Error("outbox: the observer panicked", "error", panictext.Of(value))
		}
	}()
	r.cfg.Observer.Observe(ctx, o)
}

// observation counts the fates of the attempts that were sent.
func (c *call) observation() Observation {
	o := Observation{Send: c.send, Settle: c.settle, Down: c.down}
	var oldest time.Time
	for i := range c.attempts {
		a := &c.attempts[i]
		if !a.sent {
			continue
		}
		o.Events++
		switch a.fate {
		case removed:
			o.Delivered++
			if oldest.IsZero() || a.record.Added.Before(oldest) {
				oldest = a.record.Added
			}
		case aside:
			o.Refused++
		case unsettled:
			o.Unsettled++
		case lost:
			o.Lost++
		case kept, returned:
			o.Failed++
		case forgotten: // never sent
		}
	}
	if !oldest.IsZero() {
		o.Age = max(0, c.settled.Sub(oldest))
	}
	return o
}
