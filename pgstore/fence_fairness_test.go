package pgstore_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/settleonce/settleonce/receipt"
)

// A bet holds the fence, a suspension waits for it, and bets queue behind.
// None of them is granted before the suspension.
func TestNoBetOvertakesTheSuspension(t *testing.T) {
	t.Parallel()
	const late = 8
	for _, c := range []struct {
		isolation receipt.Isolation
		read      string
		check     func(*testing.T, *betting, seen)
	}{
		{receipt.ReadCommitted, readStatus, func(t *testing.T, _ *betting, state seen) {
			t.Helper()
			if state.err != nil || state.status != "suspended" {
				t.Errorf("bet behind the suspension sees %+v, want a suspended market", state)
			}
		}},
		{receipt.Serializable, readStatus + " FOR SHARE", func(t *testing.T, b *betting, state seen) {
			t.Helper()
			if !b.store.Retryable(state.err) {
				t.Errorf("bet behind the suspension sees %+v, want an error to retry", state)
			}
		}},
	} {
		t.Run(c.isolation.String(), func(t *testing.T) {
			t.Parallel()
			b := newBetting(t)
			early, earlySession, _ := b.bet(t, c.isolation)
			b.mustShare(t, early, c.read, "m1")
			suspension := b.plain(t, pgx.ReadCommitted)
			excluded := b.queueExclude(t, suspension, "m1")
			var behind [late]<-chan seen
			for i := range behind {
				bet, _, _ := b.bet(t, c.isolation)
				behind[i] = b.queueShare(t, bet, c.read, "m1")
			}
			if err := earlySession.Rollback(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := <-excluded; err != nil {
				t.Fatal(err)
			}
			if waiting := b.fences(t, "mode = 'ShareLock' AND NOT granted"); waiting != late {
				t.Errorf("%d bets wait while the suspension has the fence, want all %d", waiting, late)
			}
			suspension.execute(t, suspendMarket)
			suspension.commit(t)
			for _, result := range behind {
				c.check(t, b, <-result)
			}
		})
	}
}

// What the fence is there for: with row locks a later bet is granted the row
// while the suspension waits for it, and then keeps it waiting in its turn.
func TestRowLocksLetBetsOvertake(t *testing.T) {
	t.Parallel()
	b := newBetting(t)
	early := b.plain(t, pgx.ReadCommitted)
	early.execute(t, readStatus+" FOR SHARE")
	suspension := b.plain(t, pgx.ReadCommitted)
	suspended := b.queue(t, suspension, func(ctx context.Context) error {
		_, err := suspension.Exec(ctx, suspendMarket)
		return err
	})
	late := b.plain(t, pgx.ReadCommitted)
	late.execute(t, readStatus+" FOR SHARE")
	early.commit(t)
	await(t, b.pool, "the suspension waits for the later bet", "$1 = ANY (pg_blocking_pids($2))", late.pid, suspension.pid)
	late.commit(t)
	if err := <-suspended; err != nil {
		t.Fatal(err)
	}
}

// The condition on lock order: a bet that holds the fence waits for a row of a
// bet behind the suspension. All three would wait for ever, and the deadlock
// detector lets the last one pass.
func TestDeadlockDetectorLetsABetOvertake(t *testing.T) {
	t.Parallel()
	const lockWallet = "SELECT FROM wallets WHERE owner = 'alice' FOR UPDATE"
	b := newBetting(t)
	early := b.plain(t, pgx.ReadCommitted)
	b.mustShare(t, early, readStatus, "m1")
	late := b.plain(t, pgx.ReadCommitted)
	late.execute(t, lockWallet)
	suspension := b.plain(t, pgx.ReadCommitted)
	excluded := b.queueExclude(t, suspension, "m1")
	passed := b.queueShare(t, late, readStatus, "m1")
	early.execute(t, "SET LOCAL deadlock_timeout = '1ms'") // when the detector looks
	wallet := b.queue(t, early, func(ctx context.Context) error {
		_, err := early.Exec(ctx, lockWallet)
		return err
	})
	if state := <-passed; state.err != nil || state.status != "open" {
		t.Errorf("bet behind the suspension sees %+v, want an open market", state)
	}
	b.awaitWaiting(t, suspension)
	late.commit(t)
	if err := <-wallet; err != nil {
		t.Error(err)
	}
	early.commit(t)
	if err := <-excluded; err != nil {
		t.Error(err)
	}
}
