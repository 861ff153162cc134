package settlehttp

import (
	"fmt"
	"runtime/debug"
)

// panicError is a panic of a caller's hook. Its text leaves out the value of
// the panic, which can hold anything.
type panicError struct {
	hook  string
	cause any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("settlehttp: %s panicked", e.hook) }

// protect calls a hook and turns its panic into a *panicError, so that one
// event can't end the process or the delivery of others.
func protect(hook string, call func() error) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = &panicError{hook, cause, debug.Stack()}
		}
	}()
	return call()
}
