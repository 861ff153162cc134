package settle_test

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/settleonce/settleonce/receipt"
	"github.com/settleonce/settleonce/settle"
)

// countingStore counts the sessions that were begun.
type countingStore struct {
	receipt.Store[ratingsTx]
	mu     sync.Mutex
	begins int
}

func (s *countingStore) Begin(ctx context.Context, claim receipt.Claim) (receipt.Session[ratingsTx], error) {
	s.mu.Lock()
	s.begins++
	s.mu.Unlock()
	return s.Store.Begin(ctx, claim)
}

// crowd is a leader in its callback, and followers that wait for it.
type crowd struct {
	*bench
	store        *countingStore
	release      chan struct{} // lets the leader's callback return
	cancelLeader context.CancelFunc
	leader       chan error
	followers    chan error
}

func newCrowd(t *testing.T, followers int, request func(int) settle.Request) *crowd {
	t.Helper()
	c := &crowd{release: make(chan struct{}), leader: make(chan error, 1), followers: make(chan error, followers)}
	c.bench = newBench(t, func(config *settle.Config[ratingsTx]) {
		c.store = &countingStore{Store: config.Store}
		config.Store = c.store
		config.OnReceipt = nil
	})
	ctx, cancel := context.WithCancel(t.Context())
	c.cancelLeader = cancel
	go func() {
		_, err := settle.Do(ctx, c.runner, request(0), func(ctx context.Context, a *attempt) (int, error) {
			select {
			case <-c.release:
			case <-ctx.Done():
				return 0, context.Cause(ctx)
			}
			return c.win(ctx, a)
		})
		c.leader <- err
	}()
	synctest.Wait()
	for i := range followers {
		go func() {
			_, err := settle.Do(t.Context(), c.runner, request(i+1), c.win)
			c.followers <- err
		}()
	}
	synctest.Wait()
	return c
}

func same(int) settle.Request { return request() }

func TestFollowersWaitWithoutASession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, 50, same)
		if c.store.begins != 1 {
			t.Errorf("%d sessions while the leader works, want 1", c.store.begins)
		}
		close(c.release)
		synctest.Wait()
		for range 50 {
			if err := <-c.followers; err != nil {
				t.Error(err)
			}
		}
		if c.store.begins != 1 || c.calls != 1 || c.alice() != 10 {
			t.Errorf("%d sessions, %d calls, rating %d; want 1, 1, 10", c.store.begins, c.calls, c.alice())
		}
	})
}

func TestFollowerWithAnotherRequestGetsItsConflict(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, 1, func(i int) settle.Request {
			q := request()
			if i > 0 {
				q.Kind = settle.Aborted
			}
			return q
		})
		close(c.release)
		if err := <-c.followers; !errors.Is(err, receipt.ErrKindMismatch) {
			t.Errorf("err = %v, want ErrKindMismatch", err)
		}
		if err := <-c.leader; err != nil {
			t.Error(err)
		}
	})
}

// The followers of a flight each have an answer of their own to change.
func TestFollowersShareNoMemory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, 0, same)
		answers := make(chan []byte, 10)
		for range cap(answers) {
			go func() {
				result, err := settle.Do(t.Context(), c.runner, request(), c.win)
				if err != nil {
					t.Error(err)
				}
				answers <- bytes.Clone(result.Receipt.Value)
				clear(result.Receipt.Value)
			}()
		}
		synctest.Wait()
		close(c.release)
		for range cap(answers) {
			if value := string(<-answers); value != "10" {
				t.Errorf("a follower has the value %q, want 10", value)
			}
		}
		if err := <-c.leader; err != nil {
			t.Error(err)
		}
	})
}

func TestCancelledLeaderDoesNotFailItsFollowers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, 10, same)
		c.cancelLeader()
		if err := <-c.leader; !errors.Is(err, context.Canceled) {
			t.Errorf("leader: %v, want Canceled", err)
		}
		for range 10 {
			if err := <-c.followers; err != nil {
				t.Error(err)
			}
		}
		if c.calls != 1 || c.alice() != 10 {
			t.Errorf("%d calls, rating %d; want 1, 10", c.calls, c.alice())
		}
	})
}

func TestFollowerThatGivesUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, 0, same)
		ctx, cancel := context.WithCancel(t.Context())
		gaveUp := make(chan error)
		go func() {
			_, err := settle.Do(ctx, c.runner, request(), c.win)
			gaveUp <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-gaveUp; !errors.Is(err, receipt.ErrInFlight) || !errors.Is(err, context.Canceled) {
			t.Errorf("err = %v, want ErrInFlight and Canceled", err)
		}
		close(c.release)
		if err := <-c.leader; err != nil {
			t.Error(err)
		}
	})
}

func TestNoWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		entered, release := make(chan struct{}), make(chan struct{})
		b := newBench(t, func(c *settle.Config[ratingsTx]) { c.NoWait = true })
		leader := make(chan error)
		go func() {
			_, err := settle.Do(t.Context(), b.runner, request(), func(ctx context.Context, a *attempt) (int, error) {
				close(entered)
				<-release
				return b.win(ctx, a)
			})
			leader <- err
		}()
		<-entered
		if _, err := b.do(t.Context()); !errors.Is(err, receipt.ErrInFlight) {
			t.Errorf("err = %v, want ErrInFlight", err)
		}
		other := request()
		other.Key.ID = "8"
		if _, err := settle.Do(t.Context(), b.runner, other, func(context.Context, *attempt) (int, error) { return 0, nil }); err != nil {
			t.Errorf("another key: %v", err)
		}
		close(release)
		if err := <-leader; err != nil {
			t.Error(err)
		}
	})
}
