package faults_test

import (
	"context"
	"testing"

	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/acceptance/money"
	"github.com/settleonce/settleonce/fingerprint"
	"github.com/settleonce/settleonce/receipt"
	"github.com/settleonce/settleonce/receipt/receipttest"

	"github.com/settleonce/settleonce/examples/drill/sabotage"
	"github.com/settleonce/settleonce/examples/sportsbook/exposure"
	"github.com/settleonce/settleonce/examples/sportsbook/faults"
	"github.com/settleonce/settleonce/examples/sportsbook/house"
	"github.com/settleonce/settleonce/examples/sportsbook/house/memory"
	"github.com/settleonce/settleonce/examples/sportsbook/market"
	"github.com/settleonce/settleonce/examples/sportsbook/wallet"
)

// bookshop is a house in memory with one wallet of a hundred euros and one
// market, and a store from which a guard was taken.
type bookshop struct {
	database *memory.Database
	store    receipt.Store[house.Unit]
	hundred  money.Amount
}

func newBookshop(t *testing.T, name string) *bookshop {
	t.Helper()
	b := &bookshop{database: memory.New(memory.Config{})}
	fake, err := receipttest.New(receipttest.Config[house.Unit]{World: b.database})
	if err != nil {
		t.Fatal(err)
	}
	b.store = faults.Instrument(fake, name)
	var registry *money.Registry
	if b.hundred, err = registry.Parse("100.00", "EUR"); err != nil {
		t.Fatal(err)
	}
	if err := b.database.OpenWallets(t.Context(), []money.Amount{b.hundred}, "ann"); err != nil {
		t.Fatal(err)
	}
	evens, err := money.ParseOdds("2")
	if err != nil {
		t.Fatal(err)
	}
	opening := market.Opening{ID: "final", Event: "cup", Prices: []market.Price{{Selection: "home", Odds: evens}}, Limits: []money.Amount{b.hundred}}
	if err := b.database.OpenMarket(t.Context(), opening); err != nil {
		t.Fatal(err)
	}
	return b
}

func key(id string) receipt.Key { return acceptance.PlacingKey("house", "ann", id) }

// do runs one transaction and commits it under a key.
func (b *bookshop) do(t *testing.T, id string, work func(ctx context.Context, unit house.Unit)) {
	t.Helper()
	attempt := receipt.NewID()
	session, err := b.store.Begin(t.Context(), receipt.Claim{Key: key(id), Attempt: attempt})
	if err != nil {
		t.Fatal(err)
	}
	work(t.Context(), session.Tx())
	sum, err := fingerprint.Of(fingerprint.Schema{Name: "test", Version: 1}, id)
	if err != nil {
		t.Fatal(err)
	}
	stored, err := session.Commit(t.Context(), receipt.Receipt{Key: key(id), Requested: "bet", Outcome: "accepted", Fingerprint: sum, Attempt: attempt})
	if err != nil || stored.Key != key(id) {
		t.Fatalf("receipt of %v, error %v", stored.Key, err)
	}
}

// available returns what a unit says is available.
func (b *bookshop) available(t *testing.T) (text string) {
	t.Helper()
	b.do(t, receipt.NewID(), func(ctx context.Context, unit house.Unit) {
		balance, err := unit.LockBalance(ctx, "ann", b.hundred.Currency())
		if err != nil {
			t.Error(err)
		}
		text = balance.Available.String()
	})
	return text
}

// status returns what a unit says of the market.
func (b *bookshop) status(t *testing.T) (status acceptance.MarketStatus) {
	t.Helper()
	b.do(t, receipt.NewID(), func(ctx context.Context, unit house.Unit) {
		home := exposure.Home{Wallet: "ann", Currency: b.hundred.Currency()}
		board, err := unit.Board(ctx, []exposure.Selection{{Market: "final", Selection: "home"}}, home)
		if err != nil {
			t.Error(err)
			return
		}
		status = board.Offers[0].Status
	})
	return status
}

// posted stakes ten euros, and returns what is held then.
func (b *bookshop) posted(t *testing.T) string {
	t.Helper()
	var registry *money.Registry
	ten, err := registry.Parse("10.00", "EUR")
	if err != nil {
		t.Fatal(err)
	}
	b.do(t, receipt.NewID(), func(ctx context.Context, unit house.Unit) {
		if err := unit.Post(ctx, wallet.NewStake("stake", "ann", ten)); err != nil {
			t.Error(err)
		}
	})
	owned, err := b.database.Wallet(t.Context(), "ann")
	if err != nil {
		t.Fatal(err)
	}
	return owned.Balances[0].Held.String()
}

func TestEachSabotageTakesOneGuardOut(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", sabotage.SkipReceipt, faults.NoFundsGuard, faults.NoFence, faults.UnbalancedJournal} {
		t.Run("sabotage "+name, func(t *testing.T) {
			t.Parallel()
			pick := func(of, without, with string) string {
				if name == of {
					return with
				}
				return without
			}
			b := newBookshop(t, name)
			if got, want := b.available(t), pick(faults.NoFundsGuard, "100.00 EUR", "1000000.00 EUR"); got != want {
				t.Errorf("available %s, want %s", got, want)
			}
			b.status(t)
			if err := b.database.Suspend(t.Context(), "final"); err != nil {
				t.Fatal(err)
			}
			if got, want := string(b.status(t)), pick(faults.NoFence, "suspended", "open"); got != want {
				t.Errorf("the market is %s, want %s", got, want)
			}
			if got, want := b.posted(t), pick(faults.UnbalancedJournal, "10.00 EUR", "10.01 EUR"); got != want {
				t.Errorf("held %s, want %s", got, want)
			}
			b.do(t, "kept", func(context.Context, house.Unit) {})
			kept, err := b.store.History(t.Context(), key("kept"))
			if err != nil || (len(kept) == 0) != (name == sabotage.SkipReceipt) {
				t.Errorf("%d receipts, error %v", len(kept), err)
			}
		})
	}
}
