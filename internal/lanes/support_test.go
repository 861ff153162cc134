package lanes_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/settleonce/settleonce/internal/lanes"
	"github.com/settleonce/settleonce/internal/lanes/lanestest"
	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/outbox/outboxtest"
)

// lease is the one of most tests.
const lease = 15 * time.Second

// rig is a table in memory and the sources on it.
type rig struct {
	*testing.T
	memory *lanestest.Memory
	events int
	// delivered are the records that workers delivered, and twice counts those
	// that they delivered again.
	delivered map[string]bool
	twice     int
}

func newRig(t *testing.T) *rig {
	t.Helper()
	return &rig{
		T:         t,
		memory:    lanestest.NewMemory(lanestest.MemoryConfig{}),
		delivered: make(map[string]bool),
	}
}

// source returns a source on the table, which is closed at the end of the test.
func (r *rig) source(configure ...func(*lanes.Config)) *lanes.Source {
	r.Helper()
	cfg := lanes.Config{Table: r.memory, Lease: lease, Logger: slog.New(slog.DiscardHandler)}
	for _, change := range configure {
		change(&cfg)
	}
	source, err := lanes.New(cfg)
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() {
		if err := source.Close(context.Background()); err != nil && !errors.Is(err, errAway) {
			r.Errorf("Close = %v", err)
		}
	})
	return source
}

// event returns a new event of an ordering key.
func (r *rig) event(ordering string) event.Event {
	r.events++
	return outboxtest.NewEvent(fmt.Sprintf("%06d", r.events), ordering)
}

// put commits one event a key, one transaction each.
func (r *rig) put(orderings ...string) {
	r.Helper()
	for _, ordering := range orderings {
		if _, err := r.memory.Put(r.Context(), r.event(ordering)); err != nil {
			r.Fatal(err)
		}
	}
}

// begin starts a transaction with one event a key.
func (r *rig) begin(orderings ...string) *lanestest.Transaction {
	r.Helper()
	var events []event.Event
	for _, ordering := range orderings {
		events = append(events, r.event(ordering))
	}
	tx, err := r.memory.Begin(r.Context(), events...)
	if err != nil {
		r.Fatal(err)
	}
	return tx
}

func (r *rig) next(source *lanes.Source, limit int, except ...string) []outbox.Record {
	r.Helper()
	records, err := source.Next(r.Context(), limit, r.except(except...))
	if err != nil {
		r.Fatalf("Next = %v", err)
	}
	return records
}

// ask starts a call of Next, which goes on until it has to wait, and returns what it
// comes to: the records' text and the error.
func (r *rig) ask(source *lanes.Source, limit int) <-chan string {
	came := make(chan string, 1)
	ctx := context.WithoutCancel(r.Context())
	go func() {
		records, err := source.Next(ctx, limit, nil)
		came <- fmt.Sprint(text(records), err)
	}()
	synctest.Wait()
	return came
}

// keysOf returns n ordering keys in lanes that a member holds.
func (r *rig) keysOf(member int64, n int) (keys []string) {
	for candidate := 0; len(keys) < n; candidate++ {
		e := r.event(decimal(candidate))
		if r.memory.HolderOf(r.memory.LaneOf(e.Ordering())) == member {
			keys = append(keys, decimal(candidate))
		}
	}
	return keys
}

// except is the set of what [event.Event.Ordering] returns for the keys.
func (r *rig) except(orderings ...string) map[string]struct{} {
	except := make(map[string]struct{})
	for _, ordering := range orderings {
		e := outboxtest.NewEvent("any", ordering)
		except[e.Ordering()] = struct{}{}
	}
	return except
}

// want compares the ordering keys and numbers of records with words like
// "a1 b2": the second event of the table, of key b.
func (r *rig) want(records []outbox.Record, want string) {
	r.Helper()
	if got := text(records); got != want {
		r.Fatalf("got the records %q, want %q", got, want)
	}
}

func text(records []outbox.Record) string {
	words := ""
	for i := range records {
		if i > 0 {
			words += " "
		}
		words += records[i].Event.OrderingKey + records[i].ID
	}
	return words
}

func (r *rig) remove(source *lanes.Source, records ...outbox.Record) {
	r.Helper()
	if err := source.Remove(r.Context(), records); err != nil {
		r.Fatalf("Remove = %v", err)
	}
}

// lanesOf returns how many lanes each source holds.
func lanesOf(sources ...*lanes.Source) []int {
	held := make([]int, len(sources))
	for i, source := range sources {
		held[i] = source.State().Held
	}
	return held
}

