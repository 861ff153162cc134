package acceptance_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/fingerprint"
	"github.com/settleonce/settleonce/pgstore"
	"github.com/settleonce/settleonce/receipt"
)

// suspend suspends the market that Ann bets on, as a writer that knows of the
// fence.
func (db *database) suspend(ctx context.Context) error {
	b, err := newBooks()
	if err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, db.pool, func(tx pgx.Tx) error {
		if err := b.fence.Exclude(ctx, tx, pgstore.Subject{Tenant: "shop", ID: "1x2"}); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, "UPDATE markets SET status = 'suspended', version = 'v2', material = 'm2' WHERE id = '1x2'")
		return err
	})
}

// TestSuspensionInMidFlight: a bet that had its quote before the suspension is
// accepted, and one that comes while the suspension waits is rejected, as are
// all later ones. At SERIALIZABLE the second has a snapshot of the open market.
func TestSuspensionInMidFlight(t *testing.T) {
	t.Parallel()
	bothLevels(t, func(t *testing.T, level receipt.Isolation) {
		t.Helper()
		const late = 5
		db := newDatabase(t)
		for i := range 2 * late {
			db.execute(t, "INSERT INTO wallets VALUES ($1, 'EUR', 100)", fmt.Sprint("wallet-", i))
		}
		quoted, goOn := make(chan struct{}), make(chan struct{})
		early := newBranch(t, db.dsn, level, func(_ *books, config *pgConfig) {
			config.Exposure = func(context.Context, pgx.Tx, *acceptance.Proposal) (acceptance.Ruling, error) {
				close(quoted)
				<-goOn
				return acceptance.Ruling{}, nil
			}
		})
		first := early.beginAccept(t, single(t, "b1", "10.00"))
		<-quoted
		suspended := make(chan error, 1)
		go func() { suspended <- db.suspend(t.Context()) }()
		db.await(t, advisoryWaiters+" = 1")

		b := newBranch(t, db.dsn, level, nil, func(cfg *pgxpool.Config) { cfg.MaxConns = late })
		var behind []<-chan outcome
		for i := range late {
			behind = append(behind, b.beginAccept(t, onWallet(t, i)))
		}
		db.await(t, advisoryWaiters+" = $1", 1+late)
		close(goOn)
		if got := <-first; got.String() != "accepted " {
			t.Errorf("before the suspension: %s", got)
		}
		if err := <-suspended; err != nil {
			t.Fatal(err)
		}
		for i := range behind {
			if got := <-behind[i]; got.String() != "rejected market_suspended" {
				t.Errorf("behind the suspension: %s", got)
			}
		}
		for i := range late {
			if got := b.accept(t, onWallet(t, late+i)); got.Code != acceptance.CodeMarketSuspended {
				t.Errorf("after the suspension: %+v", got)
			}
		}
		if bets := db.text(t, "SELECT string_agg(id, ' ') FROM bets"); bets != "b1" {
			t.Errorf("bets %q, want b1", bets)
		}
	})
}

// TestSuspensionBehindTheSnapshot: a lone bet has its snapshot when the market
// is suspended. Nothing but the row lock of the market tells it at SERIALIZABLE.
func TestSuspensionBehindTheSnapshot(t *testing.T) {
	t.Parallel()
	bothLevels(t, func(t *testing.T, level receipt.Isolation) {
		t.Helper()
		db := newDatabase(t)
		books, err := newBooks()
		if err != nil {
			t.Fatal(err)
		}
		writer, err := db.pool.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := books.fence.Exclude(t.Context(), writer, pgstore.Subject{Tenant: "shop", ID: "1x2"}); err != nil {
			t.Fatal(err)
		}
		bet := newBranch(t, db.dsn, level, nil).beginAccept(t, single(t, "b1", "10.00"))
		db.await(t, advisoryWaiters+" = 1")
		if _, err := writer.Exec(t.Context(), "UPDATE markets SET status = 'suspended'"); err != nil {
			t.Fatal(err)
		}
		if err := writer.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := <-bet; got.String() != "rejected market_suspended" {
			t.Errorf("behind the suspension: %s", got)
		}
	})
}

// onWallet returns a bet on one of the numbered wallets.
func onWallet(t *testing.T, i int) acceptance.Command {
	t.Helper()
	c := single(t, "b1", "10.00")
	c.Wallet = fmt.Sprint("wallet-", i)
	return c
}

// riskService gives evidence of which the first is soon to expire.
type riskService struct {
	mu      sync.Mutex
	asked   int
	first   time.Duration
	opinion acceptance.Opinion
	expires time.Time
}

func (s *riskService) assess(_ context.Context, _ *acceptance.Command, sum fingerprint.Digest) (acceptance.Evidence, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	validity := time.Hour
	if s.asked == 1 {
		validity = s.first
	}
	made := evidence(fmt.Sprint("e", s.asked), sum, s.opinion, validity)
	if s.asked == 1 {
		s.expires = made.ExpiresAt
	}
	return made, nil
}

// firstExpires returns when the first evidence does.
func (s *riskService) firstExpires() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.expires
}

// TestEvidenceThatExpiresAtTheWallet: the evidence is good when the transaction
// begins, and has expired by the server's clock when the wallet is free.
func TestEvidenceThatExpiresAtTheWallet(t *testing.T) {
	t.Parallel()
	bothLevels(t, func(t *testing.T, level receipt.Isolation) {
		t.Helper()
		db := newDatabase(t)
		risk := &riskService{first: 2 * time.Second, opinion: acceptance.RiskApprove}
		b := newBranch(t, db.dsn, level, func(_ *books, config *pgConfig) { config.Risk.Assess = risk.assess })
		release := db.holdWallet(t, "ann")
		outcomes := b.beginAccept(t, single(t, "b1", "10.00"))
		db.await(t, waiters+" = 1")
		db.await(t, "clock_timestamp() > $1", risk.firstExpires())
		release()
		got := <-outcomes
		if got.String() != "accepted " || got.Evidence == nil || got.Evidence.ID != "e2" || risk.asked != 2 {
			t.Errorf("%s on %+v, asked %d times", got, got.Evidence, risk.asked)
		}
		if bets := db.number(t, "SELECT count(*) FROM bets"); bets != 1 {
			t.Errorf("%d bets, want 1", bets)
		}
	})
}
