package once

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"

	"github.com/settleonce/settleonce/internal/panictext"
	"github.com/settleonce/settleonce/receipt"
)

// runHooks runs every hook in order. Each stands on the deferred call for the
// rest, so that neither a panic nor the end of the goroutine in one keeps the
// others from running (I4).
func runHooks(ctx context.Context, key receipt.Key, hooks []func(context.Context), logger *slog.Logger) {
	if len(hooks) == 0 {
		return
	}
	defer runHooks(ctx, key, hooks[1:], logger)
	defer func() {
		if cause := recover(); cause != nil {
			logger.Error("a hook after the commit panicked", "key", key, "panic", panictext.Of(cause), "stack", string(debug.Stack()))
		}
	}()
	hooks[0](ctx)
}

// present shows the receipt to OnReceipt. Whatever that returns or throws
// becomes ErrWithheld: the effects are final, the proof is not given yet.
func (r *Runner[Tx]) present(ctx context.Context, rec receipt.Receipt, replayed bool) (err error) {
	if r.config.OnReceipt == nil {
		return nil
	}
	defer func() {
		if cause := recover(); cause != nil {
			r.config.Logger.Error("OnReceipt panicked", "key", rec.Key, "panic", panictext.Of(cause), "stack", string(debug.Stack()))
			err = fmt.Errorf("%w: OnReceipt panicked: %s", receipt.ErrWithheld, panictext.Of(cause))
		}
	}()
	if err := r.config.OnReceipt(ctx, rec, replayed); err != nil {
		r.config.Logger.Warn("OnReceipt withheld the proof", "key", rec.Key, "replayed", replayed, "error", err)
		return fmt.Errorf("%w: %w", receipt.ErrWithheld, causeError{err})
	}
	return nil
}
