package housetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/acceptance/money"
	"github.com/settleonce/settleonce/fingerprint"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/receipt"

	"github.com/settleonce/settleonce/examples/sportsbook/bet"
	"github.com/settleonce/settleonce/examples/sportsbook/exposure"
	"github.com/settleonce/settleonce/examples/sportsbook/house"
	"github.com/settleonce/settleonce/examples/sportsbook/market"
)

// Price returns a selection's new odds.
func Price(t testing.TB, selection, odds string) market.Price {
	t.Helper()
	return market.Price{Selection: selection, Odds: Odds(t, odds)}
}

func requotes(t *trial) {
	t.must(t.Trading.Move(t.Context(), "winner", Price(t, "home", "1.80")))
	before := t.tables()
	c := Single(t, "ann", "50.00", "winner", "home", "2.00")
	offered := t.accept(c, acceptance.Requoted).Legs[0].Quote
	if offered.Version != "2" || !offered.Odds.Equal(Odds(t, "1.80")) {
		t.Errorf("offered is %+v", offered)
	}
	t.wantTables(before)
	consenting := Single(t, "ann", "50.00", "winner", "home", "1.80")
	consenting.Legs[0].QuoteVersion = offered.Version
	consenting.Consents = c.ID
	decision := t.accept(consenting, acceptance.Accepted)
	if want := EUR(t, "90.00"); !decision.Bet.Payout.Equal(want) {
		t.Errorf("the bet pays %s, want %s", decision.Bet.Payout, want)
	}
	late := consenting
	late.ID = receipt.NewID()
	if _, err := t.house.Accept(t.Context(), late); !errors.Is(err, acceptance.ErrConsentUsed) {
		t.Errorf("a second consent: error %v", err)
	}
	chain, err := t.house.Chain(t.Context(), referenceOf(c))
	t.must(err)
	if len(chain) != 2 || chain[0].ID != c.ID || chain[1].ID != consenting.ID {
		t.Errorf("the chain is %+v", chain)
	}
}

// The suspension begins while a bet is about to commit.
func suspends(t *trial) {
	suspended := make(chan error, 1)
	before := t.newHouse(func(config *house.Config) {
		config.Store = atCommit{t.Store, func(house.Unit, []event.Event) error {
			go func() { suspended <- t.Trading.Suspend(t.Context(), "winner") }()
			found, err := t.Books.Market(t.Context(), "winner")
			if err != nil || found.Status != acceptance.MarketOpen {
				t.Errorf("beside an open bet the market is %q, error %v", found.Status, err)
			}
			return nil
		}}
	})
	c := Single(t, "ann", "10.00", "winner", "home", "2.00")
	decision, err := before.Accept(t.Context(), c)
	if err != nil || decision.Verdict != acceptance.Accepted {
		t.Errorf("the bet before: verdict %q, error %v", decision.Verdict, err)
	}
	t.must(<-suspended)
	t.reject(Single(t, "ann", "10.00", "winner", "home", "2.00"), acceptance.CodeMarketSuspended)
	t.must(t.Trading.Resume(t.Context(), "winner"))
	t.accept(Single(t, "ann", "10.00", "winner", "home", "2.00"), acceptance.Accepted)
}

func outdatesByMaterial(t *trial) {
	t.house = t.newHouse(func(config *house.Config) { config.Fence = acceptance.FenceMaterial })
	t.must(t.Trading.Move(t.Context(), "winner", Price(t, "home", "2.10")))
	moved := Single(t, "ann", "10.00", "winner", "home", "2.10")
	t.accept(moved, acceptance.Accepted)
	t.must(t.Trading.Suspend(t.Context(), "winner"))
	t.must(t.Trading.Resume(t.Context(), "winner"))
	offered := t.accept(Single(t, "ann", "10.00", "winner", "home", "2.10"), acceptance.Requoted).Legs[0].Quote
	if offered.Material != "2" {
		t.Errorf("offered is %+v, want the material version after the suspension", offered)
	}
}

func fillsExposure(t *trial) {
	t.must(t.Trading.OpenMarket(t.Context(), Opening(t, "narrow", "10.03", "yes", "2.00", "no", "2.00")))
	t.accept(Single(t, "ann", "7.00", "narrow", "yes", "2.00"), acceptance.Accepted)
	t.reject(Single(t, "ann", "3.04", "narrow", "yes", "2.00"), acceptance.CodeExposureExceeded)
	t.accept(Single(t, "ann", "3.03", "narrow", "yes", "2.00"), acceptance.Accepted)
	t.reject(Single(t, "ann", "0.01", "narrow", "yes", "2.00"), acceptance.CodeExposureExceeded)
	t.accept(Single(t, "ann", "1.00", "narrow", "no", "2.00"), acceptance.Accepted)
	for _, stripe := range t.tables().Stripes {
		if stripe.Market == "narrow" && stripe.Selection.Selection == "yes" && !stripe.Taken.Equal(stripe.Limit) {
			t.Errorf("stripe %+v is not full", stripe)
		}
	}
}

