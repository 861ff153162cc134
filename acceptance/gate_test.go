package acceptance_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/receipt"
)

// countingStore counts the transactions that are open at once.
type countingStore struct {
	receipt.Store[houseTx]

	mu           sync.Mutex
	open, atOnce int
}

func (s *countingStore) Begin(ctx context.Context, claim receipt.Claim) (receipt.Session[houseTx], error) {
	s.change(1)
	session, err := s.Store.Begin(ctx, claim)
	if err != nil {
		s.change(-1)
		return nil, err
	}
	return &countedSession{session, sync.OnceFunc(func() { s.change(-1) })}, nil
}

func (s *countingStore) change(by int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open += by
	s.atOnce = max(s.atOnce, s.open)
}

type countedSession struct {
	receipt.Session[houseTx]
	ended func()
}

func (s *countedSession) Rollback(ctx context.Context) error {
	defer s.ended()
	return s.Session.Rollback(ctx)
}

func (s *countedSession) Commit(ctx context.Context, r receipt.Receipt, events ...event.Event) (receipt.Receipt, error) {
	defer s.ended()
	return s.Session.Commit(ctx, r, events...)
}

// TestHotWallet: a hundred bets on one wallet wait without a connection, and
// other wallets go on.
func TestHotWallet(t *testing.T) {
	t.Parallel()
	for _, width := range []int{0, 1, 3} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var store *countingStore
				release := make(chan struct{})
				h := newHouse(t, func(h *house, c *config) {
					store = &countingStore{Store: h.fake}
					c.Store = store
					c.WalletConcurrency = width
					c.MaxAttempts = 200 // the world has no row locks: rivals run again
					c.LockWallet = func(ctx context.Context, tx houseTx, c *acceptance.Command) (acceptance.Wallet, error) {
						if c.Wallet == "ann" {
							<-release
						}
						return h.lockWallet(ctx, tx, c)
					}
				})
				h.put("wallet/bob", record{available: eur(t, "50.00")})
				var all sync.WaitGroup
				for i := range 100 {
					all.Go(func() {
						if got := h.accept(single(t, fmt.Sprint("b", i), "1.00")); got.Verdict != acceptance.Accepted {
							t.Errorf("decision: %+v", got)
						}
					})
				}
				synctest.Wait()
				if want := max(width, 1); store.open != want {
					t.Errorf("%d transactions are open, want %d", store.open, want)
				}
				other := single(t, "other", "1.00")
				other.Wallet = "bob"
				h.accept(other)
				close(release)
				all.Wait()
				if want := max(width, 1) + 1; store.atOnce != want || h.available() != "0.00 EUR" {
					t.Errorf("%d at once, want %d; available %s", store.atOnce, want, h.available())
				}
			})
		})
	}
}

// TestGateIsLeft: by those that give up while they wait, and by a turn that
// comes at the same time.
func TestGateIsLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		h := newHouse(t, func(h *house, c *config) {
			c.LockWallet = func(ctx context.Context, tx houseTx, c *acceptance.Command) (acceptance.Wallet, error) {
				if c.ID == "first" {
					<-release
				}
				return h.lockWallet(ctx, tx, c)
			}
		})
		var all sync.WaitGroup
		all.Go(func() { h.accept(single(t, "first", "1.00")) })
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		for i := range 10 {
			all.Go(func() {
				if _, err := h.runner.Accept(ctx, single(t, fmt.Sprint("gone", i), "1.00")); !errors.Is(err, context.Canceled) {
					t.Errorf("got %v, want context.Canceled", err)
				}
			})
		}
		all.Go(func() { h.accept(single(t, "last", "1.00")) })
		synctest.Wait()
		cancel()
		synctest.Wait()
		close(release)
		all.Wait()
		if len(h.bets()) != 2 {
			t.Errorf("bets: %v", h.bets())
		}
	})
}

// TestGateKeepsTheOrder: who has waited longest goes first, and the wallet of the
// same name of another tenant waits for nobody.
func TestGateKeepsTheOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		h := newHouse(t, func(h *house, c *config) {
			c.LockWallet = func(ctx context.Context, tx houseTx, c *acceptance.Command) (acceptance.Wallet, error) {
				if c.Tenant == "shop" {
					<-release
				}
				return h.lockWallet(ctx, tx, c)
			}
		})
		want := []string{"other", "b0", "b1", "b2", "b3"}
		var all sync.WaitGroup
		for _, id := range want[1:] {
			all.Go(func() { h.accept(single(t, id, "1.00")) })
			synctest.Wait()
		}
		other := single(t, "other", "1.00")
		other.Tenant = "another shop"
		h.accept(other)
		close(release)
		all.Wait()
		var decided []string
		for _, r := range h.fake.Receipts() {
			decided = append(decided, r.Key.ID)
		}
		if diff := cmp.Diff(want, decided); diff != "" {
			t.Errorf("order of decisions (-want +got):\n%s", diff)
		}
	})
}

// TestResolveWaitsAtTheGate: traders' rulings on bets of one hot wallet hold one
// connection too.
func TestResolveWaitsAtTheGate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newReferringHouse(t)
		store := &countingStore{Store: h.fake}
		release := make(chan struct{})
		resolving := h.config
		resolving.Store = store
		resolving.LockWallet = func(ctx context.Context, tx houseTx, c *acceptance.Command) (acceptance.Wallet, error) {
			<-release
			return h.lockWallet(ctx, tx, c)
		}
		h.runner = h.newRunner(resolving)
		const referred = 10
		for i := range referred {
			h.accept(single(t, fmt.Sprint("b", i), "1.00"))
		}
		var all sync.WaitGroup
		for i := range referred {
			all.Go(func() {
				if got := h.resolve(fmt.Sprint("b", i), approving()); got.Verdict != acceptance.Accepted {
					t.Errorf("decision: %+v", got)
				}
			})
		}
		synctest.Wait()
		if store.open != 1 {
			t.Errorf("%d transactions are open, want 1", store.open)
		}
		close(release)
		all.Wait()
	})
}

// TestGateIsBoundedByTheLockTimeout: a wallet whose bet hangs gives the others
// back, and nothing was done.
func TestGateIsBoundedByTheLockTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		h := newHouse(t, func(h *house, c *config) {
			c.LockTimeout = time.Second
			c.LockWallet = func(ctx context.Context, tx houseTx, c *acceptance.Command) (acceptance.Wallet, error) {
				<-release
				return h.lockWallet(ctx, tx, c)
			}
		})
		var first sync.WaitGroup
		first.Go(func() { h.accept(single(t, "b1", "1.00")) })
		synctest.Wait()
		started := time.Now()
		_, err := h.runner.Accept(t.Context(), single(t, "b2", "1.00"))
		if !errors.Is(err, receipt.ErrInFlight) || time.Since(started) != time.Second {
			t.Errorf("got %v after %v, want ErrInFlight after a second", err, time.Since(started))
		}
		close(release)
		first.Wait()
		if len(h.bets()) != 1 {
			t.Errorf("bets: %v", h.bets())
		}
	})
}