// clock is a bubble's clock that a test can push ahead, by either of its hands.
type clock struct {
	mu        sync.Mutex
	start     time.Time
	wall      time.Duration
	monotonic time.Duration
}

func newClock() *clock { return &clock{start: time.Now()} }

func (c *clock) Now() lanes.Instant {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	return lanes.Instant{Wall: now.Add(c.wall), Monotonic: now.Sub(c.start) + c.monotonic}
}

func (c *clock) push(wall, monotonic time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wall += wall
	c.monotonic += monotonic
}

var errAway = errors.New("the table is away")

// door is a gate that counts calls, and fails or holds those that a test says.
type door struct {
	*lanestest.Gated

	mu    sync.Mutex
	calls map[lanestest.Method]int
	// fail returns what a call fails with instead of being made, and lose
	// what it fails with after it was made.
	fail map[lanestest.Method]error
	lose map[lanestest.Method]error
	// before and after make a call wait for the channel to be closed, before
	// it is made or before it returns.
	before map[lanestest.Method]chan struct{}
	after  map[lanestest.Method]chan struct{}
	// late makes a call fail at once, and makes it when the channel is closed.
	late map[lanestest.Method]chan struct{}
}

func newDoor(table lanes.Table) *door {
	d := &door{
		calls: make(map[lanestest.Method]int),
		fail:  make(map[lanestest.Method]error),
		lose:  make(map[lanestest.Method]error),

		before: make(map[lanestest.Method]chan struct{}),
		after:  make(map[lanestest.Method]chan struct{}),
		late:   make(map[lanestest.Method]chan struct{}),
	}
	d.Gated = &lanestest.Gated{Table: table, Around: d.around}
	return d
}

func (d *door) around(ctx context.Context, method lanestest.Method, call func(context.Context) error) error {
	d.mu.Lock()
	d.calls[method]++
	fail, lose, late := d.fail[method], d.lose[method], d.late[method]
	before, after := d.before[method], d.after[method]
	d.mu.Unlock()
	if fail != nil {
		return fail
	}
	if late != nil {
		go func() {
			<-late
			_ = call(context.WithoutCancel(ctx)) // Nobody waits for the answer.
		}()
		return errAway
	}
	if err := wait(ctx, before); err != nil {
		return err
	}
	err := call(ctx)
	if err := wait(ctx, after); err != nil {
		return err
	}
	if lose != nil {
		return lose
	}
	return err
}

// wait waits for gate to be closed, if there is one.
func wait(ctx context.Context, gate <-chan struct{}) error {
	if gate == nil {
		return nil
	}
	select {
	case <-gate:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (d *door) set(change func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	change()
}

func (d *door) count(method lanestest.Method) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.calls[method]
}

func (d *door) total() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	total := 0
	for _, n := range d.calls {
		total += n
	}
	return total
}

func on(table lanes.Table) func(*lanes.Config) {
	return func(cfg *lanes.Config) { cfg.Table = table }
}

func decimal(n int) string { return strconv.Itoa(n) }

func holdBack(cfg *lanes.Config) { cfg.HoldBack = true }

// pass lets time go by, and everything in the background happen.
func (r *rig) pass(duration time.Duration) {
	r.Helper()
	timer := time.NewTimer(duration)
	<-timer.C
	synctest.Wait()
}

// until looks ever again, for a bubble's minute, until a condition holds, and
// returns how long that took.
func (r *rig) until(what string, holds func() bool) time.Duration {
	r.Helper()
	const step = 50 * time.Millisecond
	for waited := time.Duration(0); waited < time.Minute; waited += step {
		if holds() {
			return waited
		}
		r.pass(step)
	}
	r.Fatalf("in a minute it did not come to this: %s", what)
	return 0
}

// awake drains the wake-ups, and reports whether there was one.
func awake(source *lanes.Source) bool {
	select {
	case <-source.Wake():
		return true
	default:
		return false
	}
}

// lease leases records, all of which it must get.
func (r *rig) lease(source *lanes.Source, records ...outbox.Record) (done func()) {
	r.Helper()
	leased, _, done := source.Lease(records)
	if len(leased) != len(records) {
		r.Fatalf("Lease gave %q of %q", text(leased), text(records))
	}
	return done
}

// bubble runs a test in a bubble of its own.
func bubble(t *testing.T, test func(r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		t.Helper()
		test(newRig(t))
	})
}
