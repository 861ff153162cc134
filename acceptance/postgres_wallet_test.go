package acceptance_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/receipt"
)

// TestTwoBetsFromManyProcesses: of bets of 70 on a wallet of 100, sent at the
// same time from several processes, one is accepted, be it that all have their
// snapshots and wait for the wallet, or that they meet as they may.
func TestTwoBetsFromManyProcesses(t *testing.T) {
	t.Parallel()
	bothLevels(t, func(t *testing.T, level receipt.Isolation) {
		t.Helper()
		const rounds = 12
		db := newDatabase(t)
		processes := make([]process, 3)
		for i := range processes {
			processes[i] = startProcess(t, order{DSN: db.dsn, Isolation: level})
		}
		for round := range rounds {
			wallet := fmt.Sprint("wallet-", round)
			db.execute(t, "INSERT INTO wallets VALUES ($1, 'EUR', 100)", wallet)
			release := func() {}
			meet := round%2 == 0
			if meet {
				release = db.holdWallet(t, wallet)
			}
			for i, p := range processes {
				c := single(t, fmt.Sprint("b", i), "70.00")
				c.Wallet = wallet
				p.tell(t, c)
			}
			if meet {
				db.await(t, waiters+" = $1", len(processes))
			}
			release()
			checkOneAccepted(t, processes)
			if bets := db.number(t, "SELECT count(*) FROM bets WHERE wallet = $1", wallet); bets != 1 {
				t.Errorf("round %d: %d bets, want 1", round, bets)
			}
		}
	})
}

// checkOneAccepted hears every process: one accepted, the others had no funds.
func checkOneAccepted(t *testing.T, processes []process) {
	t.Helper()
	accepted := 0
	for _, p := range processes {
		switch heard := p.hear(t); {
		case heard.Err != "" || heard.Replayed:
			t.Errorf("reply: %+v", heard)
		case heard.Verdict == acceptance.Accepted:
			accepted++
		case heard.Code != acceptance.CodeInsufficientFunds:
			t.Errorf("reply: %+v", heard)
		}
	}
	if accepted != 1 {
		t.Errorf("%d bets accepted, want 1", accepted)
	}
}

// TestWhoElseSpends has a withdrawal of 70 at READ COMMITTED, outside of any
// runner, commit while a bet of 70 waits for the wallet. At SERIALIZABLE a bet
// sees it only where it changed the wallet's row: the server compares snapshots
// of serialisable transactions alone. So a house that bets at that level must
// spend at it everywhere, or change the row that LockWallet locks.
func TestWhoElseSpends(t *testing.T) {
	t.Parallel()
	bothLevels(t, func(t *testing.T, level receipt.Isolation) {
		t.Helper()
		unseen := "rejected insufficient_funds"
		if level == receipt.Serializable {
			unseen = "accepted "
		}
		for spend, want := range map[string]string{
			"UPDATE wallets SET balance = balance - 70": "rejected insufficient_funds",
			"INSERT INTO holds VALUES ('ann', '', 70)":  unseen,
		} {
			db := newDatabase(t)
			withdrawal, err := db.pool.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, sql := range []string{"SELECT FROM wallets FOR UPDATE", spend} {
				if _, err := withdrawal.Exec(t.Context(), sql); err != nil {
					t.Fatal(err)
				}
			}
			bet := newBranch(t, db.dsn, level, nil).beginAccept(t, single(t, "b1", "70.00"))
			db.await(t, waiters+" = 1")
			if err := withdrawal.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := <-bet; got.String() != want {
				t.Errorf("after %q: %s, want %s", spend, got, want)
			}
		}
	})
}

// TestRepeatableReadTakesBoth shows why New refuses REPEATABLE READ: the same
// statements, by hand, take two bets of 70 from a wallet of 100.
func TestRepeatableReadTakesBoth(t *testing.T) {
	t.Parallel()
	for level, want := range map[pgx.TxIsoLevel]int{pgx.ReadCommitted: 1, pgx.RepeatableRead: 2, pgx.Serializable: 1} {
		t.Run(string(level), func(t *testing.T) {
			t.Parallel()
			db := newDatabase(t)
			release := db.holdWallet(t, "ann")
			var placing sync.WaitGroup
			for i := range 2 {
				placing.Go(func() {
					_ = db.betByHand(t, level, fmt.Sprint("b", i)) // what is committed counts
				})
			}
			db.await(t, waiters+" = 2")
			release()
			placing.Wait()
			if bets := db.number(t, "SELECT count(*) FROM bets"); bets != want {
				t.Errorf("%d bets, want %d", bets, want)
			}
		})
	}
}

// betByHand does what books do, without a runner.
func (db *database) betByHand(t *testing.T, level pgx.TxIsoLevel, id string) error {
	t.Helper()
	return pgx.BeginTxFunc(t.Context(), db.pool, pgx.TxOptions{IsoLevel: level}, func(tx pgx.Tx) error {
		// The snapshot of the transaction, as a session's Begin has it.
		if _, err := tx.Exec(t.Context(), "SELECT count(*) FROM markets"); err != nil {
			return err
		}
		c := single(t, id, "70.00")
		wallet, err := new(books).lockWallet(t.Context(), tx, &c)
		if err != nil {
			return err
		}
		if less, err := wallet.Available.Cmp(c.Stake); err != nil || less < 0 {
			return err
		}
		_, err = tx.Exec(t.Context(), "INSERT INTO holds VALUES ('ann', $1, 70)", id)
		if err != nil {
			return err
		}
		_, err = tx.Exec(t.Context(), "INSERT INTO bets VALUES ('ann', $1, '', 70)", id)
		return err
	})
}