func racesForExposure(t *trial) {
	const fit, rivals = 5, 12
	t.must(t.Trading.OpenMarket(t.Context(), Opening(t, "narrow", "5.00", "yes", "2.00")))
	var players []string
	for i := range rivals {
		players = append(players, fmt.Sprint("rival-", i))
	}
	t.must(t.Cashier.OpenWallets(t.Context(), []money.Amount{EUR(t, "10.00")}, players...))
	var accepted, rejected atomic.Int64
	var running sync.WaitGroup
	for _, player := range players {
		c := Single(t, player, "1.00", "narrow", "yes", "2.00")
		running.Go(func() {
			decision, err := t.house.Accept(t.Context(), c)
			switch {
			case err != nil:
				t.Error(err)
			case decision.Verdict == acceptance.Accepted:
				accepted.Add(1)
			case decision.Code == acceptance.CodeExposureExceeded:
				rejected.Add(1)
			default:
				t.Errorf("verdict %q, code %q", decision.Verdict, decision.Code)
			}
		})
	}
	running.Wait()
	if accepted.Load() != fit || rejected.Load() != rivals-fit {
		t.Errorf("%d were accepted and %d rejected for exposure; want %d and %d", accepted.Load(), rejected.Load(), fit, rivals-fit)
	}
}

// A rival takes the last room between the look at a stripe and the commit.
func runsAgainWithoutRoom(t *trial) {
	runs := 0
	t.house = t.newHouse(func(config *house.Config) {
		config.Store = atCommit{t.Store, func(unit house.Unit, _ []event.Event) error {
			if runs++; runs > 1 {
				return nil
			}
			tooMuch := exposure.Take{
				Selection: exposure.Selection{Market: "winner", Selection: "home"}, Number: 0, Amount: EUR(t, "250.01"),
			}
			return unit.Take(t.Context(), bet.Reference{Wallet: "ann", ID: "another"}, []exposure.Take{tooMuch})
		}}
	})
	t.accept(Single(t, "ann", "10.00", "winner", "home", "2.00"), acceptance.Accepted)
	if runs != 2 {
		t.Errorf("the transaction ran %d times, want 2", runs)
	}
}

func refers(t *trial) {
	t.house = t.newHouse(func(config *house.Config) {
		config.ReferralLifetime = time.Hour
		config.Risk.Assess = func(_ context.Context, _ *acceptance.Command, sum fingerprint.Digest) (acceptance.Evidence, error) {
			now := time.Now()
			return acceptance.Evidence{
				ID: receipt.NewID(), Version: "1", Fingerprint: sum, IssuedAt: now, ExpiresAt: now.Add(time.Hour), Opinion: acceptance.RiskRefer,
			}, nil
		}
	})
	c := Single(t, "ann", "50.00", "winner", "home", "2.00")
	pending := t.accept(c, acceptance.Pending)
	t.wantBalance("100.00", "0.00")
	want := []bet.Referral{{Reference: referenceOf(c), Stake: EUR(t, "50.00"), ExpiresAt: pending.ExpiresAt}}
	if diff := cmp.Diff(want, t.tables().Referrals); diff != "" {
		t.Errorf("referrals (-want +got):\n%s", diff)
	}
	resolved, err := t.house.Resolve(t.Context(), referenceOf(c), acceptance.Resolution{Ruling: acceptance.Approve, By: "tess"})
	if err != nil || resolved.Verdict != acceptance.Accepted {
		t.Errorf("resolved as %q, error %v", resolved.Verdict, err)
	}
	found, err := t.house.Lookup(t.Context(), referenceOf(c))
	if err != nil || found.Verdict != acceptance.Accepted {
		t.Errorf("found as %q, error %v", found.Verdict, err)
	}
	t.wantBalance("50.00", "50.00")
}

func tradesByItsRules(t *trial) {
	ctx := t.Context()
	noErr := func(err error) { t.Helper(); t.must(err) }
	noErr(t.Trading.Suspend(ctx, "winner"))
	noErr(t.Trading.Suspend(ctx, "winner"))
	found, err := t.Books.Market(ctx, "winner")
	if err != nil || found.Material != 2 || found.Status != acceptance.MarketSuspended {
		t.Errorf("suspended twice, the market is %+v, error %v", found, err)
	}
	result := market.Result{Version: "feed-1", Winner: "home"}
	for _, wrong := range []struct {
		what string
		err  error
		want error
	}{
		{"odds of an unknown selection", t.Trading.Move(ctx, "score", Price(t, "even", "3.00"), Price(t, "none", "2.00")), house.ErrUnknownSelection},
		{"an unknown market", t.Trading.Suspend(ctx, "loser"), house.ErrUnknownMarket},
		{"a winner that is none", t.Trading.CloseMarket(ctx, "winner", market.Result{Version: "feed-1", Winner: "draw"}), house.ErrUnknownSelection},
		{"the result", t.Trading.CloseMarket(ctx, "winner", result), nil},
		{"the same result", t.Trading.CloseMarket(ctx, "winner", result), nil},
		{"another result", t.Trading.CloseMarket(ctx, "winner", market.Result{Version: "feed-2", Winner: "away"}), house.ErrMarketClosed},
		{"odds of a closed market", t.Trading.Move(ctx, "winner", Price(t, "home", "3.00")), house.ErrMarketClosed},
		{"a suspension of a closed market", t.Trading.Suspend(ctx, "winner"), house.ErrMarketClosed},
		{"a closed market resumed", t.Trading.Resume(ctx, "winner"), house.ErrMarketClosed},
	} {
		if !errors.Is(wrong.err, wrong.want) {
			t.Errorf("%s: error %v, want %v", wrong.what, wrong.err, wrong.want)
		}
	}
	if err := t.Trading.CloseMarket(ctx, "score", market.Result{Version: "feed-1"}); err == nil {
		t.Error("a market was closed with neither a winner nor void")
	}
	found, err = t.Books.Market(ctx, "score")
	if err != nil || found.Selections[0].Tick != 1 || !found.Selections[0].Odds.Equal(Odds(t, "1.91")) {
		t.Errorf("a move that failed left %+v, error %v", found, err)
	}
	t.reject(Single(t, "ann", "1.00", "winner", "home", "2.00"), acceptance.CodeMarketClosed)
}
