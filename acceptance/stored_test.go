package acceptance_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/receipt"
)

// longest returns a valid command whose JSON is as long as any, where every
// byte of its texts is escaped.
func longest(t *testing.T, text string) acceptance.Command {
	t.Helper()
	full := func(most int) string { return strings.Repeat(text, most/len(text)) }
	c := single(t, "b1", "10.00")
	c.Type.Kind = acceptance.Accumulator
	c.Funding, c.Consents = full(acceptance.MaxText), ""
	c.Extra = fmt.Appendf(nil, `{"x":%q}`, strings.Repeat("<", acceptance.MaxExtra-len(`{"x":""}`)))
	leg := acceptance.Leg{
		Market: "1x2", Selection: full(acceptance.MaxText), Line: full(acceptance.MaxText),
		QuoteVersion: full(acceptance.MaxText), Odds: c.Legs[0].Odds, Proof: full(acceptance.MaxProof),
	}
	c.Legs = nil
	for i := range acceptance.MaxLegs {
		leg.Event = fmt.Sprintf("%02d", i) + full(acceptance.MaxText-2)
		c.Legs = append(c.Legs, leg)
	}
	return c
}

// TestEveryCommandCanBeReferred: the receipt of a referral, which keeps the
// command, has room for the longest.
func TestEveryCommandCanBeReferred(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"<", `"`, "\u2028"} {
		h := newReferringHouse(t)
		if got := h.accept(longest(t, text)); got.Verdict != acceptance.Pending {
			t.Errorf("%q: %s", text, got.Verdict)
		}
		if got := h.resolve("b1", acceptance.Resolution{Ruling: acceptance.Decline, By: "tess"}); got.Verdict != acceptance.Rejected {
			t.Errorf("%q: resolved: %s", text, got.Verdict)
		}
	}
}

// TestLongBet: a bet for which a receipt has no room is the mistake of Place,
// and found before the commit.
func TestLongBet(t *testing.T) {
	t.Parallel()
	h := newHouse(t, func(h *house, c *config) {
		c.Place = func(ctx context.Context, tx houseTx, p *acceptance.Proposal) (placed, error) {
			bet, err := h.place(ctx, tx, p)
			bet.ID = strings.Repeat("x", receipt.MaxOutcome)
			return bet, err
		}
	})
	_, err := h.runner.Accept(t.Context(), single(t, "b1", "10.00"))
	if !errors.Is(err, acceptance.ErrValue) || !strings.Contains(err.Error(), "at most 1048576 bytes") {
		t.Errorf("got %v, want ErrValue", err)
	}
	if len(h.fake.Receipts()) != 0 || h.available() != "100.00 EUR" {
		t.Errorf("receipts %v, available %s", h.verdicts(), h.available())
	}
}
