package api

import (
	"context"
	"errors"
	"net"

	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/receipt"

	"github.com/settleonce/settleonce/examples/sportsbook/house"
)

// failure is a problem on its way to the answer.
type failure struct {
	problem Problem
	// cause is for the log and never travels: it can hold what the client
	// must not see.
	cause error
	// header is a further header of the answer, "" for none.
	header [2]string
}

// Error makes a failure an error between the functions of this package.
func (f *failure) Error() string { return "api: " + f.problem.Title }

func fail(problemType string, wrong ...WrongField) *failure {
	failed := &failure{problem: newProblem(problemType)}
	failed.problem.Errors = wrong
	return failed
}

func failedBy(problemType string, cause error) *failure {
	failed := fail(problemType)
	failed.cause = cause
	return failed
}

// failureOf says which problem an error is. Where several fit, it is the one
// that keeps the most: what may have been committed comes before what is
// certain.
func failureOf(err error) *failure {
	if failed, ok := errors.AsType[*failure](err); ok {
		return failed
	}
	for _, known := range []struct {
		sentinel    error
		problemType string
	}{
		{receipt.ErrTransactionEnded, TypeTransactionEnded},
		{receipt.ErrWithheld, TypeWithheld},
		{receipt.ErrOutcomeUnknown, TypeOutcomeUnknown},
		{receipt.ErrSchemaVersion, TypeSchemaVersion},
		{receipt.ErrInFlight, TypeInFlight},
		{receipt.ErrNotFound, TypeNotFound},
		{acceptance.ErrNotPending, TypeNotReferred},
		{acceptance.ErrNotAccepted, TypeNotFound},
		{acceptance.ErrCallback, TypeInternal},
		{acceptance.ErrValue, TypeInternal},
		{house.ErrUnknownWallet, TypeNotFound},
		{house.ErrUnknownMarket, TypeNotFound},
		{house.ErrUnknownBet, TypeNotFound},
		{house.ErrMarketClosed, TypeMarketClosed},
	} {
		if errors.Is(err, known.sentinel) {
			return failedBy(known.problemType, err)
		}
	}
	if refused := refusal(err); refused != nil {
		return refused
	}
	if mayPass(err) {
		return failedBy(TypeUnavailable, err)
	}
	return failedBy(TypeInternal, err)
}

// refusal returns the problem of an error that says more than its kind. Nil:
// it is none.
func refusal(err error) *failure {
	if invalid, ok := errors.AsType[*acceptance.InvalidError](err); ok {
		failed := fail(TypeInvalid)
		for _, wrong := range invalid.Fields {
			failed.problem.Errors = append(failed.problem.Errors, WrongField(wrong))
		}
		return failed
	}
	if used, ok := errors.AsType[*acceptance.ConsentError](err); ok {
		failed := fail(TypeConsentUsed)
		failed.problem.Successor = used.Successor
		return failed
	}
	if conflict, ok := errors.AsType[*receipt.ConflictError](err); ok {
		failed := failedBy(TypeKeyReused, conflict)
		failed.problem.Paths = conflict.Paths
		return failed
	}
	return nil
}

// mayPass reports whether a cause passes by itself, as far as can be told.
func mayPass(err error) bool {
	_, network := errors.AsType[net.Error](err)
	return network || errors.Is(err, receipt.ErrNotCommitted) ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
