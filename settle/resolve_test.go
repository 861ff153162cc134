package settle_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/receipt"
	"github.com/settleonce/settleonce/receipt/receipttest"
	"github.com/settleonce/settleonce/settle"
)

// watchedStore notes every claim, and gives its sessions' Rollback an error.
type watchedStore struct {
	receipt.Store[ratingsTx]
	claims      []receipt.Claim
	rollbackErr error
}

func (s *watchedStore) Begin(ctx context.Context, claim receipt.Claim) (receipt.Session[ratingsTx], error) {
	s.claims = append(s.claims, claim)
	session, err := s.Store.Begin(ctx, claim)
	if err != nil {
		return nil, err
	}
	return &watchedSession{session, s.rollbackErr}, nil
}

type watchedSession struct {
	receipt.Session[ratingsTx]
	rollbackErr error
}

func (s *watchedSession) Rollback(ctx context.Context) error {
	return errors.Join(s.Session.Rollback(ctx), s.rollbackErr)
}

// newWatchedBench returns a bench at SERIALIZABLE and the store between it and
// its fake.
func newWatchedBench(t *testing.T, faults ...receipttest.Fault) (*bench, *watchedStore) {
	t.Helper()
	var store *watchedStore
	b := newBench(t, func(config *settle.Config[ratingsTx]) {
		store = &watchedStore{Store: config.Store}
		config.Store = store
		config.Isolation = receipt.Serializable
	}, faults...)
	return b, store
}

func TestResolvingGoesOnAfterAnError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, _ := newWatchedBench(t, receipttest.LoseAnswer, receipttest.FailBegin, receipttest.FailBegin)
		result, err := b.do(t.Context())
		if err != nil || result.Replayed || b.calls != 1 || b.hooks != 1 {
			t.Errorf("%+v, %v, %d calls, %d hooks; want a first commit with one call and one hook", result, err, b.calls, b.hooks)
		}
		if fired := b.fake.Fired(receipttest.FailBegin); fired != 2 {
			t.Errorf("%d looks failed, want 2", fired)
		}
	})
}

// TestResolvingReadsWhatTheLockWaitedFor checks that a look begins at READ
// COMMITTED whatever the runner's level is: an older snapshot would miss the
// commit that the lock waited out.
func TestResolvingReadsWhatTheLockWaitedFor(t *testing.T) {
	t.Parallel()
	b, store := newWatchedBench(t, receipttest.UnknownThenFound)
	if _, err := b.do(t.Context()); err != nil {
		t.Fatal(err)
	}
	var levels []receipt.Isolation
	attempts := make(map[string]bool)
	for _, claim := range store.claims {
		levels = append(levels, claim.Isolation)
		attempts[claim.Attempt] = true
	}
	if len(levels) != 2 || levels[0] != receipt.Serializable || levels[1] != receipt.ReadCommitted {
		t.Errorf("levels = %v, want SERIALIZABLE for the attempt, READ COMMITTED for the look", levels)
	}
	if len(attempts) != 2 {
		t.Error("the look claimed the key with the attempt's id")
	}
}

// TestResolvingOutlivesItsCaller cancels the caller at the moment of the
// commit: the commit is seen through and the hook runs.
func TestResolvingOutlivesItsCaller(t *testing.T) {
	t.Parallel()
	for _, fault := range []receipttest.Fault{receipttest.NoFault, receipttest.LoseAnswer, receipttest.UnknownThenFound} {
		b := newBench(t, nil, fault)
		ctx := &cancelledAfterCallback{Context: t.Context(), done: make(chan struct{})}
		result, err := settle.Do(ctx, b.runner, request(), func(callbackCtx context.Context, a *attempt) (int, error) {
			defer func() { ctx.returned = true }()
			return b.win(callbackCtx, a)
		})
		if err != nil || result.Value != 10 || b.hooks != 1 {
			t.Errorf("%s: %+v, %v, %d hooks", fault, result, err, b.hooks)
		}
	}
}

// cancelledAfterCallback is a context that is seen alive by the one check
// behind the callback and is cancelled ever after.
type cancelledAfterCallback struct {
	context.Context //nolint:containedctx // It is a context.
	returned        bool
	checks          int
	done            chan struct{}
}

func (c *cancelledAfterCallback) Done() <-chan struct{} { return c.done }

func (c *cancelledAfterCallback) Err() error {
	if !c.returned {
		return nil
	}
	c.checks++
	if c.checks == 1 {
		close(c.done)
		return nil
	}
	return context.Canceled
}

