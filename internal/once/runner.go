package once

import (
	"context"
	"errors"
	"fmt"

	"github.com/settleonce/settleonce/receipt"
)

// Runner runs callbacks, each key's effects once.
//
// Safe for concurrent use.
type Runner[Tx any] struct {
	config  Config[Tx]
	flights flights
}

// Outcome is what a callback decided.
type Outcome struct {
	Kind  receipt.Kind
	Value []byte
	// Key is the key beside under which the receipt is written in place of
	// the request's own. Zero: the request's own.
	Key receipt.Key
	// Also are receipts of further keys beside.
	Also []Side
	// Stored ends the run without a commit: this receipt of a key beside is
	// the answer. Nil: the outcome is committed.
	Stored *receipt.Receipt
}

// Side is what is committed under a key beside the one that decides.
type Side struct {
	Key   receipt.Key
	Kind  receipt.Kind
	Value []byte
}

// Effect is the callback. It may run more than once (I3).
type Effect[Tx any] func(ctx context.Context, attempt *Attempt[Tx]) (Outcome, error)

// Result is the final outcome of a key.
type Result struct {
	Receipt receipt.Receipt
	// Replayed says that the effects are those of another run.
	Replayed bool
}

// decision is a committed receipt, found or made.
type decision struct {
	receipt  receipt.Receipt
	replayed bool
	hooks    []func(context.Context)
}

// New returns a runner, or an error that names every wrong field.
func New[Tx any](config Config[Tx]) (*Runner[Tx], error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	return &Runner[Tx]{config: config.withDefaults()}, nil
}

// nestedKey marks the context of a callback.
type nestedKey struct{}

// Run decides the request's key. Where the error is [receipt.ErrWithheld] the
// result is valid too; with every other error it is zero.
func (r *Runner[Tx]) Run(ctx context.Context, request Request, effect Effect[Tx]) (Result, error) {
	if err := request.Validate(); err != nil {
		return Result{}, err
	}
	if ctx.Value(nestedKey{}) != nil {
		// A second transaction in the first one's callback waits for a
		// connection, or for a lock, that the first one holds.
		return Result{}, receipt.ErrNested
	}
	decided, err := r.decide(ctx, &request, effect)
	if err != nil {
		return Result{}, fmt.Errorf("key %s: %w", request.Key, err)
	}
	if decided.replayed {
		if err := request.compare(&decided.receipt); err != nil {
			return Result{}, err
		}
	}
	uncancelled := context.WithoutCancel(ctx)
	runHooks(uncancelled, request.Key, decided.hooks, r.config.Logger)
	result := Result{Receipt: decided.receipt, Replayed: decided.replayed}
	return result, r.present(uncancelled, decided.receipt.Clone(), decided.replayed)
}

// Recall returns the receipt that answers the request, its own key's or else
// that of the first key in answers which has one, with one read and no lock.
// It is final. Nil: there is none yet, which proves nothing about a transaction
// that is still open.
func (r *Runner[Tx]) Recall(ctx context.Context, request Request, answers ...receipt.Key) (*receipt.Receipt, error) {
	if err := request.Validate(); err != nil {
		return nil, err
	}
	if ctx.Value(nestedKey{}) != nil {
		return nil, receipt.ErrNested
	}
	history, err := r.config.Store.History(ctx, append([]receipt.Key{request.Key}, answers...)...)
	if err != nil {
		return nil, fmt.Errorf("key %s: %w", request.Key, err)
	}
	if len(history) == 0 {
		return nil, nil
	}
	return &history[0], request.compare(&history[0])
}

// Replay shows a recalled receipt to OnReceipt and returns it as an answer, as
// [Runner.Run] does.
func (r *Runner[Tx]) Replay(ctx context.Context, recalled *receipt.Receipt) (Result, error) {
	err := r.present(context.WithoutCancel(ctx), recalled.Clone(), true)
	return Result{Receipt: *recalled, Replayed: true}, err
}

// Lookup returns the key's newest committed receipt. It takes no lock:
// [receipt.ErrNotFound] proves nothing about a transaction that is still open.
func (r *Runner[Tx]) Lookup(ctx context.Context, key receipt.Key) (receipt.Receipt, error) {
	if err := key.Validate(); err != nil {
		return receipt.Receipt{}, err
	}
	history, err := r.config.Store.History(ctx, key)
	if err != nil {
		return receipt.Receipt{}, fmt.Errorf("key %s: %w", key, err)
	}
	if len(history) == 0 {
		return receipt.Receipt{}, fmt.Errorf("key %s: %w", key, receipt.ErrNotFound)
	}
	return history[len(history)-1], nil
}

// decide joins the key's flight and leads it, or waits for who does. A leader
// that failed or was cancelled does not fail those that waited: the next one
// leads.
func (r *Runner[Tx]) decide(ctx context.Context, request *Request, effect Effect[Tx]) (decision, error) {
	key := flightKey{request.Key, request.Revision}
	for {
		joined, leads := r.flights.join(key)
		if leads {
			return r.lead(ctx, key, joined, request, effect)
		}
		if r.config.NoWait {
			return decision{}, receipt.ErrInFlight
		}
		select {
		case <-ctx.Done():
			return decision{}, fmt.Errorf("%w: %w", receipt.ErrInFlight, context.Cause(ctx))
		case <-joined.done:
			if joined.decided != nil && (!request.OwnAnswer || joined.decided.Key == request.Key) {
				return decision{receipt: joined.decided.Clone(), replayed: true}, nil
			}
		}
	}
}

