package housetest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/acceptance/money"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/receipt"

	"github.com/settleonce/settleonce/examples/sportsbook/bet"
	"github.com/settleonce/settleonce/examples/sportsbook/exposure"
	"github.com/settleonce/settleonce/examples/sportsbook/house"
	"github.com/settleonce/settleonce/examples/sportsbook/wallet"
)

func acceptsOnce(t *trial) {
	c := Single(t, "ann", "70.00", "winner", "home", "2.00")
	first := t.accept(c, acceptance.Accepted)
	second := t.accept(c, acceptance.Accepted)
	if !second.Replayed || string(first.Receipt.Value) != string(second.Receipt.Value) {
		t.Errorf("the second answer is not the first one, replayed: %s", second.Receipt.Value)
	}
	stands := bet.Bet{
		Reference: referenceOf(c), Kind: acceptance.Single, Stake: EUR(t, "70.00"), Payout: EUR(t, "140.00"),
		Legs:    []bet.Leg{{Market: "winner", Selection: "home", Odds: Odds(t, "2"), Tick: "1"}},
		Attempt: first.Receipt.Attempt,
	}
	if diff := cmp.Diff(stands, first.Bet); diff != "" {
		t.Errorf("the answer's bet (-want +got):\n%s", diff)
	}
	got := t.tables()
	if diff := cmp.Diff([]bet.Bet{stands}, got.Bets); diff != "" {
		t.Errorf("bets (-want +got):\n%s", diff)
	}
	holds := []bet.Hold{{Reference: referenceOf(c), Amount: EUR(t, "70.00"), Attempt: first.Receipt.Attempt}}
	if diff := cmp.Diff(holds, got.Holds); diff != "" {
		t.Errorf("holds (-want +got):\n%s", diff)
	}
	if taken := sumOf(t, got.Taken); !taken.Equal(EUR(t, "70.00")) {
		t.Errorf("the bet has %s of its limit, want what the house may lose, 70.00 EUR", taken)
	}
	t.wantJournal(wallet.NewStake("", "ann", EUR(t, "70.00")), c, first.Receipt.Attempt)
	t.wantBalance("30.00", "70.00")
	t.wantState(c, bet.Open)
}

// wantJournal wants the newest transaction of ann's journal to be this one, of a
// bet and a run.
func (t *trial) wantJournal(want wallet.Transaction, c acceptance.Command, attempt string) {
	t.Helper()
	journal, err := t.Books.Journal(t.Context(), "ann")
	t.must(err)
	want.Bet, want.Attempt = c.ID, attempt
	if diff := cmp.Diff(want, journal[len(journal)-1], cmpopts.IgnoreFields(wallet.Transaction{}, "ID")); diff != "" {
		t.Errorf("the newest transaction (-want +got):\n%s", diff)
	}
}

func sumOf(t *trial, taken []bet.Taken) money.Amount {
	t.Helper()
	sum := EUR(t, "0.00")
	for _, each := range taken {
		var err error
		sum, err = sum.Add(each.Amount)
		t.must(err)
	}
	return sum
}

func replaysAfterChanges(t *trial) {
	c := Single(t, "ann", "70.00", "winner", "home", "2.00")
	first := t.accept(c, acceptance.Accepted)
	t.must(t.Trading.Move(t.Context(), "winner", Price(t, "home", "1.50")))
	t.must(t.Trading.Suspend(t.Context(), "winner"))
	t.must(t.Cashier.Bar(t.Context(), "ann", true))
	t.house = t.newHouse(func(config *house.Config) {
		config.Limits = house.Limits{Version: "test-2", MaxStake: []money.Amount{EUR(t, "1.00")}}
	})
	if again := t.accept(c, acceptance.Accepted); string(again.Receipt.Value) != string(first.Receipt.Value) || !again.Replayed {
		t.Errorf("the answer has changed to %s", again.Receipt.Value)
	}
	t.reject(Single(t, "ann", "1.00", "score", "odd", "1.91"), acceptance.CodeNotAuthorized)
}

func failureLeavesNothing(t *trial) {
	c := Single(t, "ann", "70.00", "winner", "home", "2.00")
	before := t.tables()
	sound := t.house
	t.house = t.newHouse(func(config *house.Config) {
		config.Store = atCommit{t.Store, func(_ house.Unit, events []event.Event) error {
			if len(events) != 1 || events[0].Type != "sportsbook.bet.accepted" || events[0].OrderingKey != "ann" {
				t.Errorf("events %+v, want one that the bet is accepted", events)
			}
			return fmt.Errorf("%w: on purpose", receipt.ErrNotCommitted)
		}}
	})
	if _, err := t.house.Accept(t.Context(), c); !errors.Is(err, receipt.ErrNotCommitted) {
		t.Errorf("error %v, want the injected one", err)
	}
	t.wantTables(before)
	t.house = sound
	t.accept(c, acceptance.Accepted)
}

// wantTables wants the tables to be what they were.
func (t *trial) wantTables(before house.Tables) {
	t.Helper()
	byStripe := cmpopts.SortSlices(func(a, b exposure.Stripe) bool { return fmt.Sprint(a) < fmt.Sprint(b) })
	if diff := cmp.Diff(before, t.tables(), byStripe, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("the tables have changed (-before +after):\n%s", diff)
	}
}

