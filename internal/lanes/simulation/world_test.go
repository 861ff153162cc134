package simulation_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/settleonce/settleonce/internal/lanes/lanestest"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/outbox/outboxtest"
)

// drainTime is how long a healed world may take to become empty: far more than
// every lease, back-off and rescan together.
const drainTime = 2 * time.Minute

// mostProcesses bounds how many relays live at once.
const mostProcesses = 4

// world is one run of a plan. It lives in a bubble.
type world struct {
	plan        *plan
	mutation    *mutation
	dice        *dice
	tally       *tally
	born        time.Time
	memory      *lanestest.Memory
	destination *destination
	ledger      *ledger
	damage      *damage

	// background is all that ends by itself.
	background sync.WaitGroup
	healedAt   atomic.Pointer[time.Time] // nil: not yet
	events     atomic.Int64
	putting    atomic.Int64 // transactions that have not ended

	mu        sync.Mutex
	processes []*process // all that ever were
	downUntil time.Time

	historyMu sync.Mutex
	history   *strings.Builder // nil: nobody wants it
}

// run runs a plan and returns what was wrong.
func (p *plan) run(m *mutation, counts *tally, history *strings.Builder) error {
	w := &world{plan: p, mutation: m, dice: newDice(p.seed), tally: counts, born: time.Now(), history: history}
	w.ledger = newLedger(w)
	w.damage = &damage{world: w, mended: make(map[int64]bool)}
	w.destination = &destination{world: w, cured: make(map[int64]bool)}
	cfg := lanestest.MemoryConfig{Written: w.ledger.wrote}
	if m.memory != nil {
		m.memory(&cfg)
	}
	w.memory = lanestest.NewMemory(cfg)
	for range p.settings.relays {
		w.start()
	}
	for _, a := range p.actions {
		w.sleep(a.at - w.age())
		w.trace("-- %s", a.what)
		a.do(w)
	}
	w.sleep(chaos - w.age())
	w.drain()
	return w.ledger.close()
}

// drain heals the world, waits until nothing is pending, and ends all.
func (w *world) drain() {
	w.trace("-- all is well again")
	healed := time.Now()
	w.healedAt.Store(&healed)
	w.tableDown(0)
	w.destination.heal()
	for _, p := range w.all() {
		p.mend()
	}
	if len(w.living()) == 0 {
		w.start()
	}
	for w.unfinished() {
		if w.healedFor() > drainTime {
			w.ledger.violation("after %v without a fault, positions %d are still pending", drainTime, w.pending())
			break
		}
		w.operate()
		w.sleep(200 * time.Millisecond)
	}
	for _, p := range w.living() {
		p.end()
	}
	w.background.Wait()
}

func (w *world) unfinished() bool {
	letters, err := w.memory.DeadLetters(context.Background(), "", 1)
	return w.putting.Load() > 0 || err != nil || len(letters) > 0 || len(w.memory.Pending()) > 0 || w.ledger.busy()
}

func (w *world) pending() []int64 {
	var positions []int64
	for _, row := range w.memory.Pending() {
		positions = append(positions, row.Position)
	}
	return positions
}

func (w *world) age() time.Duration { return time.Since(w.born) }

// healed reports whether nothing goes wrong any more.
func (w *world) healed() bool { return w.healedAt.Load() != nil }

// healedFor returns for how long nothing has gone wrong.
func (w *world) healedFor() time.Duration {
	if at := w.healedAt.Load(); at != nil {
		return time.Since(*at)
	}
	return 0
}

// sleep waits, by the bubble's clock.
func (w *world) sleep(d time.Duration) { time.Sleep(d) } //nolint:forbidigo // The bubble's time passes when all wait.

