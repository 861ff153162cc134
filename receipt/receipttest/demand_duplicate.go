package receipttest

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/settleonce/settleonce/receipt"
)

func duplicateDemands[Tx any]() []demand[Tx] {
	return []demand[Tx]{
		{
			"second-receipt", "a receipt whose key and revision are taken is refused even from a session that holds the key: nothing is changed, and the error is retryable (I1)",
			checkSecondReceipt[Tx],
		},
		{
			"duplicates-read-committed", "of duplicates at the same time, at READ COMMITTED, one runs its callback, and the others wait and get its receipt",
			func(t *trial[Tx]) { checkDuplicates(t, receipt.ReadCommitted) },
		},
		{
			"duplicates-serializable", "of duplicates at the same time, at SERIALIZABLE, one commits; the others fail with a retryable error that leaves nothing, and find its receipt when they run again",
			func(t *trial[Tx]) { checkDuplicates(t, receipt.Serializable) },
		},
		{
			"retryable", "Retryable is false for an error that is no rolled-back transaction whose cause may be gone",
			checkRetryable[Tx],
		},
	}
}

func checkSecondReceipt[Tx any](t *trial[Tx]) {
	claim, mark := claimOn(newKey()), receipt.NewID()
	stored := t.commitFirst(claim)
	second := claimOn(claim.Key)
	emitted := eventFor(t, second)
	session := t.begin(second)
	t.write(session, mark)
	other := receiptFor(t, second)
	other.Outcome = "aborted"
	_, err := session.Commit(t.patient(), other, emitted)
	t.wantNotCommitted(err)
	if !t.Store.Retryable(fmt.Errorf("wrapped: %w", err)) {
		t.Errorf("Retryable(%v) = false; want true", err)
	}
	t.wantHistory(claim.Key, stored)
	t.wantWritten(mark, 0)
	t.wantEmitted(emitted.ID, 0)
}

// rival is one of several callers that settle one key at the same time.
type rival struct {
	marks []string // one a run of the callback
	final receipt.Receipt
	err   error
}

func checkDuplicates[Tx any](t *trial[Tx], isolation receipt.Isolation) {
	key := newKey()
	rivals := make([]rival, 4)
	ctx := t.patient()
	var ready, running sync.WaitGroup
	ready.Add(len(rivals))
	for i := range rivals {
		running.Go(func() {
			ready.Done()
			ready.Wait() // so that they begin together
			rivals[i].err = t.compete(ctx, key, isolation, &rivals[i])
		})
	}
	running.Wait()
	var marks []string
	for i := range rivals {
		if rivals[i].err != nil {
			t.Fatalf("a duplicate failed: %v", rivals[i].err)
		}
		marks = append(marks, rivals[i].marks...)
	}
	for i := range rivals {
		t.wantHistory(key, rivals[i].final)
	}
	written, err := t.Written(t.patient())
	if err != nil {
		t.Fatalf("Written = %v; want marks", err)
	}
	effects := 0
	for _, mark := range marks {
		effects += count(written, mark)
	}
	if effects != 1 {
		t.Errorf("%d runs of the callback took effect; want 1", effects)
	}
	if isolation == receipt.ReadCommitted && len(marks) != 1 {
		t.Errorf("the callback ran %d times; want 1", len(marks))
	}
}

// compete settles key as a runner would, until a receipt is final.
func (t *trial[Tx]) compete(ctx context.Context, key receipt.Key, isolation receipt.Isolation, r *rival) error {
	for {
		final, err := t.competeOnce(ctx, key, isolation, r)
		if err == nil {
			r.final = final
			return nil
		}
		if !t.Store.Retryable(err) || ctx.Err() != nil {
			return err
		}
	}
}

func (t *trial[Tx]) competeOnce(
	ctx context.Context, key receipt.Key, isolation receipt.Isolation, r *rival,
) (receipt.Receipt, error) {
	claim := claimOn(key)
	claim.Isolation = isolation
	session, err := t.Store.Begin(ctx, claim)
	if err != nil {
		return receipt.Receipt{}, err
	}
	if claimed, _ := session.Prior(); claimed != nil {
		return *claimed, session.Rollback(ctx)
	}
	mark := receipt.NewID()
	r.marks = append(r.marks, mark)
	if err := t.Write(ctx, session.Tx(), mark); err != nil {
		return receipt.Receipt{}, errors.Join(err, session.Rollback(ctx))
	}
	return session.Commit(ctx, receiptFor(t, claim))
}

func checkRetryable[Tx any](t *trial[Tx]) {
	for _, err := range []error{
		nil, errors.New("any other"), context.Canceled, context.DeadlineExceeded,
		receipt.ErrInFlight, receipt.ErrNotCommitted, receipt.ErrOutcomeUnknown, receipt.ErrTransactionEnded,
	} {
		if t.Store.Retryable(err) {
			t.Errorf("Retryable(%v) = true; want false", err)
		}
	}
}
