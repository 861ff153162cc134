package wallet_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/settleonce/settleonce/acceptance/money"

	"github.com/settleonce/settleonce/examples/sportsbook/wallet"
)

func amount(t *testing.T, number, currency string) money.Amount {
	t.Helper()
	parsed, err := (*money.Registry)(nil).Parse(number, currency)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// Each movement balances, and does this to available and held.
func TestMovements(t *testing.T) {
	t.Parallel()
	ten, fifteen, nothing := amount(t, "10.00", "EUR"), amount(t, "15.00", "EUR"), amount(t, "0.00", "EUR")
	for _, test := range []struct {
		name            string
		movement        wallet.Transaction
		available, held money.Amount
		entries         int
	}{
		{"deposit", wallet.NewDeposit("1", "ann", ten), ten, nothing, 2},
		{"stake", wallet.NewStake("1", "ann", ten), ten.Neg(), ten, 2},
		{"won", wallet.NewSettlement("1", "ann", ten, fifteen), fifteen, ten.Neg(), 4},
		{"lost", wallet.NewSettlement("1", "ann", ten, nothing), nothing, ten.Neg(), 2},
		{"void", wallet.NewVoid("1", "ann", ten), ten, ten.Neg(), 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if err := test.movement.Check(); err != nil {
				t.Error(err)
			}
			changes, err := test.movement.Changes()
			if diff := cmp.Diff([]wallet.Change{{Available: test.available, Held: test.held}}, changes); diff != "" || err != nil {
				t.Errorf("changes (-want +got), error %v:\n%s", err, diff)
			}
			if len(test.movement.Entries) != test.entries {
				t.Errorf("%d entries, want %d", len(test.movement.Entries), test.entries)
			}
		})
	}
}

func TestCheckSumsByCurrency(t *testing.T) {
	t.Parallel()
	entry := func(number, currency string) wallet.Entry {
		return wallet.Entry{Account: wallet.Account{Kind: wallet.House}, Amount: amount(t, number, currency)}
	}
	for _, test := range []struct {
		name     string
		entries  []wallet.Entry
		balances bool
	}{
		{"two currencies, each balanced", []wallet.Entry{
			entry("1.00", "EUR"), entry("-1", "JPY"), entry("-1.00", "EUR"), entry("1", "JPY"),
		}, true},
		{"one currency made of another", []wallet.Entry{entry("1.00", "EUR"), entry("-1.00", "USD")}, false},
		{"a cent too much", []wallet.Entry{entry("1.00", "EUR"), entry("-0.99", "EUR")}, false},
		{"half of it", []wallet.Entry{entry("1.00", "EUR")}, false},
		{"an amount that is not set", []wallet.Entry{{}}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			err := wallet.Transaction{ID: "1", Entries: test.entries}.Check()
			if test.balances != (err == nil) || err != nil && !errors.Is(err, wallet.ErrUnbalanced) {
				t.Errorf("error %v, want that it balances: %v", err, test.balances)
			}
		})
	}
}
