package once

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/receipt"
)

// errAttemptOver is what a handle says that a callback kept.
var errAttemptOver = errors.New("the callback has returned: its attempt takes nothing more")

// Attempt is one run of the callback: its transaction, and what is to be
// committed or done with it.
type Attempt[Tx any] struct {
	tx     Tx
	claim  receipt.Claim
	number int
	logger *slog.Logger

	beside  []receipt.Receipt
	beganAt time.Time

	mu      sync.Mutex
	over    bool
	events  []event.Event
	hooks   []func(context.Context)
	refused error
}

// Tx returns the transaction.
func (a *Attempt[Tx]) Tx() Tx { return a.tx }

// ID returns the id of this run, which no other run shares.
func (a *Attempt[Tx]) ID() string { return a.claim.Attempt }

// Number returns 1 for the first run of the callback, 2 for the second.
func (a *Attempt[Tx]) Number() int { return a.number }

// Beside returns the first receipt of a key beside the request's own, as the
// transaction began, and nil where it has none.
func (a *Attempt[Tx]) Beside(key receipt.Key) *receipt.Receipt {
	for i := range a.beside {
		if a.beside[i].Key == key {
			found := a.beside[i].Clone()
			return &found
		}
	}
	return nil
}

// BeganAt returns the store's clock as it was when the key was held.
func (a *Attempt[Tx]) BeganAt() time.Time { return a.beganAt }

// Emit adds an event to the commit. An event that is refused fails the
// attempt even if the callback ignores the error, since the caller meant it to
// be there (I2).
func (a *Attempt[Tx]) Emit(e event.Event) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over {
		return fmt.Errorf("emit: %w", errAttemptOver)
	}
	if e.ID == "" {
		e.ID = receipt.NewID()
	}
	if err := a.checkEvent(&e); err != nil {
		err = fmt.Errorf("emit: %w", err)
		a.refused = errors.Join(a.refused, err)
		return err
	}
	a.events = append(a.events, e.Clone())
	return nil
}

func (a *Attempt[Tx]) checkEvent(e *event.Event) error {
	if err := e.Validate(); err != nil {
		return err
	}
	if e.Key.Tenant != a.claim.Key.Tenant { // I10
		return &event.InvalidError{Fields: []event.FieldError{{
			Field: "key.tenant",
			Rule:  fmt.Sprintf("must be %q, the tenant that the runner acts for, is %q", a.claim.Key.Tenant, e.Key.Tenant),
		}}}
	}
	return nil
}

// AfterCommit adds a hook. Once the callback has returned it only logs.
func (a *Attempt[Tx]) AfterCommit(hook func(context.Context)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over {
		a.logger.Error("a hook came after its callback had returned and will not run", "key", a.claim.Key)
		return
	}
	a.hooks = append(a.hooks, hook)
}

// close takes the handle away from the callback, after which events and hooks
// stay as they are, and returns what Emit refused.
func (a *Attempt[Tx]) close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.over = true
	return a.refused
}
