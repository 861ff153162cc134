package simulation_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
)

// tally counts what happened in many worlds: a simulation in which a thing
// never happens says nothing about it.
type tally struct {
	mu     sync.Mutex
	counts map[string]int
}

// What is counted.
const (
	delivered       = "events delivered"
	repeated        = "deliveries repeated"
	refused         = "events set aside"
	discarded       = "dead letters discarded"
	requeued        = "dead letters requeued"
	cameBack        = "deletions undone"
	fenced          = "writes fenced"
	notSettled      = "writes that failed"
	takenOver       = "events that another membership had tried before"
	givenUp         = "lanes given up"
	stoppedInSender = "processes stopped in the sender"
	late            = "calls to the table that took effect late"
	lateArrivals    = "calls to the destination that arrived after their end"
	belowFrontier   = "events that were committed below others"
	unreadable      = "looks at what is no event"
)

func counted() []string {
	return []string{
		delivered, repeated, refused, discarded, requeued, cameBack, fenced, notSettled,
		takenOver, givenUp, stoppedInSender, late, lateArrivals, belowFrontier, unreadable,
	}
}

func newTally() *tally { return &tally{counts: make(map[string]int)} }

func (t *tally) add(what string, n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.counts[what] += n
}

// check demands that everything happened, and prints how often.
func (t *tally) check(tb testing.TB) {
	tb.Helper()
	t.mu.Lock()
	defer t.mu.Unlock()
	var texts []string
	for _, what := range counted() {
		texts = append(texts, fmt.Sprintf("%d %s", t.counts[what], what))
		if t.counts[what] == 0 {
			tb.Errorf("no schedule had %s", what)
		}
	}
	slices.Sort(texts)
	tb.Logf("%s", strings.Join(texts, ", "))
}
