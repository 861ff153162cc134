package acceptance

import (
	"context"
	"errors"
	"runtime/debug"
	"time"

	"github.com/settleonce/settleonce/internal/panictext"
	"github.com/settleonce/settleonce/receipt"
)

// errOther is the kind of an error that is none of kinds.
var errOther = errors.New("acceptance: another error")

// kindOf returns the kind of an error without anything that it says: a conflict
// holds a receipt, and a callback's error whatever the callback put there. What
// became of the key goes before the cause.
func kindOf(err error) error {
	if err == nil {
		return nil
	}
	for _, kind := range []error{
		receipt.ErrTransactionEnded, receipt.ErrOutcomeUnknown, receipt.ErrWithheld,
		receipt.ErrFingerprintMismatch, receipt.ErrKindMismatch, receipt.ErrSchemaVersion, receipt.ErrInFlight,
		receipt.ErrNested, ErrInvalid, ErrConsentUsed, ErrNotPending, ErrCallback, ErrValue,
		context.Canceled, context.DeadlineExceeded, receipt.ErrNotCommitted,
	} {
		if errors.Is(err, kind) {
			return kind
		}
	}
	return errOther
}

// measure adds the time until the returned function is called to sum.
func (c *call[Tx, Bet]) measure(sum *time.Duration) (stop func()) {
	started := c.runner.config.Now()
	return func() { *sum += c.runner.config.Now().Sub(started) }
}

// observe tells what a call came to. By then the decision may be committed, so
// a panic of the observer must not take the answer away.
func (c *call[Tx, Bet]) observe(ctx context.Context, d Decision[Bet], err error) {
	observer := c.runner.config.Observer
	if observer == nil {
		return
	}
	defer func() {
		if cause := recover(); cause != nil {
			c.runner.config.Logger.Error("the observer panicked", "panic", panictext.Of(cause), "stack", string(debug.Stack()))
		}
	}()
	seen := c.seen
	seen.Verdict, seen.Code, seen.Replayed, seen.Err = d.Verdict, d.Code, d.Replayed, kindOf(err)
	observer.Observe(ctx, seen)
}
