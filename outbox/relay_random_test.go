package outbox_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/outbox/outboxtest"
)

// chance is a seeded source of decisions for several goroutines.
type chance struct {
	mu     sync.Mutex
	random *rand.Rand
}

func newChance(seed uint64) *chance { return &chance{random: rand.New(rand.NewPCG(seed, 0))} }

func (c *chance) below(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.random.IntN(n)
}

func (c *chance) oneIn(n int) bool { return c.below(n) == 0 }

// TestWhateverGoesWrongOrderHoldsAndNothingIsLost runs relays against sources
// and destinations that fail at random, stops and starts them, and looks at
// what the destination took.
func TestWhateverGoesWrongOrderHoldsAndNothingIsLost(t *testing.T) {
	t.Parallel()
	for seed := range uint64(100) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { randomRun(t, newChance(seed)) })
		})
	}
}

func randomRun(t *testing.T, c *chance) {
	t.Helper()
	const events = 120
	source := newClaims(t)
	source.holdBack = c.oneIn(2)
	source.onRemove = func([]string) error {
		if c.oneIn(25) {
			return errDisk
		}
		return nil
	}
	source.onNext = func() { <-time.After(time.Duration(c.below(30)) * time.Millisecond) }
	sender := &courier{Sender: &outboxtest.Sender{}, batching: outbox.Batching{MaxEvents: 1 + c.below(9), InOrder: c.oneIn(2)}}
	sender.before = func(context.Context) {
		<-time.After(time.Duration(c.below(20)) * time.Millisecond)
		switch {
		case c.oneIn(60):
			panic("ordered to panic")
		case c.oneIn(60):
			runtime.Goexit()
		}
	}
	bad := make(map[string]bool) // what the destination will never take
	for i := range events {
		bad[fmt.Sprintf("%03d", i)] = c.oneIn(40)
	}
	sender.Fault = func(e event.Event, _ int) outboxtest.Fault {
		if bad[e.Key.ID] {
			return outboxtest.Fault{Refuse: "no"}
		}
		return randomFault(c)
	}
	cfg := outbox.RelayConfig{
		Source: source, Sender: sender, Concurrency: 1 + c.below(6),
		AttemptTimeout: 100 * time.Millisecond, MinBackoff: 10 * time.Millisecond, MaxBackoff: 200 * time.Millisecond,
		Logger: (&logRecorder{}).logger(),
	}
	lines := 1 + c.below(12)
	lineOf := func(i int) string { return fmt.Sprint("line-", i%lines) }
	if c.oneIn(2) {
		leased := &leasing{claims: source, until: func() time.Time { return time.Now().Add(time.Duration(c.below(300)) * time.Millisecond) }}
		leased.onLease = func() {
			if c.oneIn(30) {
				source.lose(lineOf(c.below(lines)))
			}
		}
		cfg.Source = leased
		defer func() {
			if open := leased.leases(); open != 0 {
				t.Errorf("%d leases were not ended", open)
			}
		}()
	}
	relay, err := outbox.NewRelay(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for next := 0; ; {
		for range min(c.below(60), events-next) {
			source.put(outboxtest.NewEvent(fmt.Sprintf("%03d", next), lineOf(next)))
			next++
		}
		if runFor(t, relay, time.Duration(c.below(2000))*time.Millisecond); next == events && isDrained(source) {
			break
		}
		if _, out := source.left(); out != 0 {
			t.Fatalf("%d records are not released after Run", out)
		}
	}
	checkTaken(t, source, sender, lineOf, events)
}

func randomFault(c *chance) outboxtest.Fault {
	switch c.below(40) {
	case 0, 1, 2:
		return outboxtest.Fault{Err: outboxtest.ErrUnavailable, EventAlone: c.oneIn(2)}
	case 3:
		return outboxtest.Fault{Lost: true}
	case 4:
		return outboxtest.Fault{Bare: true}
	case 5:
		return outboxtest.Fault{Stall: true}
	case 6:
		return outboxtest.Fault{Answers: 2}
	default:
		return outboxtest.Fault{}
	}
}

func runFor(t *testing.T, relay *outbox.Relay, d time.Duration) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), d)
	defer stop()
	if err := relay.Run(ctx); err != nil {
		t.Fatalf("Run: %v", err)
	}
}

// isDrained reports whether all that is left waits for a record set aside.
func isDrained(source *claims) bool {
	source.mu.Lock()
	defer source.mu.Unlock()
	return !slices.ContainsFunc(source.pending, func(r outbox.Record) bool { return !source.waits(r) })
}

// checkTaken checks I8 and I7: what the destination took of a line is in order,
// all else was set aside or is held back, and nothing was taken that a record
// before it holds back.
func checkTaken(t *testing.T, source *claims, sender *courier, lineOf func(int) string, events int) {
	t.Helper()
	sender.wantKeysApart(t)
	state := make(map[string]string) // of an id
	newest := make(map[string]string)
	for _, e := range sender.Taken() {
		if last := newest[e.OrderingKey]; last >= e.Key.ID {
			t.Errorf("%s was first delivered after %s", e.Key.ID, last)
		}
		newest[e.OrderingKey] = e.Key.ID
		state[e.Key.ID] = "taken"
	}
	held := make(map[string]string) // by the first record set aside
	for _, record := range source.aside {
		state[record.Event.Key.ID] += "aside"
		if line := record.Event.OrderingKey; source.holdBack && held[line] == "" {
			held[line] = record.Event.Key.ID
		}
	}
	for _, record := range source.pending {
		state[record.Event.Key.ID] += "pending"
	}
	for i := range events {
		id := fmt.Sprintf("%03d", i)
		by := held[lineOf(i)]
		switch got := state[id]; {
		case by != "" && id > by && got != "pending":
			t.Errorf("%s is %q though %s holds it back", id, got, by)
		case (by == "" || id <= by) && got != "taken" && got != "aside":
			t.Errorf("%s is %q", id, got)
		}
	}
}
