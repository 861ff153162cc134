package simulation_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/settleonce/settleonce/internal/lanes"
	"github.com/settleonce/settleonce/internal/lanes/lanestest"
	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/outbox/event"
)

// ledger knows what was committed and what became of it, and compares each
// thing that happens with what may happen.
type ledger struct {
	world *world

	mu         sync.Mutex
	facts      map[int64]*fact
	lines      map[string][]*fact // by ordering key, in the order of the commits
	calls      []*call            // that are not over
	failedAt   map[restKey]time.Time
	newest     int64 // the highest position that was committed
	violations []string
}

// fact is one committed event.
type fact struct {
	position  int64
	ordering  string
	lane      lanes.Lane
	attempts  []*attempt
	delivered int
	discarded bool
	// aside says that it was a dead letter once.
	aside bool
}

// call is one call to the sender.
type call struct {
	process  *process
	attempts []*attempt
}

// attempt is one event in a call.
type attempt struct {
	call *call
	fact *fact
	// member is the membership that it was made under. Zero: none.
	member int64
	state  attemptState
	// undone says that the table has forgotten what became of it.
	undone bool
}

type attemptState int

const (
	out          attemptState = iota // in the sender
	failed                           // it answered with an error
	acknowledged                     // it answered that the event is delivered
	declined                         // it answered that the event is refused
	unsettled                        // the source could not let go of it
	settled                          // the source has let go of it
)

// restKey is an ordering key as one process sees it.
type restKey struct {
	process  *process
	ordering string
}

func newLedger(w *world) *ledger {
	return &ledger{
		world:    w,
		facts:    make(map[int64]*fact),
		lines:    make(map[string][]*fact),
		failedAt: make(map[restKey]time.Time),
	}
}

// violation notes that something happened that must not.
func (l *ledger) violation(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.violate(format, args...)
}

// violate is violation for a caller that holds mu.
func (l *ledger) violate(format string, args ...any) {
	text := fmt.Sprintf("%.3fs ", l.world.age().Seconds()) + fmt.Sprintf(format, args...)
	l.world.trace("VIOLATION %s", text)
	l.violations = append(l.violations, text)
}

// committed notes the events of a transaction.
func (l *ledger) committed(events []event.Event, positions []int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range events {
		ordering := events[i].Ordering()
		f := &fact{position: positions[i], ordering: ordering, lane: l.world.memory.LaneOf(ordering)}
		if f.position < l.newest {
			l.world.tally.add(belowFrontier, 1)
		}
		l.newest = max(l.newest, f.position)
		l.facts[f.position] = f
		l.lines[ordering] = append(l.lines[ordering], f)
	}
}

