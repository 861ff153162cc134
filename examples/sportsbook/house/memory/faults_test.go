package memory_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/acceptance/money"
	"github.com/settleonce/settleonce/receipt"
	"github.com/settleonce/settleonce/receipt/receipttest"

	"github.com/settleonce/settleonce/examples/sportsbook/bet"
	"github.com/settleonce/settleonce/examples/sportsbook/house"
	"github.com/settleonce/settleonce/examples/sportsbook/house/housetest"
	"github.com/settleonce/settleonce/examples/sportsbook/market"
)

// patience is how often a client sends the same again.
const patience = 100

// insist does the same until it is done. Whatever the store's faults are, it
// must be safe to.
func insist[T any](t *testing.T, do func() (T, error)) T {
	t.Helper()
	for tries := 1; ; tries++ {
		done, err := do()
		if err == nil {
			return done
		}
		if tries == patience {
			t.Fatalf("still not done after %d tries: %v", patience, err)
		}
		if !errors.Is(err, receipt.ErrOutcomeUnknown) && !errors.Is(err, receipt.ErrNotCommitted) && !errors.Is(err, receipttest.ErrInjected) {
			t.Fatalf("error %v, which no fault explains", err)
		}
	}
}

// A house on a faulty store takes bets, settles some and voids the others. Each
// bet stands once and is closed once, and the books hold.
func TestHouseOnFaultyStore(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			t.Parallel()
			subject, fake := open(t, receipttest.Schedule(seed, 40)...)
			ctx := t.Context()
			for _, err := range []error{
				subject.Cashier.OpenWallets(ctx, []money.Amount{housetest.EUR(t, "100.00")}, "ann"),
				subject.Trading.OpenMarket(ctx, housetest.Opening(t, "winner", "1000.00", "home", "2.00", "away", "3.50")),
			} {
				if err != nil {
					t.Fatal(err)
				}
			}
			open, err := house.New(house.Config{Tenant: housetest.Tenant, Store: subject.Store, Books: subject.Books})
			if err != nil {
				t.Fatal(err)
			}
			var accepted []bet.Reference
			for range 6 { // of 30.00 each, for three of which there are funds
				c := housetest.Single(t, "ann", "30.00", "winner", "home", "2.00")
				decision := insist(t, func() (house.Decision, error) { return open.Accept(ctx, c) })
				if decision.Verdict == acceptance.Accepted {
					accepted = append(accepted, bet.Reference{Wallet: c.Wallet, ID: c.ID})
				}
			}
			if len(accepted) != 3 {
				t.Errorf("%d bets were accepted, want 3", len(accepted))
			}
			housetest.CheckBooks(t, subject.Books)
			if err := subject.Trading.CloseMarket(ctx, "winner", market.Result{Version: "feed-1", Winner: "home"}); err != nil {
				t.Fatal(err)
			}
			for i, reference := range accepted {
				insist(t, func() (any, error) {
					if i == 0 {
						return open.Void(ctx, reference, "case-7")
					}
					return open.Settle(ctx, reference)
				})
			}
			housetest.CheckBooks(t, subject.Books)
			tables, err := subject.Books.Tables(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if available := tables.Wallets[0].Balances[0].Available; len(tables.Closings) != 3 || !available.Equal(housetest.EUR(t, "160.00")) {
				t.Errorf("%d closings left %s, want 3 and 160.00 EUR; faults left: %v", len(tables.Closings), available, fake.Queued())
			}
			if receipts, events := len(fake.Receipts()), len(fake.Events()); receipts != 9 || events != 9 {
				t.Errorf("%d receipts and %d events, want one of each for 6 decisions and 3 closings", receipts, events)
			}
		})
	}
}
