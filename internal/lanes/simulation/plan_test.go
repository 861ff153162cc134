package simulation_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/settleonce/settleonce/internal/lanes/lanestest"
	"github.com/settleonce/settleonce/outbox"
)

// What a schedule's times are measured by.
const (
	chaos      = 30 * time.Second // how long things go wrong
	lease      = 4 * time.Second
	rescan     = 5 * time.Second
	minPoll    = 20 * time.Millisecond
	maxPoll    = 500 * time.Millisecond
	minBackoff = 100 * time.Millisecond
	maxBackoff = 2 * time.Second
	callTime   = 1500 * time.Millisecond // a call to the sender
)

// plan is all that a seed decides beforehand.
type plan struct {
	seed     uint64
	settings settings
	actions  []action
}

// settings are what stays the same through a schedule.
type settings struct {
	relays      int
	keys        int
	concurrency int
	// batches says whether the sender takes several events a call, as batching
	// says.
	batches  bool
	batching outbox.Batching
	holdBack bool

	// calm says that nothing is a reason to deliver an event twice.
	calm bool

	// Probabilities of each call to the table, and to the sender.
	tableFails, tableLoses, tableLate float64
	sendSlow, sendDrop, sendLost      float64
	// eventFails is of each event that arrives, and poison of each event ever.
	eventFails, poison float64
	// damaged is of each row that it is no event until it is mended.
	damaged float64
}

// inOrder says that a failed event fails those behind it in its ordering key.
func (s *settings) inOrder() bool { return s.batches && s.batching.InOrder }

// action is one thing that happens to the world at a moment.
type action struct {
	at   time.Duration
	what string
	do   func(*world)
}

func (p *plan) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "seed %d: %+v\n", p.seed, p.settings)
	for _, a := range p.actions {
		fmt.Fprintf(&text, "%8.3fs %s\n", a.at.Seconds(), a.what)
	}
	return text.String()
}

// planner draws a plan.
type planner struct {
	*rand.Rand
	plan plan
}

func newPlan(seed uint64) *plan {
	p := &planner{Rand: rand.New(rand.NewPCG(seed, 0))}
	p.plan.seed = seed
	p.settle()
	p.puts()
	p.troubles()
	slices.SortStableFunc(p.plan.actions, func(a, b action) int { return int(a.at - b.at) })
	return &p.plan
}

// oneOf returns one of the choices.
func oneOf[T any](p *planner, choices ...T) T { return choices[p.IntN(len(choices))] }

func (p *planner) settle() {
	p.plan.settings = settings{
		relays:      1 + p.IntN(3),
		keys:        1 + p.IntN(6),
		concurrency: 1 + p.IntN(5),
		batches:     p.IntN(3) > 0,
		batching: oneOf(p, outbox.Batching{MaxEvents: 3}, outbox.Batching{MaxEvents: 8},
			outbox.Batching{MaxEvents: 4, InOrder: true}, outbox.Batching{MaxEvents: 16, InOrder: true}),
		holdBack:   p.IntN(4) > 0,
		tableFails: oneOf(p, 0, 0, 0.02, 0.1),
		tableLoses: oneOf(p, 0, 0, 0.02, 0.08),
		tableLate:  oneOf(p, 0, 0, 0.02, 0.05),
		sendSlow:   oneOf(p, 0, 0.1, 0.4),
		sendDrop:   oneOf(p, 0, 0, 0.05),
		sendLost:   oneOf(p, 0, 0, 0.05, 0.2),
		eventFails: oneOf(p, 0, 0.05, 0.3),
		poison:     oneOf(p, 0, 0, 0.05, 0.2),
		damaged:    oneOf(p, 0, 0, 0.05, 0.3),
	}
	if p.IntN(8) == 0 {
		p.beCalm()
	}
}

// beCalm makes a world in which relays come and go and events are refused, and
// in which nothing else happens that would be a reason to deliver one twice.
func (p *planner) beCalm() {
	s := &p.plan.settings
	s.calm = true
	s.tableFails, s.tableLoses, s.tableLate = 0, 0, 0
	s.sendSlow, s.sendDrop, s.sendLost = 0, 0, 0
}

func (p *planner) add(at time.Duration, do func(*world), format string, args ...any) {
	p.plan.actions = append(p.plan.actions, action{at: at, what: fmt.Sprintf(format, args...), do: do})
}

// moment is any within the chaos.
func (p *planner) moment() time.Duration { return time.Duration(p.Int64N(int64(chaos))) }

// upTo is short more often than long.
func (p *planner) upTo(most time.Duration) time.Duration {
	return time.Duration(p.Float64() * p.Float64() * float64(most))
}

// puts draws the transactions.
func (p *planner) puts() {
	for range 5 + p.IntN(12) {
		p.burst(p.moment())
	}
	for range p.IntN(3) {
		open := p.upTo(20 * time.Second)
		p.add(p.moment(), func(w *world) { w.idle(open) }, "somebody else's transaction is open for %v", open)
	}
}

