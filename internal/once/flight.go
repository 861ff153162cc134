package once

import (
	"sync"

	"github.com/settleonce/settleonce/receipt"
)

// flights joins the runs of one key in this process, so that a storm of
// duplicates holds one connection and not the pool.
type flights struct {
	mu   sync.Mutex
	open map[flightKey]*flight
}

type flightKey struct {
	key      receipt.Key
	revision int
}

// flight is one leader and those that wait for it.
type flight struct {
	done chan struct{}
	// decided is set before done is closed, and nil where the leader failed.
	decided *receipt.Receipt
}

// join returns the key's flight, and whether the caller leads it. A leader
// must call finish.
func (f *flights) join(key flightKey) (joined *flight, leads bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if joined, ok := f.open[key]; ok {
		return joined, false
	}
	if f.open == nil {
		f.open = make(map[flightKey]*flight)
	}
	joined = &flight{done: make(chan struct{})}
	f.open[key] = joined
	return joined, true
}

// finish ends the flight. Where decided is nil, the next of those that waited
// leads a new one.
func (f *flights) finish(key flightKey, finished *flight, decided *receipt.Receipt) {
	f.mu.Lock()
	delete(f.open, key)
	f.mu.Unlock()
	finished.decided = decided
	close(finished.done)
}
