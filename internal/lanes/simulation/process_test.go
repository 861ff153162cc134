package simulation_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/settleonce/settleonce/internal/lanes"
	"github.com/settleonce/settleonce/internal/lanes/lanestest"
	"github.com/settleonce/settleonce/outbox"
)

// condition is what a process is in.
type condition int

const (
	running condition = iota
	stopped           // by SIGSTOP, or with the whole machine
	dead
)

var (
	errDead   = errors.New("simulation: the process is dead")
	errOutage = errors.New("simulation: the table does not answer")
	errLost   = errors.New("simulation: the answer was lost")
)

// process is one relay process: a clock, a source over the table and a relay
// over that. All that crosses its border passes a gate. One that is stopped
// stands still there, and its clocks show what they showed when it was stopped:
// its goroutines may still run, but see nothing of the time and move nothing.
// One that is dead gets errors there, and nobody hears of it any more.
type process struct {
	world *world
	name  string
	born  time.Time

	clock  lanes.Clock
	source *lanes.Source
	relay  *outbox.Relay
	cancel context.CancelFunc
	ended  chan struct{} // closed when Run has returned

	leaving atomic.Bool

	mu        sync.Mutex
	condition condition
	wake      chan struct{} // closed when a stop ends
	stoppedAt time.Time
	drowsy    bool          // it is stopped with the whole machine
	frozen    lanes.Instant // what the clocks show while it is stopped
	asleep    time.Duration // what its monotonic clock missed
	stepped   time.Duration // how far its wall clock is off
	cutUntil  time.Time
	ambush    *ambush        // nil: none waits
	renewed   time.Time      // when the last renewal was sent whose answer came
	members   map[int64]bool // every membership that it ever had
}

// start lets a process run.
func (w *world) start() {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := &process{
		world:   w,
		name:    fmt.Sprintf("relay %d", len(w.processes)),
		born:    time.Now(),
		ended:   make(chan struct{}),
		members: make(map[int64]bool),
	}
	p.clock = w.mutation.clockOf(p)
	quiet := slog.New(slog.DiscardHandler)
	cfg := lanes.Config{
		Table:    w.mutation.tableOf(w, &lanestest.Gated{Table: witness{Memory: w.memory, process: p}, Around: p.aroundTable}),
		Lease:    lease,
		MinPoll:  minPoll,
		MaxPoll:  maxPoll,
		Rescan:   rescan,
		HoldBack: w.plan.settings.holdBack,
		Clock:    p.clock,
		Random:   func() float64 { return w.dice.roll(p.name + " random") },
		Logger:   quiet,
	}
	w.mutation.configure(&cfg)
	var err error
	if p.source, err = lanes.New(cfg); err != nil {
		panic(err) // The configuration is the simulation's own.
	}
	p.relay, err = outbox.NewRelay(outbox.RelayConfig{
		Source:         w.mutation.sourceOf(&border{LeasedSource: p.source, process: p}),
		Sender:         p.sender(),
		Concurrency:    w.plan.settings.concurrency,
		AttemptTimeout: callTime,
		MinBackoff:     minBackoff,
		MaxBackoff:     maxBackoff,
		DownAfter:      3,
		Random:         func() float64 { return w.dice.roll(p.name + " back-off") },
		Logger:         quiet,
	})
	if err != nil {
		panic(err) // As above.
	}
	ctx, cancel := context.WithCancel(context.Background())
	p.cancel = cancel
	w.processes = append(w.processes, p)
	go func() {
		defer close(p.ended)
		if err := p.relay.Run(ctx); err != nil {
			w.ledger.violation("%s: Run returned %v", p.name, err)
		}
	}()
}

// end stops a process for good, as a signal to terminate does.
func (p *process) end() {
	p.cancel()
	<-p.ended
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	sure := p.world.healedFor() > lease && p.sureOfLease()
	err := p.source.Close(ctx)
	if err != nil && sure {
		p.world.ledger.violation("%s: Close returned %v though nothing is wrong", p.name, err)
	}
}

// kill cuts a process off. What is left of it in memory ends unheard.
func (p *process) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.condition == stopped {
		close(p.wake)
	}
	p.condition = dead
}

// mend ends what is wrong with a process, but for its death.
func (p *process) mend() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cutUntil, p.ambush = time.Time{}, nil
	if p.condition == stopped {
		p.resume()
	}
}

// resume ends a stop. The caller holds mu.
func (p *process) resume() {
	if p.drowsy {
		p.asleep += time.Since(p.stoppedAt)
	}
	p.condition = running
	close(p.wake)
}