// burst draws some transactions that follow each other closely.
func (p *planner) burst(at time.Duration) {
	for range 1 + p.IntN(6) {
		at += p.upTo(200 * time.Millisecond)
		p.put(at)
	}
}

func (p *planner) put(at time.Duration) {
	keys := make([]int, 1+p.IntN(4)/2)
	for i := range keys {
		keys[i] = p.IntN(p.plan.settings.keys)
	}
	open := oneOf(p, 0, 0, p.upTo(100*time.Millisecond), p.upTo(8*time.Second))
	rollback := p.IntN(12) == 0
	poke := p.IntN(8)
	p.add(at, func(w *world) { w.put(keys, open, rollback, poke) },
		"put keys %d, open for %v, rolled back %v, pokes %d", keys, open, rollback, poke)
}

// troubles draws what goes wrong.
func (p *planner) troubles() {
	troubles := []func(at time.Duration){p.crash, p.pause, p.ambush, p.clocks(), p.tableTrouble, p.destinationTrouble, p.change}
	for range p.IntN(10) {
		if p.plan.settings.calm {
			p.change(p.moment())
			continue
		}
		troubles[p.IntN(len(troubles))](p.moment())
	}
	for range p.IntN(4) {
		p.add(p.moment(), func(w *world) { w.operate() }, "the operator sees to the dead letters")
	}
	for range p.IntN(4) {
		p.add(p.moment(), func(w *world) { w.damage.mendPending() }, "what is pending and no event is mended")
	}
}

// relay returns which of the relays something happens to.
func (p *planner) relay() int { return p.IntN(mostProcesses) }

func (p *planner) crash(at time.Duration) {
	of := p.relay()
	p.add(at, func(w *world) { w.crash(of) }, "relay %d crashes", of)
	p.add(at+p.upTo(6*time.Second), func(w *world) { w.join() }, "a relay joins")
}

// change is what happens on any day.
func (p *planner) change(at time.Duration) {
	of := p.relay()
	p.add(at, func(w *world) { w.leave(of) }, "relay %d leaves", of)
	p.add(at+p.upTo(8*time.Second), func(w *world) { w.join() }, "a relay joins")
}

func (p *planner) pause(at time.Duration) {
	of, stop := p.relay(), p.stop()
	p.add(at, func(w *world) { w.pause(of, stop) }, "relay %d is %v", of, stop)
}

func (p *planner) stop() stop { return stop{lasts: p.upTo(20 * time.Second)} }

// ambush pauses a relay at its next call of a kind.
func (p *planner) ambush(at time.Duration) {
	of := p.relay()
	a := ambush{
		method: oneOf(p, lanestest.Renew, lanestest.Take, lanestest.Give, lanestest.Read, lanestest.ReadOf, lanestest.ReadAt,
			lanestest.Heads, lanestest.HeldBack, lanestest.Delete, lanestest.Bury, sending),
		answered: p.IntN(2) == 0,
		stop:     p.stop(),
	}
	p.add(at, func(w *world) { w.ambush(of, a) }, "relay %d will be %v in its next call of %s, answered %v", of, a.stop, a.method, a.answered)
}

// clocks returns what goes wrong with clocks. One that is set back by as much as
// a suspension took hides it, which is known and documented: a world has the one
// or the other.
func (p *planner) clocks() func(at time.Duration) {
	if p.IntN(2) == 0 {
		return p.suspend
	}
	return p.setBack
}

func (p *planner) suspend(at time.Duration) {
	stop := p.stop()
	stop.asleep = true
	p.stopBusy(at, stop)
}

// setBack sets a wall clock, mostly back, while its process is paused.
func (p *planner) setBack(at time.Duration) {
	stop := p.stop()
	stop.step = time.Duration((p.Float64() - 0.8) * float64(30*time.Second))
	p.stopBusy(at, stop)
}

// stopBusy stops a relay while there is something to send: at any moment, or when
// records were just handed out, so that nothing but the clocks stands between its
// waking and a call to the sender.
func (p *planner) stopBusy(at time.Duration, stop stop) {
	of := p.relay()
	p.burst(at - p.upTo(300*time.Millisecond))
	if p.IntN(2) == 0 {
		p.add(at, func(w *world) { w.pause(of, stop) }, "relay %d is %v", of, stop)
		return
	}
	a := ambush{method: handOut, answered: true, stop: stop}
	p.add(at, func(w *world) { w.ambush(of, a) }, "relay %d will be %v when records are handed out to it", of, stop)
}

func (p *planner) tableTrouble(at time.Duration) {
	of, down := p.relay(), p.upTo(12*time.Second)
	switch p.IntN(3) {
	case 0:
		p.add(at, func(w *world) { w.tableDown(down) }, "the table is down for %v", down)
	case 1:
		p.add(at, func(w *world) { w.cutOff(of, down) }, "relay %d is cut off from the table for %v", of, down)
	case 2:
		p.add(at, func(w *world) { w.tableCrash() }, "the table crashes")
	}
}

func (p *planner) destinationTrouble(at time.Duration) {
	down := p.upTo(6 * time.Second)
	p.add(at, func(w *world) { w.destination.fail(down) }, "the destination is down for %v", down)
}
