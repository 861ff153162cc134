package quotetoken_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/acceptance/quotetoken"
)

func TestBoardHasAQuoteOrARefusalALeg(t *testing.T) {
	t.Parallel()
	now := issuedAt.Add(4 * time.Second)
	carrying := func(change func(*quotetoken.Claims)) acceptance.Leg {
		stated, carrier := claims(t), leg()
		change(&stated)
		carrier.Proof = sign(t, signer(t), stated)
		return carrier
	}
	c := &acceptance.Command{Tenant: tenant, Legs: []acceptance.Leg{
		carrying(func(*quotetoken.Claims) {}),
		leg(),
		carrying(func(c *quotetoken.Claims) { c.ExpiresAt = now }),
		carrying(func(c *quotetoken.Claims) { c.MaxStaleness = 4 * time.Second }),
		carrying(func(c *quotetoken.Claims) { c.Tenant = "arena" }),
		carrying(func(c *quotetoken.Claims) { c.Status = acceptance.MarketSuspended }),
	}}
	got, err := verifier(t).Board(c, now)
	if err != nil {
		t.Fatal(err)
	}
	held := acceptance.Quote{Version: "t7", Material: "m3", Odds: odds(t, "1.85"), Status: acceptance.MarketOpen, CutOff: issuedAt.Add(time.Hour)}
	suspended := held
	suspended.Status = acceptance.MarketSuspended
	want := acceptance.Board{Now: now, Quotes: []acceptance.Quote{
		held,
		{Refusal: acceptance.CodeQuoteProofInvalid},
		{Refusal: acceptance.CodeQuoteProofExpired},
		{Refusal: acceptance.CodeQuoteProofStale},
		{Refusal: acceptance.CodeQuoteProofInvalid},
		suspended,
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("board (-want +got):\n%s", diff)
	}
}

func TestBoardFailsForTheCallersMistake(t *testing.T) {
	t.Parallel()
	c := &acceptance.Command{Tenant: tenant, Legs: []acceptance.Leg{leg()}}
	board, err := verifier(t).Board(c, time.Time{})
	if err == nil || board.Quotes != nil {
		t.Errorf("board %+v without a clock, error %v", board, err)
	}
}

func TestRefusalOfWhatIsNoRefusal(t *testing.T) {
	t.Parallel()
	for _, err := range []error{nil, errors.New("away"), quotetoken.ErrClaims} {
		if code, refused := quotetoken.Refusal(err); refused || code != "" {
			t.Errorf("%v rejects with %q", err, code)
		}
	}
}
