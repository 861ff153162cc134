package receipttest

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/settleonce/settleonce/receipt"
)

func waitDemands[Tx any]() []demand[Tx] {
	return []demand[Tx]{
		{
			"lock-timeout", "Begin on a key that an open session holds is ErrInFlight after the lock timeout, and then holds nothing itself",
			checkLockTimeout[Tx],
		},
		{
			"wait-for-commit", "Begin on a key that an open session holds waits for its Commit and then shows the receipt",
			checkWaitForCommit[Tx],
		},
		{
			"wait-for-rollback", "Begin on a key that an open session holds waits for its Rollback and then shows nothing",
			checkWaitForRollback[Tx],
		},
		{
			"wait-cancelled", "a Begin whose context ends while it waits is an error, and then holds nothing",
			checkWaitCancelled[Tx],
		},
		{
			"keys-apart", "sessions on different keys do not wait for each other",
			checkKeysApart[Tx],
		},
	}
}

func checkLockTimeout[Tx any](t *trial[Tx]) {
	holder := claimOn(newKey())
	session := t.begin(holder)
	for revision := range 2 {
		claim := claimOn(holder.Key)
		claim.Revision = revision
		claim.LockTimeout = shortWait
		if _, err := t.tryBegin(claim); !errors.Is(err, receipt.ErrInFlight) {
			t.Errorf("Begin of revision %d on a key that is held = %v; want ErrInFlight", revision, err)
		}
	}
	stored := t.commit(session, receiptFor(t, holder))
	t.wantHistory(holder.Key, stored)
	t.rollBack(t.begin(claimOn(holder.Key)))
}

// waiter is what became of a Begin in another goroutine.
type waiter[Tx any] struct {
	session receipt.Session[Tx]
	err     error
	// early says that Begin returned before the session that held the key
	// began to end.
	early bool
}

// whileWaiting holds a key, lets another goroutine begin on it, ends the first
// session, and returns the prior that the other one got.
func (t *trial[Tx]) whileWaiting(holder receipt.Claim, end func(receipt.Session[Tx])) (claimed *receipt.Receipt) {
	t.Helper()
	session := t.begin(holder)
	impatient := claimOn(holder.Key)
	impatient.LockTimeout = shortWait
	if _, err := t.tryBegin(impatient); !errors.Is(err, receipt.ErrInFlight) {
		t.Errorf("Begin on a key that is held = %v; want ErrInFlight", err)
	}
	var ending atomic.Bool
	through := make(chan waiter[Tx], 1)
	go func() {
		claim := claimOn(holder.Key)
		claim.LockTimeout = t.patience
		session, err := t.tryBegin(claim)
		through <- waiter[Tx]{session, err, !ending.Load()}
	}()
	ending.Store(true)
	end(session)
	got := <-through // tryBegin is bounded
	if got.err != nil {
		t.Fatalf("the Begin that waited = %v; want a session", got.err)
	}
	if got.early {
		t.Errorf("Begin returned while another session held the key")
	}
	claimed, _ = got.session.Prior()
	t.rollBack(got.session)
	return claimed
}

func checkWaitForCommit[Tx any](t *trial[Tx]) {
	holder := claimOn(newKey())
	var stored receipt.Receipt
	claimed := t.whileWaiting(holder, func(session receipt.Session[Tx]) {
		stored = t.commit(session, receiptFor(t, holder))
	})
	t.wantReceipt("the prior of the Begin that waited", claimed, &stored)
}

func checkWaitForRollback[Tx any](t *trial[Tx]) {
	claimed := t.whileWaiting(claimOn(newKey()), t.rollBack)
	t.wantReceipt("the prior of the Begin that waited", claimed, nil)
}

func checkWaitCancelled[Tx any](t *trial[Tx]) {
	holder := claimOn(newKey())
	session := t.begin(holder)
	claim := claimOn(holder.Key)
	claim.LockTimeout = t.patience
	ctx, cancel := context.WithTimeout(t.Context(), shortWait)
	defer cancel()
	for _, ended := range []context.Context{ctx, t.cancelled()} {
		if late, err := t.Store.Begin(ended, claim); err == nil {
			t.Errorf("Begin whose context ends while the key is held = nil; want an error")
			t.rollBack(late)
		}
	}
	stored := t.commit(session, receiptFor(t, holder))
	t.wantPrior(claimOn(holder.Key), &stored, &stored)
}

func checkKeysApart[Tx any](t *trial[Tx]) {
	claims := []receipt.Claim{claimOn(newKey()), claimOn(newKey()), claimOn(newKey()), claimOn(newKey())}
	var sessions []receipt.Session[Tx]
	for _, claim := range claims {
		sessions = append(sessions, t.beginFree(claim))
	}
	for i, session := range sessions {
		stored := t.commit(session, receiptFor(t, claims[i]))
		t.wantHistory(claims[i].Key, stored)
	}
}