func rejectsWithoutTrace(t *trial) {
	ctx := t.Context()
	past := Opening(t, "past", "1000.00", "yes", "2.00")
	past.CutOff = time.Date(2020, time.January, 1, 0, 0, 0, 0, time.UTC)
	t.must(t.Trading.OpenMarket(ctx, past))
	t.must(t.Trading.OpenMarket(ctx, Opening(t, "shut", "1000.00", "yes", "2.00")))
	t.must(t.Trading.Suspend(ctx, "shut"))
	narrow := Opening(t, "narrow", "5.00", "yes", "2.00")
	t.must(t.Trading.OpenMarket(ctx, narrow))
	unlimited := Opening(t, "unlimited", "5.00", "yes", "2.00")
	unlimited.Limits = nil
	t.must(t.Trading.OpenMarket(ctx, unlimited))
	t.must(t.Cashier.OpenWallets(ctx, []money.Amount{EUR(t, "10.00")}, "eve"))
	t.must(t.Cashier.Bar(ctx, "eve", true))
	before := t.tables()

	dollars := Single(t, "ann", "1.00", "winner", "home", "2.00")
	var err error
	dollars.Stake, err = (*money.Registry)(nil).Parse("1.00", "USD")
	t.must(err)
	otherEvent := Single(t, "ann", "1.00", "winner", "home", "2.00")
	otherEvent.Legs[0].Event = "semi-final"
	otherLine := Single(t, "ann", "1.00", "winner", "home", "2.00")
	otherLine.Legs[0].Line = "2.5"
	for _, c := range []struct {
		command acceptance.Command
		want    acceptance.Code
	}{
		{Single(t, "eve", "1.00", "winner", "home", "2.00"), acceptance.CodeNotAuthorized},
		{Single(t, "nobody", "1.00", "winner", "home", "2.00"), acceptance.CodeWalletUnknown},
		{dollars, acceptance.CodeCurrencyMismatch},
		{Single(t, "ann", "1.00", "winner", "draw", "2.00"), acceptance.CodeSelectionUnknown},
		{Single(t, "ann", "1.00", "loser", "home", "2.00"), acceptance.CodeSelectionUnknown},
		{otherEvent, acceptance.CodeSelectionUnknown},
		{otherLine, acceptance.CodeSelectionUnknown},
		{Single(t, "ann", "1.00", "shut", "yes", "2.00"), acceptance.CodeMarketSuspended},
		{Single(t, "ann", "1.00", "past", "yes", "2.00"), acceptance.CodeCutOffPassed},
		{Single(t, "ann", "90.01", "winner", "home", "2.00"), acceptance.CodeLimitExceeded},
		{Single(t, "ann", "85.72", "winner", "away", "3.50"), acceptance.CodeLimitExceeded},
		{Single(t, "ann", "5.01", "narrow", "yes", "2.00"), acceptance.CodeExposureExceeded},
		{Single(t, "ann", "1.00", "unlimited", "yes", "2.00"), acceptance.CodeExposureExceeded},
	} {
		t.reject(c.command, c.want)
		if again := t.accept(c.command, acceptance.Rejected); !again.Replayed || again.Code != c.want {
			t.Errorf("%s: the second answer is %q, replayed %v", c.want, again.Code, again.Replayed)
		}
	}
	t.wantTables(before)
}

func namesWhatItRefuses(t *trial) {
	c := Single(t, "ann", "1.00", "winner", "home", "2.00")
	c.Tenant = "another"
	c.Funding = "bonus"
	c.Extra = []byte(`{"boost":true}`)
	c.Type.Kind = acceptance.Accumulator
	c.Legs = append(c.Legs, leg(t, "winner", "away", "3.50"))
	_, err := t.house.Accept(t.Context(), c)
	var invalid *acceptance.InvalidError
	if !errors.As(err, &invalid) {
		t.Fatalf("error %v, want an invalid command", err)
	}
	var fields []string
	for _, wrong := range invalid.Fields {
		fields = append(fields, wrong.Field)
	}
	if diff := cmp.Diff([]string{"tenant", "funding", "extra", "legs[1].market"}, fields); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
}

func spendsOnce(t *trial) {
	const rivals = 6
	var accepted, rejected atomic.Int64
	var running sync.WaitGroup
	for range rivals {
		c := Single(t, "ann", "70.00", "winner", "home", "2.00")
		another := t.newHouse(nil) // whose gate knows nothing of the others
		running.Go(func() {
			decision, err := another.Accept(t.Context(), c)
			switch {
			case err != nil:
				t.Error(err)
			case decision.Verdict == acceptance.Accepted:
				accepted.Add(1)
			case decision.Code == acceptance.CodeInsufficientFunds:
				rejected.Add(1)
			default:
				t.Errorf("verdict %q, code %q", decision.Verdict, decision.Code)
			}
		})
	}
	running.Wait()
	if accepted.Load() != 1 || rejected.Load() != rivals-1 {
		t.Errorf("%d were accepted and %d rejected for funds; want 1 and %d", accepted.Load(), rejected.Load(), rivals-1)
	}
	t.wantBalance("30.00", "70.00")
}
