package acceptance_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/fingerprint"
	"github.com/settleonce/settleonce/receipt"
	"github.com/settleonce/settleonce/receipt/receipttest"
)

// listener keeps what a runner tells it.
type listener struct {
	mu    sync.Mutex
	heard []acceptance.Observation
}

func (l *listener) Observe(_ context.Context, o acceptance.Observation) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.heard = append(l.heard, o)
}

// last returns the newest observation, and its error apart.
func (l *listener) last() (acceptance.Observation, error) {
	o := l.heard[len(l.heard)-1]
	err := o.Err
	o.Err = nil
	return o, err
}

// TestObserver: each wait is told apart from the others, and nothing else is
// told.
func TestObserver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var ears listener
		h := newHouse(t, func(h *house, c *config) {
			c.Observer = &ears
			c.Risk.Assess = slowly(2*time.Millisecond, h.approve)
			c.LockWallet = slowly3(4*time.Millisecond, h.lockWallet)
			c.Quote = slowly3(8*time.Millisecond, h.quote)
			c.Place = slowly3(16*time.Millisecond, h.place)
		})
		h.accept(single(t, "b1", "10.00"))
		got, err := ears.last()
		want := acceptance.Observation{
			Tenant: "shop", Verdict: acceptance.Accepted, Attempts: 1,
			Risk: 2 * time.Millisecond, WalletWait: 4 * time.Millisecond, QuoteWait: 8 * time.Millisecond,
			Total: 30 * time.Millisecond,
		}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("accepted: %v (-want +got):\n%s", err, diff)
		}

		h.accept(single(t, "b1", "10.00"))
		got, err = ears.last()
		want = acceptance.Observation{Tenant: "shop", Verdict: acceptance.Accepted, Replayed: true}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("replayed: %v (-want +got):\n%s", err, diff)
		}

		if _, err := h.runner.Accept(t.Context(), acceptance.Command{Tenant: "shop"}); err == nil {
			t.Fatal("an empty command was accepted")
		}
		got, err = ears.last()
		if diff := cmp.Diff(acceptance.Observation{Tenant: "shop"}, got); diff != "" || !errors.Is(err, acceptance.ErrInvalid) {
			t.Errorf("invalid: %v (-want +got):\n%s", err, diff)
		}
	})
}

type assessFunc = func(context.Context, *acceptance.Command, fingerprint.Digest) (acceptance.Evidence, error)

func slowly(by time.Duration, assess assessFunc) assessFunc {
	return func(ctx context.Context, c *acceptance.Command, sum fingerprint.Digest) (acceptance.Evidence, error) {
		time.Sleep(by) //nolint:forbidigo // The bubble's time: it is exact.
		return assess(ctx, c, sum)
	}
}

func slowly3[In, Out any](
	by time.Duration, step func(context.Context, houseTx, In) (Out, error),
) func(context.Context, houseTx, In) (Out, error) {
	return func(ctx context.Context, tx houseTx, in In) (Out, error) {
		time.Sleep(by) //nolint:forbidigo // The bubble's time: it is exact.
		return step(ctx, tx, in)
	}
}

// TestObserverOfWaits: the wait for the wallet's turn and the wait for the key
// are two things.
func TestObserverOfWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var ears listener
		h := newHouse(t, func(h *house, c *config) {
			c.Observer = &ears
			c.Place = slowly3(10*time.Millisecond, h.place)
		})
		var all sync.WaitGroup
		all.Go(func() { h.accept(single(t, "b1", "1.00")) })
		synctest.Wait()
		all.Go(func() { h.accept(single(t, "b2", "1.00")) })
		all.Wait()
		if got := ears.heard[1]; got.GateWait != 10*time.Millisecond || got.KeyWait != 0 || got.Total != 20*time.Millisecond {
			t.Errorf("behind another bet on the wallet: %+v", got)
		}

		if err := h.fake.Inject(receipttest.SlowLock); err != nil {
			t.Fatal(err)
		}
		all.Go(func() { h.accept(single(t, "b3", "1.00")) })
		time.Sleep(7 * time.Millisecond) //nolint:forbidigo // The bubble's time: it is exact.
		h.fake.Heal()
		all.Wait()
		if got := ears.heard[2]; got.GateWait != 0 || got.KeyWait != 7*time.Millisecond {
			t.Errorf("behind a slow key: %+v", got)
		}
	})
}

