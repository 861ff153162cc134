package receipttest

import (
	"context"
	"fmt"
	"slices"

	"github.com/settleonce/settleonce/receipt"
)

// Begin opens a transaction of the World, serialised on the claim's key.
//
// At [receipt.ReadCommitted] what the transaction sees, and Prior, is as of
// the end of the wait for the key. At [receipt.Serializable] it is as of its
// beginning, so that a duplicate shows only at Commit, as [ErrDuplicate], and a
// receipt beside that committed since as [ErrSerialization].
func (f *Fake[Tx]) Begin(ctx context.Context, claim receipt.Claim) (receipt.Session[Tx], error) {
	if err := claim.Validate(); err != nil {
		return nil, fmt.Errorf("receipttest: begin: %w", err)
	}
	claim.Beside = slices.Clone(claim.Beside)
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("receipttest: begin: %w", err)
	}
	arrived, err := f.arrive(&claim)
	if err != nil {
		return nil, err
	}
	if err := f.wait(ctx, &claim, arrived); err != nil {
		f.abandonArrival(arrived)
		return nil, err
	}
	return f.admit(&claim, arrived), nil
}

// arrival is a Begin on its way to the key.
type arrival[Tx any] struct {
	// early is the session of a serializable transaction, which sees what
	// was committed before the wait. Nil at READ COMMITTED.
	early *session[Tx]
	// slow is closed when a slow lock ends. Nil: the lock is not slow.
	slow chan struct{}
}

// arrive meets the faults of a Begin and resolves the key's transaction in
// doubt, if there is one.
func (f *Fake[Tx]) arrive(claim *receipt.Claim) (arrival[Tx], error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var arrived arrival[Tx]
	fault := f.faults.head(beginFault)
	f.faults.fire(fault)
	if fault == FailBegin {
		return arrived, fmt.Errorf("receipttest: begin: %w", injected(fault))
	}
	if fault == SlowLock {
		arrived.slow = f.healed
	}
	inDoubt := f.doubts[claim.Key]
	if inDoubt != nil && inDoubt.fate == UnknownUnresolved {
		return arrived, fmt.Errorf("receipttest: begin: %w", injected(inDoubt.fate))
	}
	if claim.Isolation == receipt.Serializable {
		arrived.early = f.open(claim)
	}
	if inDoubt != nil {
		f.resolve(inDoubt)
	}
	f.waiting[claim.Key]++
	return arrived, nil
}

// wait returns nil once the caller has the key.
func (f *Fake[Tx]) wait(ctx context.Context, claim *receipt.Claim, arrived arrival[Tx]) error {
	defer f.stopWaiting(claim.Key)
	timeout := claim.LockTimeout
	if timeout == 0 {
		timeout = f.config.LockTimeout
	}
	ctx, cancel := context.WithTimeoutCause(ctx, timeout,
		fmt.Errorf("%w: waited %v for key %s", receipt.ErrInFlight, timeout, claim.Key))
	defer cancel()
	if arrived.slow != nil {
		select {
		case <-arrived.slow:
		case <-ctx.Done():
			return fmt.Errorf("receipttest: begin: %w", context.Cause(ctx))
		}
	}
	turn := f.queue(claim.Key)
	select {
	case <-turn: // A free key is had however short the lock timeout is.
		return nil
	default:
	}
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
		f.leave(claim.Key, turn)
		return fmt.Errorf("receipttest: begin: %w", context.Cause(ctx))
	}
}

func (f *Fake[Tx]) queue(key receipt.Key) chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.locks.queue(key)
}

func (f *Fake[Tx]) leave(key receipt.Key, turn chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.locks.leave(key, turn)
}

func (f *Fake[Tx]) stopWaiting(key receipt.Key) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.waiting[key]--
	if f.waiting[key] == 0 {
		delete(f.waiting, key)
	}
}

// abandonArrival ends the transaction of a Begin that never got the key.
func (f *Fake[Tx]) abandonArrival(arrived arrival[Tx]) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if arrived.early != nil {
		f.config.World.Rollback(arrived.early.tx)
	}
}

// admit returns the session of a Begin that has the key.
func (f *Fake[Tx]) admit(claim *receipt.Claim, arrived arrival[Tx]) *session[Tx] {
	f.mu.Lock()
	defer f.mu.Unlock()
	admitted := arrived.early
	if admitted == nil {
		admitted = f.open(claim)
	}
	admitted.beganAt = f.now()
	return admitted
}

// open begins a transaction and reads the receipts of its keys as they are now.
// The caller holds mu.
func (f *Fake[Tx]) open(claim *receipt.Claim) *session[Tx] {
	opened := &session[Tx]{fake: f, claim: *claim, tx: f.config.World.Begin()}
	for _, found := range cloneReceipts(f.byKey[claim.Key]) {
		if found.Revision == claim.Revision {
			claimed := found.Clone()
			opened.claimed = &claimed
		}
		opened.newest = &found
	}
	opened.beside = cloneReceipts(f.firstOf(claim.Beside))
	return opened
}

// firstOf returns the first receipts of the keys, those that have one. The
// caller holds mu.
func (f *Fake[Tx]) firstOf(keys []receipt.Key) []receipt.Receipt {
	var first []receipt.Receipt
	for _, key := range keys {
		if found := f.byKey[key]; len(found) > 0 && found[0].Revision == 0 {
			first = append(first, found[0])
		}
	}
	return first
}
