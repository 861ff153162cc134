// Package panictext puts into words what a caller's code panicked with, for
// logs and errors, which must never hold a payload.
package panictext

import "fmt"

// Of returns cause where it is a text that somebody wrote, and its type
// otherwise: a value can hold anything.
func Of(cause any) string {
	switch cause := cause.(type) {
	case error:
		return cause.Error()
	case string:
		return cause
	default:
		return fmt.Sprintf("a value of type %T", cause)
	}
}
