package process

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// comeback is how long a role may take to be ready again.
const comeback = 20 * time.Second

// Restarts are the roles that were killed and are on their way back. The zero
// value has none. Safe for concurrent use.
type Restarts struct {
	group   sync.WaitGroup
	pending atomic.Int32
}

// Kill kills a role, as [Role.Kill] does, and has start called in the
// background, also where ctx is done by then. A role that does not come back is
// in the log, and missed by whoever calls it.
func (r *Restarts) Kill(ctx context.Context, role *Role, start func(context.Context) error, logger *slog.Logger) (syscall.Signal, error) {
	signal, err := role.Kill()
	if err != nil {
		return 0, err
	}
	again := context.WithoutCancel(ctx)
	r.pending.Add(1)
	r.group.Go(func() {
		defer r.pending.Add(-1)
		ctx, cancel := context.WithTimeout(again, comeback)
		defer cancel()
		if err := start(ctx); err != nil {
			logger.Error("drill: a role does not come back", "role", role.Name(), "error", err)
		}
	})
	return signal, nil
}

// Pending returns how many roles are on their way back.
func (r *Restarts) Pending() int { return int(r.pending.Load()) }

// Wait waits until none is.
func (r *Restarts) Wait() { r.group.Wait() }
