package settle

import (
	"context"

	"github.com/settleonce/settleonce/internal/once"
	"github.com/settleonce/settleonce/outbox/event"
)

// Attempt is one run of a callback: the transaction, and what is to happen
// with its commit. It refuses everything once the callback has returned.
//
// Its methods are safe for concurrent use; the transaction is as safe as its
// store says.
type Attempt[Tx any] struct {
	inner *once.Attempt[Tx]
}

// Tx returns the transaction. The runner alone commits it and rolls it back.
func (a *Attempt[Tx]) Tx() Tx { return a.inner.Tx() }

// ID returns the id of this run. No two runs share one, and the receipt names
// the one whose effects it stands for.
func (a *Attempt[Tx]) ID() string { return a.inner.ID() }

// Number returns 1 for the first run of the callback in this call of [Do], 2
// for the second, and so on.
func (a *Attempt[Tx]) Number() int { return a.inner.Number() }

// Emit adds an event to the commit: it is in the outbox if and only if the
// effects are committed. Events of one ordering key are in the order of their
// commits. An empty ID is given a new one.
//
// Nil means that the event will be committed with the rest. errors.Is(err,
// [event.ErrInvalid]) is true for an event that breaks a rule or that acts for
// another tenant than the request's; the attempt then fails even if the
// callback returns nil.
func (a *Attempt[Tx]) Emit(e event.Event) error { return a.inner.Emit(e) }

// AfterCommit adds a hook that runs once this attempt is known to have
// committed, in the order in which the hooks were added, with a context that
// is not cancelled. A hook that panics is logged and keeps no other from
// running. A crash can lose hooks: what must happen belongs in an event or in
// Config.OnReceipt.
func (a *Attempt[Tx]) AfterCommit(hook func(context.Context)) { a.inner.AfterCommit(hook) }
