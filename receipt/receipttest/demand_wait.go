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
	t.wantInFlight(holder.Key)
	stored := t.commit(session, receiptFor(t, holder))
	t.wantHistory(holder.Key, stored)
	t.rollBack(t.begin(claimOn(holder.Key)))
}

// wantInFlight demands that no revision of key can be begun.
func (t *trial[Tx]) wantInFlight(key receipt.Key) {
	t.Helper()
	for revision := range 2 {
		claim := claimOn(key)
		claim.Revision = revision
		claim.LockTimeout = shortWait
		if _, err := t.tryBegin(claim); !errors.Is(err, receipt.ErrInFlight) {
			t.Errorf("Begin of revision %d on a key that is held = %v; want ErrInFlight", revision, err)
		}
	}
}

// waitersEnd is what became of a Begin in another goroutine.
type waitersEnd[Tx any] struct {
	session receipt.Session[Tx]
	err     error
	// early says that Begin returned before the session that held the key
	// began to end.
	early bool
}

// whileWaiting holds a key, lets another goroutine begin on it, ends the first
// session, and returns the one that the other got with the waiter's claim.
func (t *trial[Tx]) whileWaiting(holder, waiter receipt.Claim, end func(receipt.Session[Tx])) receipt.Session[Tx] {
	t.Helper()
	session := t.begin(holder)
	var ending atomic.Bool
	starting, through := make(chan struct{}), make(chan waitersEnd[Tx], 1)
	go func() {
		waiter.LockTimeout = patience
		close(starting)
		session, err := t.tryBegin(waiter)
		through <- waitersEnd[Tx]{session, err, !ending.Load()}
	}()
	<-starting
	t.wantInFlight(holder.Key) // and so gives the other one time to wait
	ending.Store(true)
	end(session)
	got := <-through // tryBegin is bounded
	if got.err != nil {
		t.Fatalf("the Begin that waited = %v; want a session", got.err)
	}
	if got.early {
		t.Errorf("Begin returned while another session held the key")
	}
	return got.session
}

// wantWaitersPrior demands what the session of a Begin that waited shows, and
// ends it.
func (t *trial[Tx]) wantWaitersPrior(session receipt.Session[Tx], want *receipt.Receipt) {
	t.Helper()
	claimed, _ := session.Prior()
	t.rollBack(session)
	t.wantReceipt("the prior of the Begin that waited", claimed, want)
}

func checkWaitForCommit[Tx any](t *trial[Tx]) {
	holder := claimOn(newKey())
	var stored receipt.Receipt
	waited := t.whileWaiting(holder, claimOn(holder.Key), func(session receipt.Session[Tx]) {
		stored = t.commit(session, receiptFor(t, holder))
	})
	t.wantWaitersPrior(waited, &stored)
}

func checkWaitForRollback[Tx any](t *trial[Tx]) {
	holder := claimOn(newKey())
	t.wantWaitersPrior(t.whileWaiting(holder, claimOn(holder.Key), t.rollBack), nil)
}

func checkWaitCancelled[Tx any](t *trial[Tx]) {
	holder := claimOn(newKey())
	session := t.begin(holder)
	ctx, cancel := context.WithTimeout(t.Context(), shortWait)
	defer cancel()
	for _, ended := range []context.Context{ctx, t.cancelled()} {
		t.wantNoWait(ended, holder.Key)
	}
	stored := t.commit(session, receiptFor(t, holder))
	t.wantPrior(claimOn(holder.Key), &stored, &stored)
}

// wantNoWait demands that Begin on a key that is held ends with its context.
func (t *trial[Tx]) wantNoWait(ctx context.Context, key receipt.Key) {
	t.Helper()
	claim := claimOn(key)
	claim.LockTimeout = 2 * patience
	ended := make(chan error, 1)
	go func() {
		session, err := t.Store.Begin(ctx, claim)
		if err == nil {
			err = errors.Join(errGotKey, session.Rollback(context.WithoutCancel(ctx)))
		}
		ended <- err
	}()
	select {
	case err := <-ended:
		if errors.Is(err, errGotKey) {
			t.Errorf("Begin whose context ends while the key is held = nil; want an error")
		}
	case <-t.patient().Done():
		t.Errorf("Begin goes on waiting after its context has ended")
	}
}

var errGotKey = errors.New("Begin got the key")

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
