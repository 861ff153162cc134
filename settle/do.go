package settle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/settleonce/settleonce/fingerprint"
	"github.com/settleonce/settleonce/internal/once"
	"github.com/settleonce/settleonce/receipt"
)

// ErrValue is true where a value cannot be written as JSON and read back, in
// which case nothing is left, or where a stored one does not fit the type that
// is asked for, in which case its receipt stands. The same call fails again.
var ErrValue = errors.New("settle: value")

// Request says which fact is to be settled.
type Request struct {
	// Key is the fact's idempotency key.
	Key receipt.Key
	// Kind is what is asked for: [Settled], [Aborted] or [Voided].
	Kind receipt.Kind
	// Fingerprint is the receiver's own digest of everything that changes
	// the effect.
	Fingerprint fingerprint.Digest
	// Under recomputes the fingerprint under the schema of an older receipt;
	// [fingerprint.Under] makes one. Nil, or an error of it: a receipt under
	// another schema is [receipt.ErrSchemaVersion].
	Under func(fingerprint.Schema) (fingerprint.Digest, error)
	// Canonical is the canonical form that Fingerprint is the digest of, as
	// [fingerprint.Canonical] returns it. It is stored with the receipt, so
	// that a conflict can name the fields that differ. It has at most
	// [receipt.MaxCanonical] bytes. Nil stores none.
	Canonical []byte
	// OrderingKey is stored with the receipt. Empty: the key itself orders.
	OrderingKey string
}

// Validate reports every wrong field at once.
func (q *Request) Validate() error {
	engine := q.engine()
	if err := errors.Join(engine.Validate(), checkKind(q.Kind)); err != nil {
		return fmt.Errorf("settle: Request: %w", err)
	}
	return nil
}

func (q *Request) engine() once.Request {
	return once.Request{
		Key:         q.Key,
		Kind:        q.Kind,
		Fingerprint: q.Fingerprint,
		Canonical:   q.Canonical,
		Under:       q.Under,
		OrderingKey: q.OrderingKey,
	}
}

// Result is the final outcome of a key.
type Result[V any] struct {
	// Value is what the effect returned when it committed, decoded from the
	// stored bytes. It is zero where the receipt's outcome kind is not the
	// requested one.
	Value V
	// Receipt is the proof.
	Receipt receipt.Receipt
	// Replayed says that the effects are those of an earlier or a rival
	// call: nothing was done now.
	Replayed bool
}

// Do runs effect and commits what it did together with the key's receipt, or
// returns the receipt that the key has. effect may run several times, and
// touches nothing but the transaction (I3).
//
// Its value is stored as encoding/json writes it, and what Do returns is read
// back from there, at the first commit as at a replay. So choose a type that
// JSON keeps: text that is not UTF-8, or an integer beyond 2^53 in an any, comes
// back as JSON has it.
//
// Nil means that the effects are committed, once, and will not happen again.
//
// An error says what is left:
//   - [receipt.ErrWithheld]: committed; the result is valid, only the proof must
//     not be passed on yet. Every other error comes with a zero result, except
//     that [ErrValue] from a stored value comes with its receipt.
//   - [receipt.ErrOutcomeUnknown]: it may have committed. Send the same again.
//   - [receipt.ErrTransactionEnded]: the callback ended the transaction itself.
//     Do not retry, look.
//   - [receipt.ErrFingerprintMismatch], [receipt.ErrKindMismatch]: the key has a
//     receipt for something else. Nothing was done, and a retry cannot help.
//   - [receipt.ErrInFlight], [receipt.ErrSchemaVersion]: nothing was done. Send
//     the same again later.
//   - [receipt.ErrNested]: effect called a runner with its own context. Nothing
//     was done.
//   - [receipt.ErrNotCommitted], an error of effect, or any other: nothing is
//     left. A retry is safe.
//
// Each of them speaks of q.Key: where effect or OnReceipt fails with an error
// that another call of Do returned, errors.Is does not find its sentinel, nor
// errors.As its conflict. An error of effect is otherwise found as it is.
//
// A panic of effect, or runtime.Goexit in it, rolls back and goes on its way.
// After a crash either everything is committed or nothing is.
func Do[Tx, V any](
	ctx context.Context, r *Runner[Tx], q Request, effect func(context.Context, *Attempt[Tx]) (V, error),
) (Result[V], error) {
	if err := q.Validate(); err != nil {
		return Result[V]{}, err
	}
	decided, err := r.engine.Run(ctx, q.engine(), encoded(q.Kind, effect))
	if err != nil && !errors.Is(err, receipt.ErrWithheld) {
		return Result[V]{}, fmt.Errorf("settle: %w", err)
	}
	result := Result[V]{Receipt: decided.Receipt, Replayed: decided.Replayed}
	if err != nil {
		err = fmt.Errorf("settle: key %s: %w", q.Key, err)
	}
	if decided.Receipt.Outcome != q.Kind {
		return result, err
	}
	if decodeErr := json.Unmarshal(decided.Receipt.Value, &result.Value); decodeErr != nil {
		err = errors.Join(err, fmt.Errorf("%w of key %s does not fit %T: %w", ErrValue, q.Key, result.Value, decodeErr))
	}
	return result, err
}

// encoded turns an effect with a typed value into the engine's. A value that
// cannot be read back fails before the commit, not after it.
func encoded[Tx, V any](kind receipt.Kind, effect func(context.Context, *Attempt[Tx]) (V, error)) once.Effect[Tx] {
	return func(ctx context.Context, attempt *once.Attempt[Tx]) (once.Outcome, error) {
		value, err := effect(ctx, &Attempt[Tx]{attempt})
		if err != nil {
			return once.Outcome{}, err
		}
		text, err := json.Marshal(value)
		if err != nil {
			return once.Outcome{}, fmt.Errorf("%w cannot be written: %w", ErrValue, err)
		}
		var readBack V
		if err := json.Unmarshal(text, &readBack); err != nil {
			return once.Outcome{}, fmt.Errorf("%w cannot be read back: %w", ErrValue, err)
		}
		return once.Outcome{Kind: kind, Value: text}, nil
	}
}
