package settlehttp

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/receipt"
	"github.com/settleonce/settleonce/settle"
)

// ErrUnavailable is what a hook returns, or wraps, to say that it could not do
// its work for a cause that may pass. The answer is [TypeUnavailable].
var ErrUnavailable = errors.New("settlehttp: unavailable")

// verdict says what answers e where Settle returned err: a refusal, or a
// failure. An error that fits several cases gets the one that keeps the most:
// whatever may have been committed before whatever is certain, and a refusal
// only where no doubt is left.
func verdict(e *event.Event, settled *receipt.Receipt, err error) (*Refusal, *failure) {
	switch {
	case errors.Is(err, receipt.ErrWithheld), !settled.Key.IsZero():
		return nil, fail(TypeWithheld, "", err)
	case errors.Is(err, receipt.ErrTransactionEnded):
		return refuse(e, TypeTransactionEnded, codeTransactionEnded,
			"the receiver's code ended the transaction itself; effects may be committed without a receipt: do not send again before someone has looked"), nil
	case errors.Is(err, receipt.ErrOutcomeUnknown):
		return nil, fail(TypeOutcomeUnknown, "", err)
	case errors.Is(err, receipt.ErrSchemaVersion):
		return nil, fail(TypeSchemaVersion, "", err)
	case errors.Is(err, receipt.ErrInFlight):
		return nil, fail(TypeInFlight, "", err)
	}
	if refusal := refusalFor(e, err); refusal != nil {
		return refusal, nil
	}
	if unavailable(err) {
		return nil, fail(TypeUnavailable, "", err)
	}
	return nil, fail(TypeInternal, "", err)
}

// refusalFor returns the refusal that err stands for, or nil. A conflict on
// another key than e's is none: it says nothing about e, and its text is about
// what this sender may not see (I10).
func refusalFor(e *event.Event, err error) *Refusal {
	if conflict, ok := errors.AsType[*receipt.ConflictError](err); ok {
		if conflict.Key != e.Key || conflict.Stored.Key != e.Key {
			return nil
		}
		switch {
		case errors.Is(conflict, receipt.ErrFingerprintMismatch):
			return refuse(e, TypeFingerprintMismatch, codeFingerprintMismatch, conflict.Error())
		case errors.Is(conflict, receipt.ErrKindMismatch):
			return refuse(e, TypeKindMismatch, codeKindMismatch, conflict.Error())
		}
		return nil
	}
	if refused, ok := errors.AsType[*settle.RefusedError](err); ok {
		return refuse(e, TypeRefused, refused.Code, refused.Detail)
	}
	return nil
}

// unavailable reports whether err is of a cause that may pass.
func unavailable(err error) bool {
	_, network := errors.AsType[net.Error](err)
	return network || errors.Is(err, ErrUnavailable) || errors.Is(err, receipt.ErrNotCommitted) ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// checkReceipt reports why a receipt is no answer to e. A hook that returns
// another key's receipt must not give it to this sender (I10).
func checkReceipt(e *event.Event, settled *receipt.Receipt) error {
	if settled.Key != e.Key {
		return fmt.Errorf("settlehttp: Settle returned the receipt of another key, %s", settled.Key)
	}
	if err := settled.Validate(); err != nil {
		return fmt.Errorf("settlehttp: Settle returned a receipt that breaks a rule: %w", err)
	}
	return nil
}
