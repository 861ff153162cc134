package postgres_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/settleonce/settleonce/receipt"

	"github.com/settleonce/settleonce/examples/sportsbook/bet"
)

// What the audit reads leaves no entry of the journal out, or money could come
// from nowhere unseen.
func TestTablesHaveEntriesOfNoTransaction(t *testing.T) {
	t.Parallel()
	b := newBooks(t, receipt.ReadCommitted)
	_, err := b.pool.Exec(t.Context(), `
		INSERT INTO journal_entries (transaction_id, entry, account, wallet, currency, amount)
		VALUES ('stray', 1, 'house', '', 'EUR', 5), ('stray', 2, 'available', 'ann', 'EUR', -4)`)
	if err != nil {
		t.Fatal(err)
	}
	tables, err := b.Tables(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(tables.Journal) != 1 || tables.Journal[0].ID != "stray" || len(tables.Journal[0].Entries) != 2 {
		t.Errorf("journal %+v, want one transaction with both entries", tables.Journal)
	}
}

// A leg of no bet is not taken for another bet's.
func TestTablesWithALegOfNoBet(t *testing.T) {
	t.Parallel()
	b := newBooks(t, receipt.ReadCommitted)
	_, err := b.pool.Exec(t.Context(), `
		INSERT INTO bet_legs (wallet, bet, attempt, leg, market, selection, odds, tick)
		VALUES ('ann', 'stray', 'attempt', 1, 'final', 'home', 2, '1')`)
	if err != nil {
		t.Fatal(err)
	}
	tables, err := b.Tables(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]bet.Reference{{Wallet: "ann", ID: "stray"}}, tables.StrayLegs); diff != "" || len(tables.Bets) != 0 {
		t.Errorf("bets %+v, stray legs (-want +got):\n%s", tables.Bets, diff)
	}
}
