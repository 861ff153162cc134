package once

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/settleonce/settleonce/receipt"
)

// errFoundNothing marks an attempt whose commit was in doubt and is now known
// not to have happened.
var errFoundNothing = fmt.Errorf("%w: the commit had no answer, and the key has no receipt", receipt.ErrNotCommitted)

// The pause before another attempt grows from shortestPause to longestPause.
const (
	shortestPause = 2 * time.Millisecond
	longestPause  = 500 * time.Millisecond
)

// commit writes the receipt and classifies the answer. A commit once begun is
// not cancelled by the caller: half an answer helps nobody.
func (r *Runner[Tx]) commit(
	ctx context.Context, session receipt.Session[Tx], request *Request, attempt *Attempt[Tx], outcome Outcome,
) (decision, error) {
	commitCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.config.CommitTimeout)
	defer cancel()
	for _, side := range outcome.Also {
		session.Add(side.receipt(request, attempt.ID()))
	}
	stored, err := session.Commit(commitCtx, outcome.receipt(request, attempt.ID()), attempt.events...)
	if err == nil {
		return decision{receipt: stored, hooks: attempt.hooks}, nil
	}
	if known(err) {
		if errors.Is(err, receipt.ErrTransactionEnded) {
			r.config.Logger.Error("a callback ended the transaction: effects may be committed without a receipt", "key", request.Key, "error", err)
		}
		return decision{}, fmt.Errorf("commit: %w", err)
	}
	return r.resolve(ctx, request, attempt, err)
}

// receipt returns the receipt of the key that decides.
func (o *Outcome) receipt(request *Request, attempt string) receipt.Receipt {
	made := receipt.Receipt{
		Key:         request.Key,
		Revision:    request.Revision,
		Requested:   request.Kind,
		Outcome:     o.Kind,
		Fingerprint: request.Fingerprint,
		Value:       o.Value,
		Canonical:   request.Canonical,
		OrderingKey: request.OrderingKey,
		Attempt:     attempt,
	}
	if !o.Key.IsZero() {
		made.Key, made.Revision = o.Key, 0
	}
	return made
}

// receipt returns the receipt of a key beside. The request's canonical form is
// stored once, with the receipt that decides.
func (s *Side) receipt(request *Request, attempt string) receipt.Receipt {
	return receipt.Receipt{
		Key:         s.Key,
		Requested:   request.Kind,
		Outcome:     s.Kind,
		Fingerprint: request.Fingerprint,
		Value:       s.Value,
		Attempt:     attempt,
	}
}

// known reports whether err says what became of the commit. An error that a
// store did not classify counts as unknown: that costs a look, not a lie.
func known(err error) bool {
	switch {
	case errors.Is(err, receipt.ErrOutcomeUnknown):
		return false
	default:
		return errors.Is(err, receipt.ErrNotCommitted) || errors.Is(err, receipt.ErrTransactionEnded)
	}
}

// resolve finds out under the key's lock what became of a commit (I5). The
// lock waits out the transaction in doubt, so what is read then is final. The
// caller's cancellation does not reach it: hooks wait for the answer.
func (r *Runner[Tx]) resolve(ctx context.Context, request *Request, attempt *Attempt[Tx], doubt error) (decision, error) {
	r.config.Logger.Warn("the commit had no definite answer: resolving", "key", request.Key, "attempt", attempt.ID(), "error", doubt)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.config.ResolveTimeout)
	defer cancel()
	for number := 2; ; number++ {
		found, err := r.look(ctx, request, attempt.ID())
		if err == nil {
			return r.judge(request, attempt, found, doubt)
		}
		r.config.Logger.Warn("the outcome is still unknown", "key", request.Key, "attempt", attempt.ID(), "error", err)
		if pauseErr := pause(ctx, number); pauseErr != nil {
			return decision{}, fmt.Errorf("%w: %w; resolving: %w", receipt.ErrOutcomeUnknown, doubt, causeError{err})
		}
	}
}

// judge tells whose receipt the key has.
func (r *Runner[Tx]) judge(
	request *Request, attempt *Attempt[Tx], found *receipt.Receipt, doubt error,
) (decision, error) {
	switch {
	case found == nil:
		r.config.Logger.Info("resolved: not committed", "key", request.Key, "attempt", attempt.ID())
		// The doubt is told but not wrapped: it is one no more.
		return decision{}, fmt.Errorf("%w: %v", errFoundNothing, doubt) //nolint:errorlint // see above
	case found.Attempt == attempt.ID():
		r.config.Logger.Info("resolved: committed", "key", request.Key, "attempt", attempt.ID())
		return decision{receipt: *found, hooks: attempt.hooks}, nil
	default:
		r.config.Logger.Info("resolved: another attempt committed", "key", request.Key, "attempt", attempt.ID())
		return decision{receipt: *found, replayed: true}, nil
	}
}

// look takes the key's lock, reads, and lets go. It begins at READ COMMITTED,
// so that it sees what the lock waited for. It returns the key's receipt, or
// else that of a key beside which the attempt wrote in its place.
func (r *Runner[Tx]) look(ctx context.Context, request *Request, attempt string) (*receipt.Receipt, error) {
	session, err := r.config.Store.Begin(ctx, receipt.Claim{
		Key:         request.Key,
		Revision:    request.Revision,
		Attempt:     receipt.NewID(),
		LockTimeout: r.config.LockTimeout,
		Beside:      request.Beside,
	})
	if err != nil {
		return nil, err
	}
	claimed, _ := session.Prior()
	beside := session.Beside()
	_ = r.rollBack(ctx, session, request.Key) // It has been logged; what was read stands.
	if claimed != nil {
		return claimed, nil
	}
	for i := range beside {
		if beside[i].Attempt == attempt {
			return &beside[i], nil
		}
	}
	return nil, nil
}

// pause waits before the attempt of that number, longer each time and with
// jitter, so that rivals do not meet again.
func pause(ctx context.Context, number int) error {
	longest := min(shortestPause<<min(number, 16), longestPause)
	timer := time.NewTimer(longest/2 + rand.N(longest/2)) //nolint:gosec // Jitter is no secret.
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
