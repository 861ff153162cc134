package acceptance_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/receipt"
	"github.com/settleonce/settleonce/receipt/receipttest"
)

// TestFaults: what each fault of the store comes to, and that a second call
// ends in the one bet, placed once.
func TestFaults(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		fault    receipttest.Fault
		err      error // of the first call
		replayed bool
	}{
		{fault: receipttest.NoFault},
		{fault: receipttest.FailBegin, err: receipttest.ErrInjected},
		{fault: receipttest.FailBeforeCommit, err: receipt.ErrNotCommitted},
		{fault: receipttest.RerunCallback},
		{fault: receipttest.LoseAnswer},
		{fault: receipttest.RivalFirst, replayed: true},
		{fault: receipttest.UnknownThenFound},
		{fault: receipttest.UnknownThenNotFound},
		{fault: receipttest.UnknownThenRival, replayed: true},
	} {
		t.Run(string(test.fault), func(t *testing.T) {
			t.Parallel()
			h := newHouse(t, nil, test.fault)
			got, err := h.runner.Accept(t.Context(), single(t, "b1", "10.00"))
			if !errors.Is(err, test.err) || (test.err == nil) != (err == nil) {
				t.Fatalf("got %v, want %v", err, test.err)
			}
			if err == nil && (got.Verdict != acceptance.Accepted || got.Replayed != test.replayed) {
				t.Errorf("decision: %+v", got)
			}
			if again := h.accept(single(t, "b1", "10.00")); again.Verdict != acceptance.Accepted || again.Replayed != (err == nil) {
				t.Errorf("again: %+v", again)
			}
			if h.fake.Fired(test.fault) != 1 || h.available() != "90.00 EUR" || len(h.fake.Receipts()) != 1 || len(h.fake.Events()) != 1 {
				t.Errorf("fired %d, available %s, receipts %v, events %d", h.fake.Fired(test.fault), h.available(), h.verdicts(), len(h.fake.Events()))
			}
		})
	}
}

// TestSchedules runs many bets under many seeds of faults: each is decided once,
// and the wallet agrees.
func TestSchedules(t *testing.T) {
	t.Parallel()
	for seed := range uint64(100) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			h := newHouse(t, nil, receipttest.Schedule(seed, 12)...)
			accepted := 0
			for i := range 8 {
				command := single(t, fmt.Sprint("b", i), "20.00")
				decision := h.insist(command)
				if decision.Verdict == acceptance.Accepted {
					accepted++
				}
				if again := h.insist(command); string(again.Receipt.Value) != string(decision.Receipt.Value) {
					t.Errorf("another answer: %s, was %s", again.Receipt.Value, decision.Receipt.Value)
				}
			}
			if accepted != 5 || len(h.bets()) != 5 || h.available() != "0.00 EUR" || len(h.fake.Receipts()) != 8 {
				t.Errorf("%d accepted, bets %v, available %s, %d receipts", accepted, h.bets(), h.available(), len(h.fake.Receipts()))
			}
		})
	}
}

// insist sends a command until it has an answer.
func (h *house) insist(c acceptance.Command) answer {
	h.t.Helper()
	for range 50 {
		decision, err := h.runner.Accept(h.t.Context(), c)
		if err == nil {
			return decision
		}
		h.fake.Heal()
	}
	h.t.Fatalf("%q gets no answer", c.ID)
	return answer{}
}

// TestWithheldAnswer: the decision is valid, and the next call shows the
// receipt again.
func TestWithheldAnswer(t *testing.T) {
	t.Parallel()
	shown, fail := 0, errors.New("not yet")
	h := newHouse(t, func(_ *house, c *config) {
		c.OnReceipt = func(context.Context, receipt.Receipt, bool) error {
			shown++
			if shown < 3 {
				return fail
			}
			return nil
		}
	})
	for call := range 3 {
		got, err := h.runner.Accept(t.Context(), single(t, "b1", "10.00"))
		if got.Verdict != acceptance.Accepted || got.Replayed != (call > 0) || errors.Is(err, receipt.ErrWithheld) != (call < 2) {
			t.Errorf("call %d: %+v, %v", call, got, err)
		}
	}
	if shown != 3 {
		t.Errorf("OnReceipt ran %d times", shown)
	}
}

// TestResolveShowsTheReceipt: also of a decision that it finds made.
func TestResolveShowsTheReceipt(t *testing.T) {
	t.Parallel()
	var shown []string
	h := newHouse(t, func(_ *house, c *config) {
		c.OnReceipt = func(_ context.Context, r receipt.Receipt, replayed bool) error {
			shown = append(shown, fmt.Sprint(r.Outcome, " ", replayed))
			return nil
		}
	})
	h.accept(single(t, "b1", "10.00"))
	h.resolve("b1", approving())
	if diff := cmp.Diff([]string{"accepted false", "accepted true"}, shown); diff != "" {
		t.Errorf("OnReceipt saw (-want +got):\n%s", diff)
	}
}

// oneWay is a bet that can be written and not read.
type oneWay struct{}

func (oneWay) MarshalJSON() ([]byte, error) { return []byte(`{}`), nil }

func (*oneWay) UnmarshalJSON([]byte) error { return errors.New("cannot be read") }

// TestBetThatCannotBeReadBack: nothing is committed that no replay could return.
func TestBetThatCannotBeReadBack(t *testing.T) {
	t.Parallel()
	h := newHouse(t, nil)
	made, err := acceptance.New(acceptance.Config[houseTx, oneWay]{
		Store: h.fake, LockWallet: h.lockWallet, Quote: h.quote,
		Place: func(ctx context.Context, tx houseTx, p *acceptance.Proposal) (oneWay, error) {
			_, err := h.place(ctx, tx, p)
			return oneWay{}, err
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := made.Accept(t.Context(), single(t, "b1", "10.00")); !errors.Is(err, acceptance.ErrValue) {
		t.Errorf("got %v, want ErrValue", err)
	}
	if len(h.fake.Receipts()) != 0 || len(h.bets()) != 0 {
		t.Errorf("receipts %v, bets %v", h.verdicts(), h.bets())
	}
}
