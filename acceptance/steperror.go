package acceptance

import (
	"errors"
	"slices"
)

// stepError is the error of a callback. It is that error to errors.Is and
// errors.As, but for what this package says of a command by it: a callback may
// have that from a call on another command, and whoever called the runner
// would take it for the one on theirs.
type stepError struct {
	step string
	error
}

// Error names the step.
func (e stepError) Error() string { return e.step + ": " + e.error.Error() }

// Is reports whether the callback's error is target, which no verdict of this
// package can be.
func (e stepError) Is(target error) bool {
	switch target.(type) {
	case *InvalidError, *ConsentError:
		return false
	}
	return !slices.Contains([]error{
		ErrInvalid, ErrConsentUsed, ErrCallback, ErrNotPending, ErrNotAccepted, ErrValue,
	}, target) && errors.Is(e.error, target)
}

// As finds the callback's error in target, unless that is a verdict of this
// package.
func (e stepError) As(target any) bool {
	switch target.(type) {
	case **InvalidError, **ConsentError:
		return false
	default:
		return errors.As(e.error, target)
	}
}
