package once

import (
	"errors"
	"slices"

	"github.com/settleonce/settleonce/receipt"
)

// causeError says why, and not what became of the key. It is the error that it
// holds to errors.Is and errors.As, but for what that error, which a callback
// or a hook may have from anywhere, says became of a key: another one, and whoever
// called the runner would take it for theirs.
type causeError struct{ error }

// Cause returns err as the reason for a failure that the engine had no part in:
// what it says of a key is not passed on.
func Cause(err error) error { return causeError{err} }

// Is reports whether the cause is target, which no verdict on a key can be.
func (c causeError) Is(target error) bool {
	return !isVerdict(target) && errors.Is(c.error, target)
}

// As finds the cause in target, unless that is a conflict.
func (c causeError) As(target any) bool {
	if _, conflict := target.(**receipt.ConflictError); conflict {
		return false
	}
	return errors.As(c.error, target)
}

// isVerdict reports whether target is a sentinel by which a runner says what
// became of its key.
func isVerdict(target error) bool {
	return slices.Contains([]error{
		receipt.ErrWithheld, receipt.ErrOutcomeUnknown, receipt.ErrTransactionEnded, receipt.ErrNotCommitted,
		receipt.ErrInFlight, receipt.ErrSchemaVersion, receipt.ErrFingerprintMismatch, receipt.ErrKindMismatch,
	}, target)
}
