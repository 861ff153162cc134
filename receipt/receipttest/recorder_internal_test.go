package receipttest

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// CaseNames returns the names of the suite's cases.
func CaseNames() []string {
	var names []string
	for _, d := range demands[int]() {
		names = append(names, d.name)
	}
	return names
}

// afterEveryTimeout is in the time of a bubble, so nobody waits for it.
const afterEveryTimeout = 24 * time.Hour

// FailingCases runs the named cases of the suite and returns those that
// failed, each with what it printed. In its bubbles nobody really waits.
func FailingCases[Tx any](t *testing.T, names []string, open func(testing.TB) Subject[Tx]) map[string][]string {
	t.Helper()
	failing := make(map[string][]string)
	for _, d := range demands[Tx]() {
		if !slices.Contains(names, d.name) {
			continue
		}
		synctest.Test(t, func(t *testing.T) {
			r := &recorder{TB: t}
			r.run(func() { d.test(r, open) })
			time.Sleep(afterEveryTimeout) //nolint:forbidigo // The bubble's time: it passes when all that a broken store left has ended or waits.
			if r.Failed() {
				failing[d.name] = r.printed
			}
		})
	}
	return failing
}

// recorder is a testing.TB that keeps failures to itself.
type recorder struct {
	testing.TB
	mu       sync.Mutex
	failed   bool
	printed  []string
	cleanups []func()
	ctx      context.Context //nolint:containedctx // A testing.TB has one, which ends with the test.
}

// run does what a test's own goroutine does: f, then the cleanups.
func (r *recorder) run(f func()) {
	ctx, cancel := context.WithCancel(r.TB.Context())
	r.ctx = ctx
	inGoroutine(f)
	cancel()
	for len(r.cleanups) > 0 {
		last := r.cleanups[len(r.cleanups)-1]
		r.cleanups = r.cleanups[:len(r.cleanups)-1]
		inGoroutine(last)
	}
}

// inGoroutine lets f end its goroutine.
func inGoroutine(f func()) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		f()
	}()
	<-ended
}

func (r *recorder) Helper() {}

func (r *recorder) Context() context.Context { return r.ctx }

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

func (r *recorder) Logf(format string, args ...any) { r.print(false, fmt.Sprintf(format, args...)) }

func (r *recorder) Errorf(format string, args ...any) { r.print(true, fmt.Sprintf(format, args...)) }

func (r *recorder) Fatalf(format string, args ...any) {
	r.print(true, fmt.Sprintf(format, args...))
	runtime.Goexit()
}

func (r *recorder) Fatal(args ...any) {
	r.print(true, fmt.Sprint(args...))
	runtime.Goexit()
}

func (r *recorder) print(failed bool, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = r.failed || failed
	r.printed = append(r.printed, text)
}