// stop is what a process does not notice but by its clocks.
type stop struct {
	lasts time.Duration
	// asleep says that the whole machine stands still, and its monotonic clock
	// with it.
	asleep bool
	// step is by how much its wall clock is set meanwhile.
	step time.Duration
}

func (s stop) String() string {
	switch {
	case s.asleep:
		return fmt.Sprintf("suspended for %v", s.lasts)
	case s.step != 0:
		return fmt.Sprintf("paused for %v, its wall clock set by %v", s.lasts, s.step)
	default:
		return fmt.Sprintf("paused for %v", s.lasts)
	}
}

// stop stops a running process for a while.
func (p *process) stop(s stop) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.condition != running {
		return
	}
	p.frozen, p.stoppedAt, p.drowsy = p.instant(), time.Now(), s.asleep
	p.stepped += s.step
	p.condition = stopped
	wake := make(chan struct{})
	p.wake = wake
	p.world.background.Go(func() {
		p.world.sleep(s.lasts)
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.condition == stopped && p.wake == wake {
			p.resume()
		}
	})
}

// ambush is a stop that waits for a process to make a certain call.
type ambush struct {
	method lanestest.Method
	// answered says that it comes when the call has taken effect.
	answered bool
	stop     stop
}

// What an ambush may wait for that is no method of the table: calls to the sender,
// and those of Next that hand out records.
const (
	sending lanestest.Method = "Send"
	handOut lanestest.Method = "Next"
)

// at is a moment of a call at which an ambush may wait.
func (p *process) at(method lanestest.Method, answered bool) {
	p.mu.Lock()
	waiting := p.ambush
	sprung := waiting != nil && waiting.method == method && waiting.answered == answered
	if sprung {
		p.ambush = nil
	}
	p.mu.Unlock()
	if sprung {
		p.world.trace("%s: is %v in %s", p.name, waiting.stop, method)
		p.stop(waiting.stop)
	}
}

func (p *process) is() condition {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.condition
}

// pass lets a running process through. It reports whether it had to wait.
func (p *process) pass() (waited bool, err error) {
	for {
		p.mu.Lock()
		is, wake := p.condition, p.wake
		p.mu.Unlock()
		switch is {
		case dead:
			return waited, errDead
		case running:
			return waited, nil
		case stopped:
			<-wake
			waited = true
		}
	}
}

// Now implements [lanes.Clock].
func (p *process) Now() lanes.Instant {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.condition == stopped {
		return p.frozen
	}
	return p.instant()
}

// instant is what the clocks show. The caller holds mu.
func (p *process) instant() lanes.Instant {
	now := time.Now()
	return lanes.Instant{Wall: now.Add(p.stepped).Round(0), Monotonic: now.Sub(p.born) - p.asleep}
}

// aroundTable carries the process's calls to the table and back.
func (p *process) aroundTable(ctx context.Context, method lanestest.Method, call func(context.Context) error) error {
	w := p.world
	if _, err := p.pass(); err != nil {
		return err
	}
	sent := time.Now()
	name := p.name + " " + string(method)
	w.sleep(w.dice.between(name+" there", 100*time.Microsecond, 3*time.Millisecond))
	if err := p.reach(ctx, name); err != nil {
		return err
	}
	if !w.healed() && w.dice.chance(name+" late", w.plan.settings.tableLate) {
		return w.late(ctx, name, call)
	}
	p.at(method, false)
	if _, dead := p.pass(); dead != nil {
		return dead
	}
	err := call(ctx)
	p.at(method, true)
	if _, dead := p.pass(); dead != nil {
		return dead
	}
	w.sleep(w.dice.between(name+" back", 100*time.Microsecond, 3*time.Millisecond))
	if _, dead := p.pass(); dead != nil {
		return dead
	}
	if err == nil && !w.healed() && w.dice.chance(name+" loses", w.plan.settings.tableLoses) {
		w.trace("%s: the answer is lost", name)
		return errLost
	}
	if err == nil && (method == lanestest.Join || method == lanestest.Renew) {
		p.mu.Lock()
		p.renewed = sent
		p.mu.Unlock()
	}
	return err
}

// sureOfLease reports whether the process has no reason to take its lease for
// over: it was renewed lately, and nobody set its clock.
func (p *process) sureOfLease() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.condition == running && p.stepped == 0 && time.Since(p.renewed) < lease/2
}

