package settle_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/settleonce/settleonce/receipt"
	"github.com/settleonce/settleonce/receipt/receipttest"
	"github.com/settleonce/settleonce/settle"
)

// errForeign is what a call to another service, with a runner of its own,
// might come to.
var errForeign = errors.New("foreign")

// verdicts are the sentinels by which Do says what became of its key, each in
// an error that a callback or a hook got from elsewhere.
func verdicts() map[error]error {
	conflict := &receipt.ConflictError{
		Stored:    receipt.Receipt{Requested: settle.Aborted, Fingerprint: digest(1, "a")},
		Requested: settle.Settled, Fingerprint: digest(1, "b"),
	}
	wrapped := map[error]error{}
	for _, verdict := range []error{
		receipt.ErrWithheld, receipt.ErrOutcomeUnknown, receipt.ErrTransactionEnded, receipt.ErrNotCommitted,
		receipt.ErrInFlight, receipt.ErrSchemaVersion,
	} {
		wrapped[verdict] = fmt.Errorf("%w: %w", errForeign, verdict)
	}
	for _, verdict := range []error{receipt.ErrFingerprintMismatch, receipt.ErrKindMismatch} {
		wrapped[verdict] = fmt.Errorf("%w: %w", errForeign, conflict)
	}
	return wrapped
}

// checkVerdict checks that err says what is wanted of the key, and nothing that
// another error said of another key.
func checkVerdict(t *testing.T, err error, want ...error) {
	t.Helper()
	for verdict := range verdicts() {
		if errors.Is(err, verdict) != slices.Contains(want, verdict) {
			t.Errorf("errors.Is(%q, %q) = %t", err, verdict, !slices.Contains(want, verdict))
		}
	}
	if conflict, ok := errors.AsType[*receipt.ConflictError](err); ok {
		t.Errorf("%q holds a conflict that is not this key's: %v", err, conflict)
	}
	if !errors.Is(err, errForeign) {
		t.Errorf("%q does not hold its cause", err)
	}
}

// What a callback's error says became of another key is not said of this one:
// the callback failed, and nothing is left.
func TestVerdictInACallbacksErrorIsNotTheCalls(t *testing.T) {
	t.Parallel()
	for verdict, cause := range verdicts() {
		t.Run(verdict.Error(), func(t *testing.T) {
			t.Parallel()
			b := newBench(t, nil)
			_, err := settle.Do(t.Context(), b.runner, request(), func(ctx context.Context, a *attempt) (int, error) {
				if _, err := b.win(ctx, a); err != nil {
					return 0, err
				}
				return 0, cause
			})
			checkVerdict(t, err)
			checkNothingLeft(t, b)
		})
	}
}

// Nor does it stand beside the verdict that the callback ended its transaction,
// after which "nothing was committed" would invite a retry.
func TestEndedTransactionIsTheOnlyVerdict(t *testing.T) {
	t.Parallel()
	for verdict, cause := range verdicts() {
		t.Run(verdict.Error(), func(t *testing.T) {
			t.Parallel()
			b, store := newWatchedBench(t)
			store.rollbackErr = receipt.ErrTransactionEnded
			_, err := settle.Do(t.Context(), b.runner, request(), func(context.Context, *attempt) (int, error) { return 0, cause })
			checkVerdict(t, err, receipt.ErrTransactionEnded)
		})
	}
	t.Run("cancelled", func(t *testing.T) {
		t.Parallel()
		b, store := newWatchedBench(t)
		store.rollbackErr = receipt.ErrTransactionEnded
		ctx, cancel := context.WithCancelCause(t.Context())
		_, err := settle.Do(ctx, b.runner, request(), func(context.Context, *attempt) (int, error) {
			cancel(errForeign)
			return 0, nil
		})
		checkVerdict(t, err, receipt.ErrTransactionEnded)
	})
}

func TestVerdictInOnReceiptsErrorIsNotTheCalls(t *testing.T) {
	t.Parallel()
	for verdict, cause := range verdicts() {
		t.Run(verdict.Error(), func(t *testing.T) {
			t.Parallel()
			b := newBench(t, func(c *settle.Config[ratingsTx]) {
				c.OnReceipt = func(context.Context, receipt.Receipt, bool) error { return cause }
			})
			result, err := b.do(t.Context())
			checkVerdict(t, err, receipt.ErrWithheld)
			if result.Receipt.Attempt == "" {
				t.Error("the receipt is missing")
			}
		})
	}
}

// An outcome that nobody could look up because the key stayed locked is unknown
// and not merely in flight, which would mean that nothing was done.
func TestLockedKeyLeavesTheOutcomeUnknown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		faults := append([]receipttest.Fault{receipttest.LoseAnswer}, slices.Repeat([]receipttest.Fault{receipttest.SlowLock}, 1000)...)
		b := newBench(t, nil, faults...)
		_, err := b.do(t.Context())
		if !errors.Is(err, receipt.ErrOutcomeUnknown) || errors.Is(err, receipt.ErrInFlight) {
			t.Errorf("err = %v, want ErrOutcomeUnknown alone", err)
		}
		if b.fake.Fired(receipttest.SlowLock) == 0 {
			t.Error("no look met a locked key")
		}
	})
}