// TestEndedTransactionIsNeverTriedAgain has a callback that ended the
// transaction itself and then failed with an error that is worth a retry: its
// effects may be committed, so there is none.
func TestEndedTransactionIsNeverTriedAgain(t *testing.T) {
	t.Parallel()
	b, store := newWatchedBench(t)
	store.rollbackErr = receipt.ErrTransactionEnded
	_, err := settle.Do(t.Context(), b.runner, request(), func(context.Context, *attempt) (int, error) {
		b.calls++
		return 0, fmt.Errorf("deadlock: %w", receipttest.ErrSerialization)
	})
	if !errors.Is(err, receipt.ErrTransactionEnded) || !errors.Is(err, receipttest.ErrSerialization) {
		t.Errorf("err = %v, want ErrTransactionEnded and the callback's own", err)
	}
	if b.calls != 1 {
		t.Errorf("%d calls, want 1", b.calls)
	}
}

// vagueStore loses the meaning of what its sessions' Commit says.
type vagueStore struct{ receipt.Store[ratingsTx] }

func (s vagueStore) Begin(ctx context.Context, claim receipt.Claim) (receipt.Session[ratingsTx], error) {
	session, err := s.Store.Begin(ctx, claim)
	if err != nil {
		return nil, err
	}
	return vagueSession{session}, nil
}

type vagueSession struct{ receipt.Session[ratingsTx] }

var errVague = errors.New("something went wrong")

func (s vagueSession) Commit(ctx context.Context, r receipt.Receipt, events ...event.Event) (receipt.Receipt, error) {
	_, _ = s.Session.Commit(ctx, r, events...) // which commits, or does not
	return receipt.Receipt{}, errVague
}

// TestUnclassifiedErrorOfACommitIsUnknown has a store whose Commit fails with an
// error that is none of those that say what became of it. It costs a look, and
// is neither taken for a failure nor for a success (I5).
func TestUnclassifiedErrorOfACommitIsUnknown(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(c *settle.Config[ratingsTx]) { c.Store = vagueStore{c.Store} })
	result, err := b.do(t.Context())
	if err != nil || result.Replayed || result.Value != 10 {
		t.Errorf("%+v, %v; want the first commit, found by a look", result, err)
	}
	if b.calls != 1 || b.hooks != 1 || b.alice() != 10 {
		t.Errorf("%d calls, %d hooks, rating %d; want 1, 1, 10", b.calls, b.hooks, b.alice())
	}
}

// boundedStore notes how long Commit may take.
type boundedStore struct {
	receipt.Store[ratingsTx]
	commits *[]time.Duration
}

func (s boundedStore) Begin(ctx context.Context, claim receipt.Claim) (receipt.Session[ratingsTx], error) {
	session, err := s.Store.Begin(ctx, claim)
	if err != nil {
		return nil, err
	}
	return boundedSession{session, s.commits}, nil
}

type boundedSession struct {
	receipt.Session[ratingsTx]
	commits *[]time.Duration
}

func (s boundedSession) Commit(ctx context.Context, r receipt.Receipt, events ...event.Event) (receipt.Receipt, error) {
	deadline, _ := ctx.Deadline()
	*s.commits = append(*s.commits, time.Until(deadline))
	return s.Session.Commit(ctx, r, events...)
}

// TestBoundsByDefault has nobody who can tell what became of a commit, and a
// callback whose every run fails.
func TestBoundsByDefault(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var commits []time.Duration
		faults := append([]receipttest.Fault{receipttest.LoseAnswer}, slices.Repeat([]receipttest.Fault{receipttest.FailBegin}, 1000)...)
		b := newBench(t, func(c *settle.Config[ratingsTx]) { c.Store = boundedStore{c.Store, &commits} }, faults...)
		began := time.Now()
		if _, err := b.do(t.Context()); !errors.Is(err, receipt.ErrOutcomeUnknown) {
			t.Errorf("err = %v, want ErrOutcomeUnknown", err)
		}
		if looked := time.Since(began); looked != 30*time.Second {
			t.Errorf("gave up looking after %v, want 30s", looked)
		}
		if len(commits) != 1 || commits[0] != 10*time.Second {
			t.Errorf("commits may take %v, want one of 10s", commits)
		}

		b = newBench(t, nil, slices.Repeat([]receipttest.Fault{receipttest.RerunCallback}, 1000)...)
		if _, err := b.do(t.Context()); !errors.Is(err, receipt.ErrNotCommitted) || b.calls != 5 {
			t.Errorf("err = %v after %d attempts, want ErrNotCommitted after 5", err, b.calls)
		}
	})
}
