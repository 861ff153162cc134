package housetest

import (
	"errors"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/receipt"

	"github.com/settleonce/settleonce/examples/sportsbook/bet"
	"github.com/settleonce/settleonce/examples/sportsbook/house"
	"github.com/settleonce/settleonce/examples/sportsbook/market"
	"github.com/settleonce/settleonce/examples/sportsbook/wallet"
)

func settlesOnce(t *trial) {
	won := Single(t, "ann", "40.00", "winner", "home", "2.00")
	lost := Single(t, "ann", "20.00", "winner", "away", "3.50")
	t.accept(won, acceptance.Accepted)
	t.accept(lost, acceptance.Accepted)
	t.must(t.Trading.CloseMarket(t.Context(), "winner", market.Result{Version: "feed-1", Winner: "home"}))
	t.wantBetsOn("winner", won, lost)
	var types []string
	t.house = t.newHouse(func(config *house.Config) {
		config.Store = atCommit{t.Store, func(_ house.Unit, events []event.Event) error {
			for _, e := range events {
				types = append(types, e.Type)
			}
			return nil
		}}
	})
	first := t.settle(won)
	second := t.settle(won)
	if !second.Replayed || string(first.Receipt.Value) != string(second.Receipt.Value) {
		t.Errorf("the second settlement is not the first, replayed: %s", second.Receipt.Value)
	}
	want := bet.Closing{
		Reference: referenceOf(won), State: bet.Settled, ResultVersion: "feed-1",
		Payout: EUR(t, "80.00"), Rounding: bet.Rounding, Attempt: first.Receipt.Attempt,
	}
	if diff := cmp.Diff(want, first.Value); diff != "" {
		t.Errorf("closing (-want +got):\n%s", diff)
	}
	t.wantJournal(wallet.NewSettlement("", "ann", EUR(t, "40.00"), EUR(t, "80.00")), won, first.Receipt.Attempt)
	t.wantBalance("120.00", "20.00")
	t.settle(lost)
	t.wantBalance("120.00", "0.00")
	t.wantState(lost, bet.Settled)
	if diff := cmp.Diff([]string{"sportsbook.bet.settled", "sportsbook.bet.settled"}, types); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	got := t.tables()
	ends := []bet.HoldEnd{
		{Reference: referenceOf(won), Consumed: true, Amount: EUR(t, "40.00")},
		{Reference: referenceOf(lost), Consumed: true, Amount: EUR(t, "20.00")},
	}
	byAmount := cmpopts.SortSlices(func(a, b bet.HoldEnd) bool { return a.Amount.String() < b.Amount.String() })
	if diff := cmp.Diff(ends, got.HoldEnds, byAmount, cmpopts.IgnoreFields(bet.HoldEnd{}, "Attempt")); diff != "" {
		t.Errorf("ends of holds (-want +got):\n%s", diff)
	}
	t.wantBetsOn("winner", won, lost)
	t.wantBetsOn("nothing")
}

func settlesAccumulators(t *trial) {
	t.must(t.Trading.OpenMarket(t.Context(), Opening(t, "corners", "1000.00", "over", "1.37", "under", "3.00")))
	t.must(t.Trading.OpenMarket(t.Context(), Opening(t, "cards", "1000.00", "over", "1.45", "under", "2.50")))
	double := Single(t, "ann", "10.01", "corners", "over", "1.37")
	double.Type.Kind = acceptance.Accumulator
	double.Legs = append(double.Legs, leg(t, "cards", "over", "1.45"))
	treble := Single(t, "ann", "10.01", "corners", "over", "1.37")
	treble.Type.Kind = acceptance.Accumulator
	treble.Legs = append(treble.Legs, leg(t, "cards", "over", "1.45"), leg(t, "winner", "home", "2.00"))
	voided := Single(t, "ann", "10.01", "winner", "away", "3.50")
	for _, c := range []acceptance.Command{double, treble, voided} {
		t.accept(c, acceptance.Accepted)
	}
	t.wantBetsOn("cards", double, treble)
	t.wantBetsOn("winner", treble, voided)
	t.must(t.Trading.CloseMarket(t.Context(), "corners", market.Result{Version: "a", Winner: "over"}))
	t.must(t.Trading.CloseMarket(t.Context(), "cards", market.Result{Version: "b", Winner: "over"}))
	t.must(t.Trading.CloseMarket(t.Context(), "winner", market.Result{Version: "a", Void: true}))
	// 10.01 × 1.37 × 1.45 = 19.884865; rounding the product of the odds first
	// would give 19.92.
	for _, c := range []struct {
		command         acceptance.Command
		payout, version string
	}{
		{double, "19.88 EUR", "a+b"},
		{treble, "19.88 EUR", "a+b"},
		{voided, "10.01 EUR", "a"},
	} {
		closing := t.settle(c.command).Value
		if closing.Payout.String() != c.payout || closing.ResultVersion != c.version {
			t.Errorf("paid %s by %q, want %s by %q", closing.Payout, closing.ResultVersion, c.payout, c.version)
		}
	}
}

