package pgfault

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// ErrNotSprung is true where a trap was disarmed, or its proxy closed, before a
// COMMIT came.
var ErrNotSprung = errors.New("pgfault: no COMMIT came before the trap was disarmed")

// Trap is a fault that waits for one COMMIT, on whichever connection of its
// proxy it comes first. It is safe for concurrent use.
type Trap struct {
	fault Fault
	proxy *Proxy

	sprung   chan struct{} // closed when the client has been cut
	finished chan struct{} // closed when report and err are final
	released chan struct{} // closed by Release
	release  sync.Once

	// Written before finished is closed, read after.
	report Report
	err    error
}

func newTrap(p *Proxy, fault Fault) *Trap {
	return &Trap{
		fault:    fault,
		proxy:    p,
		sprung:   make(chan struct{}),
		finished: make(chan struct{}),
		released: make(chan struct{}),
	}
}

// Sprung is closed once a COMMIT has come and its client has been cut.
func (t *Trap) Sprung() <-chan struct{} { return t.sprung }

// Report waits until the fault is over, for [CommitHeld] after [Trap.Release],
// and says what happened. errors.Is(err, [ErrNotSprung]) is true where nothing
// will.
func (t *Trap) Report(ctx context.Context) (Report, error) {
	select {
	case <-t.finished:
		return t.report, t.err
	case <-ctx.Done():
		return Report{}, fmt.Errorf("pgfault: wait for the report of %s: %w", t.fault, context.Cause(ctx))
	}
}

// Release lets a held COMMIT go on to the server. It may be called before
// the COMMIT comes, and means nothing to faults other than [CommitHeld].
func (t *Trap) Release() {
	t.release.Do(func() { close(t.released) })
}

// Disarm takes the trap back and reports whether it had not been sprung.
func (t *Trap) Disarm() bool {
	if !t.proxy.remove(t) {
		return false
	}
	t.finish(Report{}, ErrNotSprung)
	return true
}

// finish makes the report final. It is called once.
func (t *Trap) finish(report Report, err error) {
	t.report, t.err = report, err
	close(t.finished)
}
