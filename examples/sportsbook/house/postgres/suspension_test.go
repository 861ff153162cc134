package postgres_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/acceptance/money"
	"github.com/settleonce/settleonce/pgstore"
	"github.com/settleonce/settleonce/receipt"

	"github.com/settleonce/settleonce/examples/sportsbook/house"
	"github.com/settleonce/settleonce/examples/sportsbook/house/housetest"
	"github.com/settleonce/settleonce/examples/sportsbook/market"
)

// newHouse returns a house with ann, who has 100 EUR, and an open market.
func newHouse(t *testing.T, isolation receipt.Isolation) (*house.House, *books) {
	t.Helper()
	made := newBooks(t, isolation)
	if err := made.OpenWallets(t.Context(), []money.Amount{housetest.EUR(t, "100.00")}, "ann"); err != nil {
		t.Fatal(err)
	}
	if err := made.OpenMarket(t.Context(), housetest.Opening(t, "winner", "1000.00", "home", "2.00", "away", "3.50")); err != nil {
		t.Fatal(err)
	}
	return made.house(t, isolation), made
}

func (b *books) house(t *testing.T, isolation receipt.Isolation) *house.House {
	t.Helper()
	made, err := house.New(house.Config{
		Tenant: housetest.Tenant, Store: b.Database.Store(b.store), Books: b.Database, Isolation: isolation, MaxAttempts: 50,
	})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// hold begins a change of the market "winner" by hand, as the market's writer
// makes it, and leaves it open.
func hold(t *testing.T, b *books, change string) pgx.Tx {
	t.Helper()
	fence, err := pgstore.NewFence(pgstore.FenceConfig{Schema: b.schema, Name: "market"})
	if err != nil {
		t.Fatal(err)
	}
	tx, err := b.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) })
	if err := fence.Exclude(t.Context(), tx, pgstore.Subject{Tenant: housetest.Tenant, ID: "winner"}); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), change); err != nil {
		t.Fatal(err)
	}
	return tx
}

// waitForWaiters waits until so many backends wait for tx, directly or behind
// one that does. It is a failure if early says that one did not.
func waitForWaiters(t *testing.T, pool *pgxpool.Pool, tx pgx.Tx, want int, early func() bool) {
	t.Helper()
	holder := int32(tx.Conn().PgConn().PID())
	for {
		var waiting int
		err := pool.QueryRow(t.Context(), `
			WITH RECURSIVE waiting (pid) AS (
				SELECT $1::integer
				UNION
				SELECT activity.pid FROM pg_stat_activity AS activity, waiting WHERE waiting.pid = ANY(pg_blocking_pids(activity.pid))
			)
			SELECT count(*) - 1 FROM waiting`, holder).Scan(&waiting)
		if err != nil {
			t.Fatal(err)
		}
		if waiting >= want {
			return
		}
		if early() {
			t.Fatalf("%d wait for the transaction, want %d, and one did not wait", waiting, want)
		}
	}
}

// A bet that has waited for a suspension sees it, at either level: at
// SERIALIZABLE too, although its snapshot is from before.
func TestBetSeesTheChangeItWaitedFor(t *testing.T) {
	t.Parallel()
	for _, isolation := range isolations() {
		for _, change := range []struct {
			name, sql string
			verdict   acceptance.Verdict
			code      acceptance.Code
		}{
			{"suspension", `UPDATE markets SET status = 'suspended', material = material + 1 WHERE market = 'winner'`, acceptance.Rejected, acceptance.CodeMarketSuspended},
			{
				"odds",
				`WITH moved AS (UPDATE selections SET odds = 1.50, tick = tick + 1 WHERE market = 'winner' AND selection = 'home')
				UPDATE markets SET revision = revision + 1 WHERE market = 'winner'`,
				acceptance.Requoted, "",
			},
		} {
			t.Run(isolation.String()+"/"+change.name, func(t *testing.T) {
				t.Parallel()
				bookmaker, made := newHouse(t, isolation)
				changing := hold(t, made, change.sql)
				answered := make(chan house.Decision, 1)
				go func() {
					decision, err := bookmaker.Accept(t.Context(), housetest.Single(t, "ann", "10.00", "winner", "home", "2.00"))
					if err != nil {
						t.Error(err)
					}
					answered <- decision
				}()
				waitForWaiters(t, made.pool, changing, 1, func() bool { return len(answered) > 0 })
				if err := changing.Commit(t.Context()); err != nil {
					t.Fatal(err)
				}
				if got := <-answered; got.Verdict != change.verdict || got.Code != change.code {
					t.Errorf("verdict %q, code %q; want %q, %q", got.Verdict, got.Code, change.verdict, change.code)
				}
				housetest.CheckBooks(t, made)
			})
		}
	}
}

// A suspension waits for the bets that are under way, and a bet that comes after
// it is not let in before it.
func TestSuspensionComesBeforeLaterBets(t *testing.T) {
	t.Parallel()
	for _, isolation := range isolations() {
		t.Run(isolation.String(), func(t *testing.T) {
			t.Parallel()
			bookmaker, made := newHouse(t, isolation)
			earlier, err := made.pool.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = earlier.Rollback(context.WithoutCancel(t.Context())) }()
			if err := made.Share(t.Context(), earlier, "winner"); err != nil {
				t.Fatal(err)
			}
			suspended := make(chan error, 1)
			go func() { suspended <- made.Suspend(t.Context(), "winner") }()
			waitForWaiters(t, made.pool, earlier, 1, func() bool { return len(suspended) > 0 })
			answered := make(chan house.Decision, 1)
			go func() {
				decision, err := bookmaker.Accept(t.Context(), housetest.Single(t, "ann", "10.00", "winner", "home", "2.00"))
				if err != nil {
					t.Error(err)
				}
				answered <- decision
			}()
			waitForWaiters(t, made.pool, earlier, 2, func() bool { return len(suspended)+len(answered) > 0 })
			if err := earlier.Rollback(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := <-suspended; err != nil {
				t.Fatal(err)
			}
			if got := <-answered; got.Code != acceptance.CodeMarketSuspended {
				t.Errorf("a bet behind the suspension was %q, code %q", got.Verdict, got.Code)
			}
		})
	}
}

// A bet at SERIALIZABLE locks the market's row alone, so each change of a market
// must change it.
func TestEveryChangeChangesTheMarketsRow(t *testing.T) {
	t.Parallel()
	_, made := newHouse(t, receipt.Serializable)
	ctx := t.Context()
	var last int64
	for _, change := range []struct {
		name string
		make func() error
	}{
		{"the opening", func() error { return nil }},
		{"a move", func() error { return made.Move(ctx, "winner", housetest.Price(t, "home", "1.50")) }},
		{"a suspension", func() error { return made.Suspend(ctx, "winner") }},
		{"a resumption", func() error { return made.Resume(ctx, "winner") }},
		{"the end", func() error { return made.CloseMarket(ctx, "winner", market.Result{Version: "feed-1", Void: true}) }},
	} {
		if err := change.make(); err != nil {
			t.Fatal(err)
		}
		var revision int64
		if err := made.pool.QueryRow(ctx, `SELECT revision FROM markets WHERE market = 'winner'`).Scan(&revision); err != nil {
			t.Fatal(err)
		}
		if revision <= last {
			t.Errorf("after %s the market's row has revision %d, and had %d", change.name, revision, last)
		}
		last = revision
	}
}
