package receipttest

import (
	"fmt"
	"slices"

	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/receipt"
)

// work is what a Commit is to commit. Until it is finished it holds the key.
type work[Tx any] struct {
	key      receipt.Key
	tx       Tx
	receipts []receipt.Receipt // the one that was given to Commit first
	events   []event.Event
	// outdated says that it read receipts which are no longer all there are,
	// so that it cannot be serialised.
	outdated bool
}

// asRival returns w as another process would have committed it.
func (w *work[Tx]) asRival(change func(receipt.Receipt) receipt.Receipt) *work[Tx] {
	rival, attempt := *w, receipt.NewID()
	rival.receipts = cloneReceipts(w.receipts)
	rival.receipts[0] = change(rival.receipts[0])
	for i := range rival.receipts {
		r, lost := &rival.receipts[i], &w.receipts[i]
		r.Key, r.Revision, r.RecordedAt = lost.Key, lost.Revision, lost.RecordedAt
		r.Attempt = attempt
	}
	return &rival
}

// finish commits w, or does what the next fault says. The methods in this file
// need mu.
func (f *Fake[Tx]) finish(w *work[Tx]) error {
	if f.taken(w) {
		f.rollBack(w)
		return notCommitted(ErrDuplicate)
	}
	if w.outdated {
		f.rollBack(w)
		return notCommitted(ErrSerialization)
	}
	switch fault := f.faults.head(commitFault); fault {
	case RerunCallback:
		return f.refuse(w, fault, ErrSerialization)
	case FailBeforeCommit:
		return f.refuse(w, fault, injected(fault))
	case LoseAnswer:
		return f.commit(w, fault, outcomeUnknown(fault))
	case RivalFirst:
		return f.commit(w.asRival(f.config.Rival), fault, notCommitted(ErrDuplicate))
	case TransactionEnded:
		return f.commitEffects(w, fault)
	case UnknownThenFound, UnknownThenNotFound, UnknownThenRival, UnknownUnresolved:
		return f.leaveInDoubt(w, fault)
	default:
		return f.commit(w, fault, nil)
	}
}

// taken reports whether the place of one of the receipts is taken, which is
// what the primary key of a real store guards (I1).
func (f *Fake[Tx]) taken(w *work[Tx]) bool {
	return slices.ContainsFunc(w.receipts, func(wanted receipt.Receipt) bool {
		return slices.ContainsFunc(f.byKey[wanted.Key], func(r receipt.Receipt) bool { return r.Revision == wanted.Revision })
	})
}

// rollBack leaves nothing of w and frees the key.
func (f *Fake[Tx]) rollBack(w *work[Tx]) {
	f.config.World.Rollback(w.tx)
	f.locks.unlock(w.key)
}

func (f *Fake[Tx]) refuse(w *work[Tx], fault Fault, cause error) error {
	f.rollBack(w)
	f.faults.fire(fault)
	return notCommitted(cause)
}

// commit commits w and then answers what the fault says. Where w cannot be
// committed the fault stays in the queue.
func (f *Fake[Tx]) commit(w *work[Tx], fault Fault, answer error) error {
	err := f.apply(w)
	f.locks.unlock(w.key)
	if err != nil {
		return notCommitted(err)
	}
	f.faults.fire(fault)
	return answer
}

// apply makes effects, receipts and events visible together (I2): whoever reads
// them through the Fake waits for mu.
func (f *Fake[Tx]) apply(w *work[Tx]) error {
	if err := f.config.World.Commit(w.tx); err != nil {
		return err
	}
	for _, r := range w.receipts {
		f.receipts = append(f.receipts, r)
		f.byKey[r.Key] = append(f.byKey[r.Key], r)
		slices.SortFunc(f.byKey[r.Key], func(a, b receipt.Receipt) int { return a.Revision - b.Revision })
	}
	f.events = append(f.events, w.events...)
	return nil
}

// commitEffects breaks I2, as a callback can that reaches the bare connection.
func (f *Fake[Tx]) commitEffects(w *work[Tx], fault Fault) error {
	err := f.config.World.Commit(w.tx)
	f.locks.unlock(w.key)
	if err != nil {
		return notCommitted(err)
	}
	f.faults.fire(fault)
	return fmt.Errorf("receipttest: commit: %w", receipt.ErrTransactionEnded)
}

func injected(fault Fault) error { return fmt.Errorf("%w: %s", ErrInjected, fault) }

func notCommitted(cause error) error {
	return fmt.Errorf("receipttest: commit: %w: %w", receipt.ErrNotCommitted, cause)
}

func outcomeUnknown(fault Fault) error {
	return fmt.Errorf("receipttest: commit: %w: %w", receipt.ErrOutcomeUnknown, injected(fault))
}
