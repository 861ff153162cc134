package receipttest

import "github.com/settleonce/settleonce/receipt"

// doubt is a transaction whose client got no answer to its commit, and which
// is still open. It holds its key, so that a look without the lock finds
// nothing and proves nothing (I5).
type doubt[Tx any] struct {
	work *work[Tx]
	// fate is the fault that says how it ends.
	fate Fault
}

// doubts holds the transaction in doubt of each key.
type doubts[Tx any] map[receipt.Key]*doubt[Tx]

// leaveInDoubt leaves w open. It ends when a Begin waits for its key: now, if
// one does already. The caller holds mu.
func (f *Fake[Tx]) leaveInDoubt(w *work[Tx], fate Fault) error {
	f.faults.fire(fate)
	left := &doubt[Tx]{work: w, fate: fate}
	f.doubts[w.key] = left
	if f.waiting[w.key] > 0 && fate != UnknownUnresolved {
		f.resolve(left)
	}
	return outcomeUnknown(fate)
}

// resolve ends a transaction in doubt and frees its key. One that the World
// refuses to commit is rolled back, as a real one would be, and so is one with
// a receipt beside its key, which is not locked, whose place another has taken
// by now. The caller holds mu.
func (f *Fake[Tx]) resolve(left *doubt[Tx]) {
	delete(f.doubts, left.work.key)
	switch {
	case left.fate == UnknownThenNotFound || f.taken(left.work):
		f.config.World.Rollback(left.work.tx)
	case left.fate == UnknownThenRival:
		_ = f.apply(left.work.asRival(f.config.Rival))
	default:
		_ = f.apply(left.work)
	}
	f.locks.unlock(left.work.key)
}
