package acceptance_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/receipt"
)

// TestHotWalletLeavesThePool: somebody else holds a wallet on which 64 bets
// wait in this process. They hold one of four connections, so bets on other
// wallets are decided meanwhile.
func TestHotWalletLeavesThePool(t *testing.T) {
	t.Parallel()
	const hot, others = 64, 8
	db := newDatabase(t)
	arrived := make(chan struct{}, hot+others)
	b := newBranch(t, db.dsn, receipt.ReadCommitted, func(_ *books, config *pgConfig) {
		config.Authorize = func(context.Context, *acceptance.Command) (acceptance.Ruling, error) {
			arrived <- struct{}{}
			return acceptance.Ruling{}, nil
		}
	}, func(cfg *pgxpool.Config) { cfg.MaxConns = 4 })
	release := db.holdWallet(t, "ann")
	waiting := make([]<-chan outcome, hot)
	for i := range waiting {
		waiting[i] = b.beginAccept(t, single(t, fmt.Sprint("b", i), "10.00"))
	}
	for range waiting {
		<-arrived
	}
	db.await(t, waiters+" = 1")
	for i := range others {
		db.execute(t, "INSERT INTO wallets VALUES ($1, 'EUR', 100)", fmt.Sprint("wallet-", i))
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		if got, err := b.Accept(ctx, onWallet(t, i)); err != nil || got.Verdict != acceptance.Accepted {
			t.Fatalf("on another wallet: %+v, %v", got, err)
		}
		cancel()
	}
	if held := db.number(t, "SELECT "+waiters); held != 1 {
		t.Errorf("%d connections wait for the wallet, want 1", held)
	}
	release()
	counts := make(map[string]int)
	for i := range waiting {
		outcome := <-waiting[i]
		counts[outcome.String()]++
	}
	if counts["accepted "] != 10 || counts["rejected insufficient_funds"] != hot-10 {
		t.Errorf("answers: %v", counts)
	}
}
