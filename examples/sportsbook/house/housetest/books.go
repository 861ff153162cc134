package housetest

import (
	"fmt"
	"testing"

	"github.com/settleonce/settleonce/acceptance/money"

	"github.com/settleonce/settleonce/examples/sportsbook/bet"
	"github.com/settleonce/settleonce/examples/sportsbook/house"
	"github.com/settleonce/settleonce/examples/sportsbook/wallet"
)

// CheckBooks checks what must hold between the tables at any time: every
// transaction of the journal balances, balances equal the journal, no balance is
// negative, each bet has one hold and at most one end of it and one closing, and
// stripes are within their limits and equal what open bets have of them.
func CheckBooks(t testing.TB, books house.Books) {
	t.Helper()
	tables, err := books.Tables(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	checkJournal(t, &tables)
	checkBets(t, &tables)
	checkStripes(t, &tables)
}

func checkJournal(t testing.TB, tables *house.Tables) {
	t.Helper()
	sums := make(map[string]money.Amount) // by wallet, kind of account and currency
	for _, transaction := range tables.Journal {
		if err := transaction.Check(); err != nil {
			t.Error(err)
		}
		for _, entry := range transaction.Entries {
			add(t, sums, accountName(entry.Account.Wallet, entry.Account.Kind, entry.Amount), entry.Amount)
		}
	}
	for _, owner := range tables.Wallets {
		for _, balance := range owner.Balances {
			wantSum(t, sums, accountName(owner.ID, wallet.Available, balance.Available), balance.Available)
			wantSum(t, sums, accountName(owner.ID, wallet.Held, balance.Held), balance.Held)
		}
	}
}

func accountName(owner string, kind wallet.AccountKind, amount money.Amount) string {
	return owner + " " + string(kind) + " " + amount.Currency().Code()
}

func add(t testing.TB, sums map[string]money.Amount, name string, amount money.Amount) {
	t.Helper()
	sum, begun := sums[name]
	if !begun {
		sums[name] = amount
		return
	}
	sum, err := sum.Add(amount)
	if err != nil {
		t.Fatal(err)
	}
	sums[name] = sum
}

// wantSum wants a sum to be what a table says, and not negative.
func wantSum(t testing.TB, sums map[string]money.Amount, name string, stated money.Amount) {
	t.Helper()
	sum, known := sums[name]
	if known && !sum.Equal(stated) || !known && stated.Sign() != 0 {
		t.Errorf("%s: the rows sum to %s, the table says %s", name, sum, stated)
	}
	if stated.Sign() < 0 {
		t.Errorf("%s: is negative, %s", name, stated)
	}
}

func checkBets(t testing.TB, tables *house.Tables) {
	t.Helper()
	holds, ends, closings := make(map[bet.Reference]int), make(map[bet.Reference]int), make(map[bet.Reference]int)
	for _, hold := range tables.Holds {
		holds[hold.Reference]++
	}
	for _, end := range tables.HoldEnds {
		ends[end.Reference]++
	}
	for _, closing := range tables.Closings {
		closings[closing.Reference]++
	}
	seen := make(map[bet.Reference]bool)
	for _, placed := range tables.Bets {
		name := placed.Reference
		if seen[name] {
			t.Errorf("bet %v stands twice", name)
		}
		seen[name] = true
		if holds[name] != 1 || ends[name] > 1 || ends[name] != closings[name] {
			t.Errorf("bet %v has %d holds, %d ends of it and %d closings", name, holds[name], ends[name], closings[name])
		}
	}
	if len(holds) > len(tables.Bets) || len(ends) > len(tables.Bets) || len(closings) > len(tables.Bets) {
		t.Errorf("%d bets have holds, %d ends of them, %d closings, and %d bets there are", len(holds), len(ends), len(closings), len(tables.Bets))
	}
}

func checkStripes(t testing.TB, tables *house.Tables) {
	t.Helper()
	closed := make(map[bet.Reference]bool)
	for _, closing := range tables.Closings {
		closed[closing.Reference] = true
	}
	sums := make(map[string]money.Amount)
	for _, taken := range tables.Taken {
		if !closed[taken.Reference] {
			add(t, sums, stripeName(taken.Market, taken.Selection.Selection, taken.Number, taken.Amount), taken.Amount)
		}
	}
	for _, stripe := range tables.Stripes {
		wantSum(t, sums, stripeName(stripe.Market, stripe.Selection.Selection, stripe.Number, stripe.Taken), stripe.Taken)
		if order, err := stripe.Taken.Cmp(stripe.Limit); err != nil || order > 0 {
			t.Errorf("stripe %+v is over its limit, error %v", stripe, err)
		}
	}
}

func stripeName(market, selection string, number int, amount money.Amount) string {
	return fmt.Sprint(market, " ", selection, " ", number, " ", amount.Currency())
}
