package simulation_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/outbox/event"
)

var (
	errUnavailable = errors.New("simulation: the destination does not answer")
	errRejected    = errors.New("simulation: not this time")
)

// sender is a process's way to the destination: a network that is slow, drops
// calls, delivers them after their caller has given up, and loses answers.
type sender struct{ process *process }

// batchSender is a sender that takes several events a call.
type batchSender struct {
	outbox.Sender
	batching outbox.Batching
}

// Batching implements [outbox.BatchSender].
func (s batchSender) Batching() outbox.Batching { return s.batching }

func (p *process) sender() outbox.Sender {
	made := p.world.mutation.senderOf(sender{p})
	if settings := &p.world.plan.settings; settings.batches {
		batching := settings.batching
		batching.InOrder = batching.InOrder || p.world.mutation.declaresOrder
		return batchSender{made, batching}
	}
	return made
}

// Send implements [outbox.Sender].
func (s sender) Send(ctx context.Context, batch []event.Event) []outbox.Answer {
	p, w := s.process, s.process.world
	// A process that was stopped before its first byte was in the call all the
	// same: its last look at the clock came before.
	waited, err := p.pass()
	if err != nil {
		return allFailed(batch, err)
	}
	c := w.ledger.begin(p, batch, waited)
	p.at(sending, false)
	answers := s.exchange(ctx, c, batch)
	p.at(sending, true)
	if waited, err := p.pass(); err != nil {
		answers = allFailed(batch, err)
	} else if waited {
		w.tally.add(stoppedInSender, 1)
	}
	w.ledger.end(c, answers)
	return answers
}

// exchange carries the call to the destination and its answers back.
func (s sender) exchange(ctx context.Context, c *call, batch []event.Event) []outbox.Answer {
	w, name := s.process.world, fmt.Sprintf("%s sends %d", s.process.name, batch[0].Position)
	there := w.dice.between(name+" there", time.Millisecond, 20*time.Millisecond)
	if !w.healed() && w.dice.chance(name+" slow", w.plan.settings.sendSlow) {
		there = w.dice.between(name+" slowly", 20*time.Millisecond, 2*callTime)
	}
	if !w.healed() && w.dice.chance(name+" drop", w.plan.settings.sendDrop) {
		<-ctx.Done()
		return allFailed(batch, ctx.Err())
	}
	back := w.dice.between(name+" back", time.Millisecond, 10*time.Millisecond)
	lost := !w.healed() && w.dice.chance(name+" lost", w.plan.settings.sendLost)
	recalled := w.dice.chance(name+" recalled", 0.5) // if the caller gives up
	var givenUp atomic.Bool
	answered := make(chan []outbox.Answer, 1)
	w.background.Go(func() {
		w.sleep(there)
		if givenUp.Load() {
			if recalled {
				return
			}
			w.tally.add(lateArrivals, 1)
		}
		answers := w.destination.take(c, batch)
		if w.mutation.deliversTwice {
			answers = w.destination.take(c, batch)
		}
		w.sleep(back)
		answered <- answers
	})
	select {
	case answers := <-answered:
		if lost {
			return allFailed(batch, errLost)
		}
		return answers
	case <-ctx.Done():
		givenUp.Store(true)
		return allFailed(batch, ctx.Err())
	}
}

func allFailed(batch []event.Event, err error) []outbox.Answer {
	answers := make([]outbox.Answer, len(batch))
	for i := range answers {
		answers[i].Err = err
	}
	return answers
}

// destination takes events, most of the time.
type destination struct {
	world *world

	mu        sync.Mutex
	downUntil time.Time
	cured     map[int64]bool // the positions that were poison
}

// fail lets the destination be down for a while.
func (d *destination) fail(down time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.downUntil = time.Now().Add(down)
}

func (d *destination) heal() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.downUntil = time.Time{}
}

// cure lets the destination take an event that it refused.
func (d *destination) cure(position int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cured[position] = true
}

// poison reports whether an event is refused.
func (d *destination) poison(e *event.Event) bool {
	share := d.world.plan.settings.poison
	if share == 0 {
		return false
	}
	lot := float64(mix(d.world.plan.seed^uint64(e.Position))>>11) / (1 << 53)
	return lot < share && !d.cured[e.Position]
}

// take is a call that arrives.
func (d *destination) take(c *call, batch []event.Event) []outbox.Answer {
	d.mu.Lock()
	defer d.mu.Unlock()
	if time.Now().Before(d.downUntil) {
		return allFailed(batch, errUnavailable)
	}
	inOrder := d.world.plan.settings.inOrder()
	broken := make(map[string]bool)
	answers := make([]outbox.Answer, len(batch))
	for i := range batch {
		e := &batch[i]
		answers[i] = d.takeOne(c, i, e, inOrder && broken[e.Ordering()] && !d.world.mutation.breaksOrder)
		broken[e.Ordering()] = broken[e.Ordering()] || answers[i].Ack.Kind != outbox.AckReceipt
	}
	return answers
}

// takeOne is one event that arrives. broken says that one before it in its
// ordering key failed. The caller holds mu.
func (d *destination) takeOne(c *call, i int, e *event.Event, broken bool) outbox.Answer {
	w, name := d.world, fmt.Sprintf("position %d", e.Position)
	switch {
	case broken:
		return outbox.Answer{Err: errRejected}
	case d.poison(e):
		return outbox.Answer{Ack: outbox.Ack{Kind: outbox.AckRefusal, Key: e.Key, Fingerprint: e.Fingerprint, Reason: "poison"}}
	case !w.healed() && w.dice.chance(name+" fails", w.plan.settings.eventFails):
		return outbox.Answer{Err: errRejected, EventAlone: w.dice.chance(name+" fails alone", 0.5)}
	default:
		w.ledger.arrived(c, i)
		return outbox.Answer{Ack: outbox.Ack{Kind: outbox.AckReceipt, Key: e.Key, Fingerprint: e.Fingerprint}}
	}
}