// TestObserverOfADuplicate: who waits for the key while another process decides
// the same command is told how long.
func TestObserverOfADuplicate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var ears listener
		h := newHouse(t, func(h *house, c *config) { c.Place = slowly3(10*time.Millisecond, h.place) })
		elsewhere := h.config
		elsewhere.Observer = &ears
		other := h.newRunner(elsewhere)
		var all sync.WaitGroup
		all.Go(func() { h.accept(single(t, "b1", "1.00")) })
		synctest.Wait()
		got, err := other.Accept(t.Context(), single(t, "b1", "1.00"))
		all.Wait()
		if err != nil || !got.Replayed {
			t.Fatalf("got %+v, %v", got, err)
		}
		if o := ears.heard[0]; o.KeyWait != 10*time.Millisecond || o.Attempts != 0 {
			t.Errorf("behind the same command elsewhere: %+v", o)
		}
	})
}

func TestObserverCountsVerdicts(t *testing.T) {
	t.Parallel()
	var ears listener
	h := newReferringHouse(t)
	observed := h.config
	observed.Observer = &ears
	h.runner = h.newRunner(observed)
	h.accept(single(t, "b1", "10.00"))
	h.resolve("b1", acceptance.Resolution{Ruling: acceptance.Decline, By: "tess"})
	var heard []string
	for _, o := range ears.heard {
		heard = append(heard, string(o.Verdict)+" "+string(o.Code))
	}
	if diff := cmp.Diff([]string{"pending ", "rejected referral_declined"}, heard); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestObserverGetsNoPayload: an error that the caller gets tells of the wallet
// and of the stored decision; the observer is told its kind.
func TestObserverGetsNoPayload(t *testing.T) {
	t.Parallel()
	var ears listener
	var log bytes.Buffer
	h := newHouse(t, func(_ *house, c *config) {
		c.Observer = &ears
		c.Logger = slog.New(slog.NewTextHandler(&log, nil))
	})
	secret := errors.New("stake 77.32 of ann from 192.0.2.1")
	broken := h.config
	broken.Limits = func(context.Context, houseTx, *acceptance.Proposal) (acceptance.Ruling, error) {
		return acceptance.Ruling{}, secret
	}
	h.accept(single(t, "b1", "77.31"))
	_, conflict := h.runner.Accept(t.Context(), single(t, "b1", "77.32"))
	if _, ok := errors.AsType[*receipt.ConflictError](conflict); !ok {
		t.Fatalf("got %v, want a conflict", conflict)
	}
	h.runner = h.newRunner(broken)
	if _, err := h.runner.Accept(t.Context(), single(t, "b2", "10.00")); !errors.Is(err, secret) {
		t.Fatalf("got %v", err)
	}
	for i, want := range []error{nil, receipt.ErrFingerprintMismatch, nil} {
		heard := ears.heard[i].Err
		if i < 2 && heard != want { //nolint:errorlint // It is to be the kind and nothing around it.
			t.Errorf("observation %d: %v, want %v", i, heard, want)
		}
		if _, ok := errors.AsType[*receipt.ConflictError](heard); ok || errors.Is(heard, secret) {
			t.Errorf("observation %d has the payload: %v", i, heard)
		}
		if text := fmt.Sprint(heard); strings.Contains(text, "77.3") || strings.Contains(text, "ann") {
			t.Errorf("observation %d tells %q", i, text)
		}
	}
	if ears.heard[2].Err == nil {
		t.Error("the failure was not told")
	}
	if strings.Contains(log.String(), "77.3") {
		t.Errorf("the log tells %s", log.String())
	}
}

// panicking is an observer that cannot hear.
type panicking struct{}

func (panicking) Observe(context.Context, acceptance.Observation) { panic("deaf") }

// TestObserverThatPanics: the decision is committed, and its answer is given.
func TestObserverThatPanics(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	h := newHouse(t, func(_ *house, c *config) {
		c.Observer = panicking{}
		c.Logger = slog.New(slog.NewTextHandler(&log, nil))
	})
	if got := h.accept(single(t, "b1", "10.00")); got.Verdict != acceptance.Accepted {
		t.Errorf("got %s", got.Verdict)
	}
	if !strings.Contains(log.String(), "deaf") {
		t.Errorf("the log tells %q", log.String())
	}
}