func (w *world) sleepUnless(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// trace writes a line of the world's history.
func (w *world) trace(format string, args ...any) {
	if w.history == nil {
		return
	}
	w.historyMu.Lock()
	defer w.historyMu.Unlock()
	fmt.Fprintf(w.history, "%12.6fs ", w.age().Seconds())
	fmt.Fprintf(w.history, format, args...)
	w.history.WriteByte('\n')
}

// living returns the processes that neither died nor left.
func (w *world) living() []*process {
	var living []*process
	for _, p := range w.all() {
		if p.is() != dead && !p.leaving.Load() {
			living = append(living, p)
		}
	}
	return living
}

func (w *world) all() []*process {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.processes)
}

// one returns a process that lives, if there is one.
func (w *world) one(of int) *process {
	living := w.living()
	if len(living) == 0 {
		return nil
	}
	return living[of%len(living)]
}

// put commits events of the keys in one transaction, which is open for a while.
func (w *world) put(keys []int, open time.Duration, rollback bool, poke int) {
	var events []event.Event
	for _, key := range keys {
		events = append(events, outboxtest.NewEvent(strconv.FormatInt(w.events.Add(1), 10), fmt.Sprintf("key-%d", key)))
	}
	w.putting.Add(1)
	w.background.Go(func() {
		defer w.putting.Add(-1)
		tx, err := w.memory.Begin(context.Background(), events...)
		if err != nil {
			return // The table crashed.
		}
		// Those that waited for the same lock don't end at the same instant.
		w.sleep(open + w.dice.between("commit of "+events[0].ID, time.Microsecond, time.Millisecond))
		if rollback {
			tx.Rollback()
			return
		}
		if !tx.Commit() {
			return
		}
		w.ledger.committed(events, tx.Positions())
		w.trace("positions %d of keys %d are committed", tx.Positions(), keys)
		w.poke(poke)
	})
}

// poke tells a process of a commit, some of the times.
func (w *world) poke(of int) {
	if living := w.living(); of < len(living) {
		living[of].source.Poke()
	}
}

// idle is a transaction that has nothing to do with the outbox.
func (w *world) idle(open time.Duration) {
	w.background.Go(func() {
		tx, err := w.memory.Begin(context.Background())
		if err == nil {
			w.sleep(open)
			tx.Rollback()
		}
	})
}

func (w *world) crash(of int) {
	if p := w.one(of); p != nil {
		p.kill()
		w.background.Go(p.end)
	}
}

func (w *world) pause(of int, s stop) {
	if p := w.one(of); p != nil {
		p.stop(s)
	}
}

func (w *world) ambush(of int, a ambush) {
	if p := w.one(of); p != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.ambush = &a
	}
}

func (w *world) tableDown(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.downUntil = time.Now().Add(d)
}

func (w *world) tableDownUntil() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.downUntil
}

func (w *world) cutOff(of int, d time.Duration) {
	if p := w.one(of); p != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.cutUntil = time.Now().Add(d)
	}
}

func (w *world) tableCrash() {
	back := w.memory.Crash()
	w.trace("positions %d came back", back)
	w.tally.add(cameBack, len(back))
	w.ledger.restored(back)
}

func (w *world) leave(of int) {
	if p := w.one(of); p != nil {
		p.leaving.Store(true)
		w.background.Go(p.end)
	}
}

func (w *world) join() {
	if len(w.living()) < mostProcesses {
		w.start()
	}
}

// operate requeues or discards every dead letter.
func (w *world) operate() {
	ctx := context.Background()
	letters, err := w.memory.DeadLetters(ctx, "", 1000)
	for _, letter := range letters {
		position := letter.Event.Position
		if w.dice.chance("operator discards", 0.3) {
			w.tally.add(discarded, 1)
			w.ledger.discarded(position)
			err = errors.Join(err, w.memory.Discard(ctx, letter.ID, "poison"))
			continue
		}
		w.tally.add(requeued, 1)
		w.destination.cure(position)
		w.damage.mend(position)
		err = errors.Join(err, w.memory.Requeue(ctx, letter.ID))
	}
	if err != nil {
		w.ledger.violation("an operator's call failed: %v", err)
	}
}
