package lanestest

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
)

// CaseNames returns the names of the suite's cases.
func CaseNames() []string {
	var names []string
	for _, d := range demands() {
		names = append(names, d.name)
	}
	return names
}

// CasePrints runs one case of the suite and returns what it printed if it
// failed, and nothing if it passed.
func CasePrints(t *testing.T, name string, open func(testing.TB) Subject) []string {
	t.Helper()
	for _, d := range demands() {
		if d.name == name {
			r := &recorder{TB: t}
			r.run(func() { d.test(r, open) })
			if r.Failed() {
				return r.printed
			}
			return nil
		}
	}
	t.Fatalf("no case is named %q", name)
	return nil
}

// recorder is a testing.TB that keeps failures to itself.
type recorder struct {
	testing.TB
	mu       sync.Mutex
	failed   bool
	printed  []string
	cleanups []func()
}

// run does what a test's own goroutine does: f, which may end its goroutine,
// then the cleanups.
func (r *recorder) run(f func()) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		f()
	}()
	<-ended
	for _, cleanup := range r.cleanups {
		cleanup()
	}
}

func (r *recorder) Helper() {}

func (r *recorder) Context() context.Context { return r.TB.Context() }

func (r *recorder) Cleanup(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cleanups = append(r.cleanups, f)
}

func (r *recorder) Failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed
}

func (r *recorder) Logf(format string, args ...any) { r.print(false, format, args...) }

func (r *recorder) Errorf(format string, args ...any) { r.print(true, format, args...) }

func (r *recorder) Fatalf(format string, args ...any) {
	r.print(true, format, args...)
	runtime.Goexit()
}

func (r *recorder) print(failed bool, format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = r.failed || failed
	r.printed = append(r.printed, fmt.Sprintf(format, args...))
}