// lead decides the key and ends the flight, also when the callback panics or
// ends its goroutine.
func (r *Runner[Tx]) lead(
	ctx context.Context, key flightKey, joined *flight, request *Request, effect Effect[Tx],
) (decision, error) {
	var known *receipt.Receipt
	defer func() { r.flights.finish(key, joined, known) }()
	if request.Gate != nil {
		leave, err := request.Gate(ctx)
		if err != nil {
			return decision{}, err
		}
		defer leave()
	}
	decided, err := r.tryAttempts(ctx, request, effect)
	if err == nil {
		clone := decided.receipt.Clone()
		known = &clone
	}
	return decided, err
}

// tryAttempts runs attempts until one decides, one fails for good, or the
// bound is reached.
func (r *Runner[Tx]) tryAttempts(ctx context.Context, request *Request, effect Effect[Tx]) (decision, error) {
	var failure error
	for number := 1; number <= r.config.MaxAttempts; number++ {
		if number > 1 {
			r.config.Logger.Info("trying again", "key", request.Key, "attempt", number, "error", failure)
			if err := pause(ctx, number); err != nil {
				return decision{}, fmt.Errorf("%w: %w, after %w", receipt.ErrNotCommitted, err, failure)
			}
		}
		decided, err := r.tryOnce(ctx, request, number, effect)
		if err == nil {
			return decided, nil
		}
		if !r.worthAnother(err) {
			return decision{}, err
		}
		failure = err
	}
	return decision{}, fmt.Errorf("%w: gave up after %d attempts: %w", receipt.ErrNotCommitted, r.config.MaxAttempts, failure)
}

// worthAnother reports whether nothing was committed and the cause may be gone
// next time.
func (r *Runner[Tx]) worthAnother(err error) bool {
	switch {
	case errors.Is(err, receipt.ErrTransactionEnded), errors.Is(err, receipt.ErrOutcomeUnknown):
		return false
	case errors.Is(err, errFoundNothing):
		return true
	default:
		return r.config.Store.Retryable(err)
	}
}

// tryOnce is one attempt: begin, call back, commit.
func (r *Runner[Tx]) tryOnce(ctx context.Context, request *Request, number int, effect Effect[Tx]) (decision, error) {
	claim := receipt.Claim{
		Key:         request.Key,
		Revision:    request.Revision,
		Attempt:     receipt.NewID(),
		Isolation:   r.config.Isolation,
		LockTimeout: r.config.LockTimeout,
		Beside:      request.Beside,
	}
	session, err := r.config.Store.Begin(ctx, claim)
	if err != nil {
		return decision{}, fmt.Errorf("begin: %w", err)
	}
	ended := false
	defer func() {
		if !ended { // The callback panicked or ended its goroutine (I2).
			_ = r.rollBack(ctx, session, claim.Key) // logged there
		}
	}()
	if claimed, _ := session.Prior(); claimed != nil {
		ended = true
		_ = r.rollBack(ctx, session, claim.Key) // logged there; nothing was written
		return decision{receipt: *claimed, replayed: true}, nil
	}
	attempt := &Attempt[Tx]{
		tx: session.Tx(), claim: claim, number: number, logger: r.config.Logger,
		beside: session.Beside(), beganAt: session.BeganAt(),
	}
	outcome, err := call(ctx, attempt, effect)
	ended = true
	if err != nil {
		if rollbackErr := r.rollBack(ctx, session, claim.Key); errors.Is(rollbackErr, receipt.ErrTransactionEnded) {
			return decision{}, fmt.Errorf("%w: %w", rollbackErr, causeError{err})
		}
		return decision{}, err
	}
	if outcome.Stored != nil {
		_ = r.rollBack(ctx, session, claim.Key) // logged there; nothing was written
		return decision{receipt: *outcome.Stored, replayed: true}, nil
	}
	return r.commit(ctx, session, request, attempt, outcome)
}

// call runs the callback and takes its handle away. A callback that returned
// although its context is done has not succeeded.
func call[Tx any](ctx context.Context, attempt *Attempt[Tx], effect Effect[Tx]) (Outcome, error) {
	defer func() { _ = attempt.close() }() // Also where the callback panics or ends its goroutine.
	outcome, err := effect(context.WithValue(ctx, nestedKey{}, true), attempt)
	refused := attempt.close()
	switch {
	case err != nil:
		return Outcome{}, causeError{err}
	case refused != nil:
		return Outcome{}, fmt.Errorf("%w: %w", receipt.ErrNotCommitted, refused)
	case ctx.Err() != nil:
		return Outcome{}, fmt.Errorf("%w: %w", receipt.ErrNotCommitted, context.Cause(ctx))
	default:
		return outcome, nil
	}
}

// rollBack ends the session on a context of its own: the caller's may be the
// reason for it.
func (r *Runner[Tx]) rollBack(ctx context.Context, session receipt.Session[Tx], key receipt.Key) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTimeout)
	defer cancel()
	err := session.Rollback(ctx)
	switch {
	case errors.Is(err, receipt.ErrTransactionEnded):
		r.config.Logger.Error("a callback ended the transaction: effects may be committed without a receipt", "key", key, "error", err)
	case err != nil:
		r.config.Logger.Warn("the rollback failed: the server ends the transaction", "key", key, "error", err)
	}
	return err
}
