package lanestest

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// orderingLocks are the locks of the ordering keys. A key that nobody holds or
// waits for takes no memory.
type orderingLocks struct {
	mu   sync.Mutex
	held map[string]*orderingLock
}

// orderingLock is held by whoever put the one token into the channel: a wait
// on a channel ends with a context, and lets a bubble's clock go on.
type orderingLock struct {
	token chan struct{}
	users int
}

// lock takes the locks of all names, in the order of the names, so that no two
// callers wait for each other.
func (l *orderingLocks) lock(ctx context.Context, names []string) error {
	for i, name := range names {
		select {
		case l.use(name).token <- struct{}{}:
		case <-ctx.Done():
			l.leave(name)
			l.unlock(names[:i])
			return fmt.Errorf("lanestest: lock ordering key %q: %w", name, context.Cause(ctx))
		}
	}
	return nil
}

func (l *orderingLocks) unlock(names []string) {
	for _, name := range slices.Backward(names) {
		<-l.leave(name).token
	}
}

func (l *orderingLocks) use(name string) *orderingLock {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held == nil {
		l.held = make(map[string]*orderingLock)
	}
	found := l.held[name]
	if found == nil {
		found = &orderingLock{token: make(chan struct{}, 1)}
		l.held[name] = found
	}
	found.users++
	return found
}

func (l *orderingLocks) leave(name string) *orderingLock {
	l.mu.Lock()
	defer l.mu.Unlock()
	found := l.held[name]
	found.users--
	if found.users == 0 {
		delete(l.held, name)
	}
	return found
}
