package acceptance_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/outbox/event"
)

// threeDoubles returns Ann's system of 5 EUR a line on three markets, at the
// material version of their quotes.
func threeDoubles(t *testing.T, h *house) acceptance.Command {
	t.Helper()
	c := single(t, "b1", "5.00")
	c.Type, c.StakeMode = acceptance.BetType{Kind: acceptance.System, Sizes: []int{2}}, acceptance.StakePerLine
	leg := c.Legs[0]
	leg.QuoteVersion = "m1"
	c.Legs = nil
	for i := range 3 {
		leg.Event, leg.Market = fmt.Sprint("event-", i), fmt.Sprint("market-", i)
		c.Legs = append(c.Legs, leg)
		h.put("market/"+leg.Market, record{quote: open(t, "v9", "2.00")})
	}
	return c
}

// TestProposal: the steps judge the total stake of all lines, at the quotes of
// the version that the Config names, and know what run they belong to.
func TestProposal(t *testing.T) {
	t.Parallel()
	var heard acceptance.Proposal
	var told answer
	h := newHouse(t, func(h *house, c *config) {
		c.Fence = acceptance.FenceMaterial
		c.Exposure = func(_ context.Context, _ houseTx, p *acceptance.Proposal) (acceptance.Ruling, error) {
			heard = *p
			return acceptance.Ruling{}, nil
		}
		c.Events = func(c *acceptance.Command, d *answer) ([]event.Event, error) {
			told = *d
			return h.events(c, d)
		}
	})
	c := threeDoubles(t, h)
	got := h.accept(c)
	if got.Verdict != acceptance.Accepted || !got.Bet.Stake.Equal(eur(t, "15.00")) || h.available() != "85.00 EUR" {
		t.Fatalf("decision: %+v, available %s", got, h.available())
	}
	sum, err := c.Fingerprint(false)
	if err != nil {
		t.Fatal(err)
	}
	if heard.Lines != 3 || !heard.Stake.Equal(eur(t, "15.00")) || !heard.Now.Equal(opening) ||
		heard.Attempt != got.Receipt.Attempt || !heard.Fingerprint.Equal(sum) {
		t.Errorf("proposal: %+v", heard)
	}
	if diff := cmp.Diff(got.Legs, heard.Legs, byValue()...); diff != "" {
		t.Errorf("legs of the proposal (-decision +proposal):\n%s", diff)
	}
	told.Receipt = got.Receipt // Not written yet when the events are made.
	if diff := cmp.Diff(got, told, byValue()...); diff != "" {
		t.Errorf("decision that Events saw (-answer +seen):\n%s", diff)
	}

	h.put("wallet/ann", record{available: eur(t, "14.99")})
	c.ID = "b2"
	if poor := h.accept(c); poor.Code != acceptance.CodeInsufficientFunds {
		t.Errorf("14.99 for three lines of 5.00: %+v", poor)
	}
}
