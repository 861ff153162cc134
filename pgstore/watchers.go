package pgstore

import "sync"

// watchers are those to tell when events have been committed.
//
// Safe for concurrent use.
type watchers struct {
	mu  sync.RWMutex
	all map[*Events]struct{}
}

func (w *watchers) add(events *Events) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.all == nil {
		w.all = make(map[*Events]struct{})
	}
	w.all[events] = struct{}{}
}

func (w *watchers) remove(events *Events) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.all, events)
}

// poke tells all of them, and waits for none.
func (w *watchers) poke() {
	w.mu.RLock()
	defer w.mu.RUnlock()
	for events := range w.all {
		events.source.Poke()
	}
}
