package settle

import (
	"errors"
	"fmt"
)

// ErrRefused is true for a [*RefusedError].
var ErrRefused = errors.New("settle: refused")

// RefusedError says that the receiver will never settle this request, however
// often it comes: the room is not known, the roster does not match. A callback
// returns one, made by [Refuse], to tell the sender to set its record aside.
// The transaction is rolled back and no receipt is written, so an operator who
// has mended the cause can have the record sent again.
type RefusedError struct {
	// Code is a short stable name for programs, such as "unknown-room".
	Code string
	// Detail is one sentence for people. It travels to the sender.
	Detail string
}

// Refuse returns a [*RefusedError].
func Refuse(code, format string, args ...any) error {
	return &RefusedError{Code: code, Detail: fmt.Sprintf(format, args...)}
}

// Error gives the code and the detail.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("%v (%s): %s", ErrRefused, e.Code, e.Detail)
}

// Is reports whether target is [ErrRefused].
func (e *RefusedError) Is(target error) bool { return target == ErrRefused }
