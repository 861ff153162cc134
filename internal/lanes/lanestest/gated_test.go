package lanestest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/settleonce/settleonce/internal/lanes"
	"github.com/settleonce/settleonce/internal/lanes/lanestest"
)

// A gate that lets everything through changes nothing.
func TestOpenGate(t *testing.T) {
	t.Parallel()
	lanestest.TestTable(t, func(testing.TB) lanestest.Subject {
		memory := lanestest.NewMemory(lanestest.MemoryConfig{})
		subject := subjectOf(memory)
		subject.Table = &lanestest.Gated{
			Table: memory,
			Around: func(ctx context.Context, _ lanestest.Method, call func(context.Context) error) error {
				return call(ctx)
			},
		}
		return subject
	})
}

// The three things that a gate is for.
func TestGate(t *testing.T) {
	t.Parallel()
	errGate := errors.New("the gate says no")
	late := make(chan func())
	for name, c := range map[string]struct {
		around func(context.Context, lanestest.Method, func(context.Context) error) error
		// after makes what was held back happen.
		after   func()
		renewed bool
	}{
		"leaves the call out": {
			around: func(context.Context, lanestest.Method, func(context.Context) error) error { return errGate },
		},
		"loses the answer": {
			around: func(ctx context.Context, _ lanestest.Method, call func(context.Context) error) error {
				return errors.Join(errGate, call(ctx))
			},
			renewed: true,
		},
		"makes the call late": {
			around: func(ctx context.Context, _ lanestest.Method, call func(context.Context) error) error {
				go func() { late <- func() { _ = call(context.WithoutCancel(ctx)) } }()
				return errGate
			},
			after:   func() { (<-late)() },
			renewed: true,
		},
	} {
		memory := lanestest.NewMemory(lanestest.MemoryConfig{})
		ticket, watcher := join(t, memory), join(t, memory)
		memory.Expire(ticket.ID)
		gated := &lanestest.Gated{Table: memory, Around: c.around}
		roster, err := gated.Renew(t.Context(), ticket, time.Hour)
		if !errors.Is(err, errGate) || roster != (lanes.Roster{}) {
			t.Errorf("a gate that %s: Renew = %+v, %v; want nothing and the gate's error", name, roster, err)
		}
		if c.after != nil {
			c.after()
		}
		roster, err = memory.Renew(t.Context(), watcher, time.Hour)
		if err != nil || roster.Relays == 2 != c.renewed {
			t.Errorf("a gate that %s: %d relays are left; want the membership renewed: %v", name, roster.Relays, c.renewed)
		}
	}
}