func waitsForResults(t *trial) {
	c := Single(t, "ann", "10.00", "winner", "home", "2.00")
	c.Type.Kind = acceptance.Accumulator
	c.Legs = append(c.Legs, leg(t, "score", "odd", "1.91"))
	t.accept(c, acceptance.Accepted)
	t.must(t.Trading.CloseMarket(t.Context(), "winner", market.Result{Version: "feed-1", Winner: "away"}))
	if _, err := t.house.Settle(t.Context(), referenceOf(c)); !errors.Is(err, bet.ErrUndecided) {
		t.Errorf("with one result of two: error %v", err)
	}
	t.must(t.Trading.CloseMarket(t.Context(), "score", market.Result{Version: "feed-2", Winner: "odd"}))
	t.settle(c)
	t.wantBalance("90.00", "0.00")
	unknown := bet.Reference{Wallet: "ann", ID: receipt.NewID()}
	if _, err := t.house.Settle(t.Context(), unknown); !errors.Is(err, house.ErrUnknownBet) {
		t.Errorf("an unknown bet: error %v", err)
	}
}

func closesOneWay(t *trial) {
	settled := Single(t, "ann", "10.00", "winner", "home", "2.00")
	voided := Single(t, "ann", "20.00", "winner", "home", "2.00")
	t.accept(settled, acceptance.Accepted)
	t.accept(voided, acceptance.Accepted)
	t.must(t.Trading.CloseMarket(t.Context(), "winner", market.Result{Version: "feed-1", Winner: "home"}))
	t.settle(settled)
	closing, err := t.house.Void(t.Context(), referenceOf(voided), "case-7")
	t.must(err)
	want := bet.Closing{
		Reference: referenceOf(voided), State: bet.Voided, ResultVersion: "case-7",
		Payout: EUR(t, "20.00"), Rounding: bet.Rounding, Attempt: closing.Receipt.Attempt,
	}
	if diff := cmp.Diff(want, closing.Value); diff != "" {
		t.Errorf("closing (-want +got):\n%s", diff)
	}
	for _, end := range t.tables().HoldEnds {
		if end.Consumed != (end.Reference == referenceOf(settled)) {
			t.Errorf("the hold of %s was consumed: %v", end.ID, end.Consumed)
		}
	}
	t.wantJournal(wallet.NewVoid("", "ann", EUR(t, "20.00")), voided, closing.Receipt.Attempt)
	before := t.tables()
	if _, err := t.house.Void(t.Context(), referenceOf(settled), "case-7"); !errors.Is(err, receipt.ErrKindMismatch) {
		t.Errorf("voiding a settled bet: error %v", err)
	}
	if _, err := t.house.Settle(t.Context(), referenceOf(voided)); !errors.Is(err, receipt.ErrKindMismatch) {
		t.Errorf("settling a voided bet: error %v", err)
	}
	if _, err := t.house.Void(t.Context(), referenceOf(voided), "case-8"); !errors.Is(err, receipt.ErrFingerprintMismatch) {
		t.Errorf("voiding again for another cause: error %v", err)
	}
	t.wantTables(before)
	t.wantState(settled, bet.Settled)
	t.wantState(voided, bet.Voided)
	t.wantBalance("110.00", "0.00")
}

func givesExposureBack(t *trial) {
	t.must(t.Trading.OpenMarket(t.Context(), Opening(t, "narrow", "10.00", "yes", "2.00")))
	c := Single(t, "ann", "10.00", "narrow", "yes", "2.00")
	t.accept(c, acceptance.Accepted)
	t.reject(Single(t, "ann", "1.00", "narrow", "yes", "2.00"), acceptance.CodeExposureExceeded)
	_, err := t.house.Void(t.Context(), referenceOf(c), "case-7")
	t.must(err)
	t.accept(Single(t, "ann", "10.00", "narrow", "yes", "2.00"), acceptance.Accepted)
}