// reach is nil where a call gets to the table.
func (p *process) reach(ctx context.Context, name string) error {
	w := p.world
	if _, dead := p.pass(); dead != nil {
		return dead
	}
	if until := p.outage(); time.Now().Before(until) {
		if w.dice.chance(name+" hangs", 0.3) {
			w.sleepUnless(ctx, time.Until(until))
		} else {
			w.sleep(w.dice.between(name+" refused", time.Millisecond, 20*time.Millisecond))
		}
		return errOutage
	}
	if !w.healed() && w.dice.chance(name+" fails", w.plan.settings.tableFails) {
		return errOutage
	}
	return nil
}

// outage returns until when the table is out of reach.
func (p *process) outage() time.Time {
	until := p.world.tableDownUntil()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cutUntil.After(until) {
		return p.cutUntil
	}
	return until
}

// late lets a call take effect after its caller has given up.
func (w *world) late(ctx context.Context, name string, call func(context.Context) error) error {
	delay := w.dice.between(name+" delay", 10*time.Millisecond, 8*time.Second)
	w.background.Go(func() {
		w.sleep(delay)
		w.tally.add(late, 1)
		err := call(context.WithoutCancel(ctx))
		w.trace("%s: took effect late: %v", name, err)
	})
	w.sleepUnless(ctx, w.dice.between(name+" patience", time.Millisecond, 3*time.Second))
	return errLost
}

// witness sees what a process's calls do to the table.
type witness struct {
	*lanestest.Memory
	process *process
}

// Join implements [lanes.Table].
func (t witness) Join(ctx context.Context, lease time.Duration) (lanes.Ticket, error) {
	ticket, err := t.Memory.Join(ctx, lease)
	if err == nil {
		t.process.mu.Lock()
		t.process.members[ticket.ID] = true
		t.process.mu.Unlock()
		t.process.world.trace("%s: joins as %+v", t.process.name, ticket)
	}
	return ticket, err
}

// Take implements [lanes.Table].
func (t witness) Take(ctx context.Context, ticket lanes.Ticket, limit int) ([]lanes.Lane, error) {
	taken, err := t.Memory.Take(ctx, ticket, limit)
	t.process.world.trace("%s: as %+v takes %d lanes: %v", t.process.name, ticket, len(taken), err)
	return taken, err
}

// Give implements [lanes.Table].
func (t witness) Give(ctx context.Context, ticket lanes.Ticket, given []lanes.Lane) (lanes.Ticket, error) {
	next, err := t.Memory.Give(ctx, ticket, given)
	t.process.world.tally.add(givenUp, len(given))
	t.process.world.trace("%s: as %+v gives %d lanes: %v", t.process.name, ticket, len(given), err)
	if err == nil {
		t.process.world.ledger.gave(ticket.ID, given)
	}
	return next, err
}

// Leave implements [lanes.Table].
func (t witness) Leave(ctx context.Context, ticket lanes.Ticket) error {
	err := t.Memory.Leave(ctx, ticket)
	t.process.world.trace("%s: as %+v leaves: %v", t.process.name, ticket, err)
	if err == nil {
		t.process.world.ledger.left(ticket.ID)
	}
	return err
}

// border is the source as the relay sees it. It is a part of the process, and
// stands still with it.
type border struct {
	outbox.LeasedSource
	process *process
}

// Next implements [outbox.Source].
func (b *border) Next(ctx context.Context, limit int, except map[string]struct{}) ([]outbox.Record, error) {
	if _, err := b.process.pass(); err != nil {
		return nil, err
	}
	records, err := b.LeasedSource.Next(ctx, limit, except)
	if len(records) > 0 {
		b.process.at(handOut, true)
	}
	return records, err
}

// Remove implements [outbox.Source].
func (b *border) Remove(ctx context.Context, records []outbox.Record) error {
	if _, err := b.process.pass(); err != nil {
		return err
	}
	err := b.LeasedSource.Remove(ctx, records)
	b.process.world.ledger.removed(b.process, records, err)
	return err
}

// SetAside implements [outbox.Source].
func (b *border) SetAside(ctx context.Context, record outbox.Record, why outbox.Refusal) error {
	if _, err := b.process.pass(); err != nil {
		return err
	}
	err := b.LeasedSource.SetAside(ctx, record, why)
	b.process.world.ledger.setAside(b.process, record, err)
	return err
}

// Lease implements [outbox.LeasedSource]. The relay's contexts run by the
// bubble's clock, which is not off as the process's wall clock may be.
func (b *border) Lease(records []outbox.Record) (leased []outbox.Record, until time.Time, done func()) {
	if _, err := b.process.pass(); err != nil {
		return nil, time.Time{}, func() {}
	}
	leased, until, done = b.LeasedSource.Lease(records)
	return leased, time.Now().Add(until.Sub(b.process.clock.Now().Wall)), done
}
