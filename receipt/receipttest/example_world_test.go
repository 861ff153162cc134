package receipttest_test

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/settleonce/settleonce/fingerprint"
	"github.com/settleonce/settleonce/receipt"
	"github.com/settleonce/settleonce/receipt/receipttest"
	"github.com/settleonce/settleonce/settle"
)

// Wallets is the unit of work that a caller's effects are written against. In
// production it wraps a pgx.Tx.
type Wallets interface {
	Credit(player string, cents int64) error
}

// ledger is a caller's own world: the wallets in memory.
type ledger struct {
	mu    sync.Mutex
	cents map[string]int64
}

// ledgerTx is its transaction: credits that nobody else sees yet.
type ledgerTx struct {
	credits map[string]int64
	ended   bool
}

var (
	_ receipttest.World[*ledgerTx] = (*ledger)(nil)
	_ Wallets                      = (*ledgerTx)(nil)
)

func (l *ledger) Begin() *ledgerTx { return &ledgerTx{credits: make(map[string]int64)} }

func (l *ledger) Commit(tx *ledgerTx) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	tx.ended = true
	for player, cents := range tx.credits {
		l.cents[player] += cents
	}
	return nil
}

func (l *ledger) Rollback(tx *ledgerTx) { tx.ended = true }

func (tx *ledgerTx) Credit(player string, cents int64) error {
	if tx.ended {
		return errors.New("ledger: the transaction has ended")
	}
	tx.credits[player] += cents
	return nil
}

// A world of one's own takes three methods. Mapped to the caller's unit of
// work, the fake runs the callback that production runs.
func Example_world() {
	world := &ledger{cents: make(map[string]int64)}
	fake, err := receipttest.New(receipttest.Config[*ledgerTx]{
		World:  world,
		Faults: []receipttest.Fault{receipttest.UnknownThenFound},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	runner, err := settle.New(settle.Config[Wallets]{
		Store: receipt.Map(fake, func(tx *ledgerTx) Wallets { return tx }),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	sum, err := fingerprint.Parse("prize/1:5be0cd19137e21795be0cd19137e21795be0cd19137e21795be0cd19137e2179")
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := settle.Do(context.Background(), runner, settle.Request{
		Key:         receipt.Key{Tenant: "arena", Scope: "tournament", Operation: "pay-prize", ID: "t-1"},
		Kind:        settle.Settled,
		Fingerprint: sum,
	}, func(_ context.Context, attempt *settle.Attempt[Wallets]) (int64, error) {
		return 5000, attempt.Tx().Credit("ann", 5000)
	})
	fmt.Println(result.Value, result.Replayed, err)
	fmt.Println("answers lost:", fake.Fired(receipttest.UnknownThenFound), "ann has", world.cents["ann"])
	// Output:
	// 5000 false <nil>
	// answers lost: 1 ann has 5000
}