// begin notes that a call to the sender begins, and checks that it may. waited
// says that the process was stopped when it was about to begin.
func (l *ledger) begin(p *process, batch []event.Event, waited bool) *call {
	holders := make([]int64, len(batch))
	for i := range batch {
		holders[i] = l.world.memory.HolderOf(l.world.memory.LaneOf(batch[i].Ordering()))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	c := &call{process: p}
	inCall := make(map[string]bool)
	for i := range batch {
		e := &batch[i]
		f := l.facts[e.Position]
		if f == nil {
			l.violate("%s sends an event that was never committed, at position %d", p.name, e.Position)
			f = &fact{position: e.Position, ordering: e.Ordering()}
		}
		if !waited && !p.wasMember(holders[i]) {
			l.violate("%s sends position %d, whose lane is held by member %d: it lost the lane before the call began", p.name, f.position, holders[i])
		}
		l.checkBegin(p, f, inCall)
		if n := len(f.attempts); n > 0 && f.attempts[n-1].member != holders[i] {
			l.world.tally.add(takenOver, 1)
		}
		inCall[f.ordering] = true
		a := &attempt{call: c, fact: f, member: holders[i]}
		c.attempts = append(c.attempts, a)
		f.attempts = append(f.attempts, a)
	}
	l.calls = append(l.calls, c)
	l.world.trace("%s: sends %d", p.name, c.positions())
	return c
}

// checkBegin checks one event of a call that begins.
func (l *ledger) checkBegin(p *process, f *fact, inCall map[string]bool) {
	if inCall[f.ordering] && !l.world.plan.settings.inOrder() {
		l.violate("%s sends two events of %s in one call", p.name, f.ordering)
	}
	for _, c := range l.calls {
		if c.process == p && c.has(f.ordering) {
			l.violate("%s sends position %d while another of its calls has an event of %s", p.name, f.position, f.ordering)
		}
	}
	for _, a := range f.attempts {
		switch {
		case a.state == settled:
			l.violate("%s sends position %d, which %s had delivered and removed", p.name, f.position, a.call.process.name)
		case a.state == acknowledged && a.call.process == p:
			l.violate("%s sends position %d, which was acknowledged to it", p.name, f.position)
		}
	}
	if at, found := l.failedAt[restKey{p, f.ordering}]; found && time.Since(at) < minBackoff/2 {
		l.violate("%s sends position %d only %v after a failure of %s", p.name, f.position, time.Since(at), f.ordering)
	}
}

func (p *process) wasMember(id int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.members[id]
}

func (c *call) has(ordering string) bool {
	return slices.ContainsFunc(c.attempts, func(a *attempt) bool { return a.fact.ordering == ordering })
}

func (c *call) positions() []int64 {
	var positions []int64
	for _, a := range c.attempts {
		positions = append(positions, a.fact.position)
	}
	return positions
}

// arrived notes that the destination took an event, and checks that it was its
// turn: of its ordering key, all that was committed before it is delivered, or
// will never be.
func (l *ledger) arrived(c *call, i int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := c.attempts[i].fact
	f.delivered++
	l.world.trace("%s: position %d arrives, time %d", c.process.name, f.position, f.delivered)
	l.world.tally.add(delivered, 1)
	if f.delivered > 1 {
		l.world.tally.add(repeated, 1)
		if l.world.plan.settings.calm {
			l.violate("%s delivers position %d for the second time, for no reason", c.process.name, f.position)
		}
		return
	}
	goOn := !l.world.plan.settings.holdBack
	if goOn && f.aside {
		return
	}
	for _, earlier := range l.lines[f.ordering] {
		done := earlier.delivered > 0 || earlier.discarded || goOn && earlier.aside
		if earlier.position < f.position && !done {
			l.violate("%s delivers position %d of %s before position %d", c.process.name, f.position, f.ordering, earlier.position)
		}
	}
	for _, later := range l.lines[f.ordering] {
		if later.position > f.position && later.delivered > 0 {
			l.violate("%s delivers position %d of %s after position %d", c.process.name, f.position, f.ordering, later.position)
		}
	}
}

// end notes what the sender answered.
func (l *ledger) end(c *call, answers []outbox.Answer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls = slices.DeleteFunc(l.calls, func(other *call) bool { return other == c })
	broken := make(map[string]bool) // what follows a failure decides nothing
	for i, a := range c.attempts {
		a.state = failed
		switch {
		case answers[i].Err != nil:
		case answers[i].Ack.Kind == outbox.AckRefusal:
			a.state = declined
		default:
			a.state = acknowledged
		}
		rest := restKey{c.process, a.fact.ordering}
		switch {
		case broken[a.fact.ordering]:
		case answers[i].Err != nil:
			broken[a.fact.ordering] = true
			l.failedAt[rest] = time.Now()
		default:
			broken[a.fact.ordering] = answers[i].Ack.Kind == outbox.AckRefusal
			delete(l.failedAt, rest)
		}
	}
	l.world.trace("%s: has sent %d: %s", c.process.name, c.positions(), answersText(answers))
}

func answersText(answers []outbox.Answer) []string {
	var texts []string
	for i := range answers {
		switch {
		case answers[i].Err != nil:
			texts = append(texts, answers[i].Err.Error())
		case answers[i].Ack.Kind == outbox.AckRefusal:
			texts = append(texts, "refused")
		default:
			texts = append(texts, "delivered")
		}
	}
	return texts
}

// removed notes what the source said to a process that is done with records. It
// forgets the ordering keys of those that it has lost, with their rests.
func (l *ledger) removed(p *process, records []outbox.Record, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	state := settled
	if err != nil {
		state = unsettled
		l.world.trace("%s: could not remove %d records: %v", p.name, len(records), err)
		if errors.Is(err, outbox.ErrLeaseLost) {
			l.world.tally.add(fenced, 1)
		} else {
			l.world.tally.add(notSettled, 1)
		}
	}
	for i := range records {
		l.settle(p, &records[i], state)
		if errors.Is(err, outbox.ErrLeaseLost) {
			delete(l.failedAt, restKey{p, records[i].Event.Ordering()})
		}
	}
}

// setAside notes what the source said to a process whose record was refused. It
// may be sent again after that, since an operator may requeue it.
func (l *ledger) setAside(p *process, record outbox.Record, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.settle(p, &record, unsettled)
	l.world.trace("%s: sets %s aside: %v", p.name, record.ID, err)
}

func (l *ledger) settle(p *process, record *outbox.Record, state attemptState) {
	f := l.facts[record.Event.Position]
	if f == nil {
		return
	}
	for _, a := range f.attempts {
		if a.call.process != p || a.state != acknowledged && a.state != declined {
			continue
		}
		a.state = state
		if a.undone {
			a.state = unsettled
		}
	}
}

// wrote checks what a relay did to the table. It is called while the table is
// locked.
func (l *ledger) wrote(write lanestest.Write) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.facts[write.Position]
	if f == nil {
		l.violate("a relay writes position %d, which was never committed", write.Position)
		return
	}
	l.world.trace("member %d writes position %d, buried %v", write.By.ID, write.Position, write.Buried)
	if write.By.ID != write.Holder {
		l.violate("member %d writes position %d, whose lane is held by member %d", write.By.ID, write.Position, write.Holder)
	}
	switch {
	case write.Buried && f.delivered > 0:
		l.violate("member %d buries position %d, which was delivered", write.By.ID, write.Position)
	case write.Buried:
		l.world.tally.add(refused, 1)
		f.aside = true
	case f.delivered == 0:
		l.violate("member %d deletes position %d, which was not delivered", write.By.ID, write.Position)
	}
}

