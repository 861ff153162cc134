package quotetoken_test

import (
	"context"
	"testing"
	"time"

	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/acceptance/money"
	"github.com/settleonce/settleonce/acceptance/quotetoken"
	"github.com/settleonce/settleonce/receipt/receipttest"
)

type houseTx = *receipttest.MemoryTx[string]

// house takes bets on markets that a feed owns, on the fake store.
type house struct {
	t      *testing.T
	runner *acceptance.Runner[houseTx, string]
	stake  money.Amount
	now    time.Time
}

func newHouse(t *testing.T, unreceipted ...acceptance.Code) *house {
	t.Helper()
	stake, err := new(money.Registry).Parse("10.00", "EUR")
	if err != nil {
		t.Fatal(err)
	}
	h := &house{t: t, stake: stake, now: issuedAt}
	fake, err := receipttest.New(receipttest.Config[houseTx]{World: new(receipttest.Memory[string])})
	if err != nil {
		t.Fatal(err)
	}
	verifier := verifier(t)
	h.runner, err = acceptance.New(acceptance.Config[houseTx, string]{
		Store: fake,
		LockWallet: func(context.Context, houseTx, *acceptance.Command) (acceptance.Wallet, error) {
			return acceptance.Wallet{Available: h.stake}, nil
		},
		Quote: func(_ context.Context, _ houseTx, c *acceptance.Command) (acceptance.Board, error) {
			return verifier.Board(c, h.now)
		},
		Place: func(_ context.Context, _ houseTx, p *acceptance.Proposal) (string, error) {
			return "taken at " + p.Legs[0].Quote.Odds.String(), nil
		},
		Unreceipted: unreceipted,
	})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// bet asks for odds under a version, with a token of what the feed says at the
// moment, and returns the decision in words.
func (h *house) bet(id, consents, version, at string, change func(*quotetoken.Claims)) string {
	h.t.Helper()
	stated := claims(h.t)
	if change != nil {
		change(&stated)
	}
	asked := leg()
	asked.QuoteVersion, asked.Odds, asked.Proof = version, odds(h.t, at), sign(h.t, signer(h.t), stated)
	decision, err := h.runner.Accept(h.t.Context(), acceptance.Command{
		Tenant: tenant, Wallet: "ann", ID: id, Consents: consents, Stake: h.stake,
		Type: acceptance.BetType{Kind: acceptance.Single}, Legs: []acceptance.Leg{asked},
	})
	if err != nil {
		h.t.Fatal(err)
	}
	words := string(decision.Verdict) + " " + decision.Bet + string(decision.Code)
	if decision.Verdict == acceptance.Requoted {
		words += decision.Legs[0].Quote.Odds.String()
	}
	if decision.Replayed {
		words += " again"
	}
	return words
}

func (h *house) want(want, got string) {
	h.t.Helper()
	if got != want {
		h.t.Errorf("decision is %q, want %q", got, want)
	}
}

// refreshed is the feed's word on the same version, given anew.
func refreshed(by time.Duration) func(*quotetoken.Claims) {
	return func(c *quotetoken.Claims) { c.IssuedAt = c.IssuedAt.Add(by) }
}

func TestRunnerDecidesByTokens(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.want("accepted taken at 1.85", h.bet("in time", "", "t7", "1.85", nil))
	h.want("rejected market_suspended", h.bet("suspended", "", "t7", "1.85", func(c *quotetoken.Claims) { c.Status = acceptance.MarketSuspended }))
	h.want("rejected quote_proof_invalid", h.bet("foreign", "", "t7", "1.85", func(c *quotetoken.Claims) { c.Tenant = "arena" }))
	h.want("requoted 1.85", h.bet("moved", "", "t6", "1.90", nil))
	h.want("accepted taken at 1.85", h.bet("consent", "moved", "t7", "1.85", nil))

	h.now = issuedAt.Add(ownStaleness)
	h.want("rejected quote_proof_stale", h.bet("stale", "", "t7", "1.85", nil))
	h.want("accepted taken at 1.85", h.bet("refreshed", "", "t7", "1.85", refreshed(time.Second)))

	h.now = issuedAt.Add(lifetime)
	h.want("rejected quote_proof_expired", h.bet("expired", "", "t7", "1.85", refreshed(lifetime-1)))
	h.want("accepted taken at 1.85 again", h.bet("in time", "", "t7", "1.85", nil))
	h.want("rejected quote_proof_stale again", h.bet("stale", "", "t7", "1.85", refreshed(lifetime-1)))
}

// The proof is no part of the command, so the same command may come with a
// fresh one, where the house does not store that the first one was stale.
func TestUnreceiptedTokensCanBeRefreshed(t *testing.T) {
	t.Parallel()
	h := newHouse(t, acceptance.CodeQuoteProofStale)
	h.now = issuedAt.Add(ownStaleness)
	h.want("rejected quote_proof_stale", h.bet("once", "", "t7", "1.85", nil))
	h.want("accepted taken at 1.85", h.bet("once", "", "t7", "1.85", refreshed(time.Second)))
	h.want("accepted taken at 1.85 again", h.bet("once", "", "t7", "1.85", nil))
}