// gave checks that a membership gave up no lane that it used. One whose lease is
// over may: others take its lanes anyway.
func (l *ledger) gave(member int64, given []lanes.Lane) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.checkUnused(member, func(lane lanes.Lane) bool { return slices.Contains(given, lane) })
}

func (l *ledger) left(member int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.checkUnused(member, func(lanes.Lane) bool { return true })
}

func (l *ledger) checkUnused(member int64, given func(lanes.Lane) bool) {
	for _, line := range l.lines {
		for _, f := range line {
			if !given(f.lane) {
				continue
			}
			for _, a := range f.attempts {
				if a.member == member && (a.state == out || a.state == acknowledged) && a.call.process.sureOfLease() {
					l.violate("member %d gives up the lane of position %d, which %s has not done with", member, f.position, a.call.process.name)
				}
			}
		}
	}
}

// restored notes what came back when the table crashed.
func (l *ledger) restored(positions []int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, position := range positions {
		for _, a := range l.facts[position].attempts {
			a.undone = true // Its answer may still be on its way.
			if a.state == settled {
				a.state = unsettled
			}
		}
	}
}

func (l *ledger) discarded(position int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.facts[position].discarded = true
}

// busy reports whether any call is out.
func (l *ledger) busy() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.calls) > 0
}

// close checks what must hold in the end, and returns all that was found.
func (l *ledger) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.lines {
		for _, f := range line {
			if f.delivered == 0 && !f.discarded {
				l.violate("position %d of %s is lost: neither delivered nor discarded", f.position, f.ordering)
			}
		}
	}
	var errs []error
	for _, text := range l.violations {
		errs = append(errs, errors.New(text))
	}
	return errors.Join(errs...)
}
