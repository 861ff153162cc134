// Package memory keeps the house's tables in memory, for tests and for a
// demonstration without a database. They die with the process.
//
// It is the world of a receipttest.Fake: the same callbacks run on it as on
// PostgreSQL. One transaction at a time has the turn that stands for all row
// locks and fences.
package memory

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/settleonce/settleonce/acceptance/money"
	"github.com/settleonce/settleonce/receipt/receipttest"

	"github.com/settleonce/settleonce/examples/sportsbook/bet"
	"github.com/settleonce/settleonce/examples/sportsbook/exposure"
	"github.com/settleonce/settleonce/examples/sportsbook/house"
	"github.com/settleonce/settleonce/examples/sportsbook/market"
	"github.com/settleonce/settleonce/examples/sportsbook/wallet"
)

// Config makes a [Database].
type Config struct {
	// Currencies are the house's. Nil: those of ISO 4217.
	Currencies *money.Registry
	// Now is the clock of the tables. It should be the fake's. Nil: time.Now.
	Now func() time.Time
}

// Database is the tables. Safe for concurrent use.
type Database struct {
	config Config
	turn   chan struct{} // holds one token: the lock of the transactions

	mu       sync.Mutex
	barred   map[string]bool // by wallet, of all that there are
	balances map[account]wallet.Balance
	markets  map[string]market.Market
	stripes  map[limited][]exposure.Stripe
	tables   house.Tables // what is only ever added to
}

// account names a balance.
type account struct{ wallet, currency string }

// limited names a limit.
type limited struct {
	exposure.Selection
	currency string
}

var (
	_ receipttest.World[house.Unit] = (*Database)(nil)
	_ house.Books                   = (*Database)(nil)
	_ house.Cashier                 = (*Database)(nil)
	_ house.Trading                 = (*Database)(nil)
)

// New returns an empty database.
func New(config Config) *Database {
	if config.Now == nil {
		config.Now = time.Now
	}
	return &Database{
		config: config, turn: make(chan struct{}, 1),
		barred: make(map[string]bool), balances: make(map[account]wallet.Balance),
		markets: make(map[string]market.Market), stripes: make(map[limited][]exposure.Stripe),
	}
}

// Begin opens a transaction, which takes its turn at its first lock.
func (d *Database) Begin() house.Unit { return &transaction{database: d} }

// Commit makes everything that was done through unit visible. Where a stripe has
// not the room any more it changes nothing and has the transaction run again.
func (d *Database) Commit(unit house.Unit) error {
	tx := unit.(*transaction) // the only kind that Begin makes
	defer tx.end()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, guard := range tx.guards {
		if err := guard(); err != nil {
			return err
		}
	}
	for _, write := range tx.writes {
		write()
	}
	return nil
}

// Rollback leaves nothing of what was done through unit.
func (d *Database) Rollback(unit house.Unit) { unit.(*transaction).end() }

func (d *Database) takeTurn(ctx context.Context) error {
	select {
	case d.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("memory: %w", context.Cause(ctx))
	}
}

func (d *Database) endTurn() { <-d.turn }

// alone runs a change in a transaction of its own.
func (d *Database) alone(ctx context.Context, change func() error) error {
	if err := d.takeTurn(ctx); err != nil {
		return err
	}
	defer d.endTurn()
	d.mu.Lock()
	defer d.mu.Unlock()
	return change()
}

// move moves the balances of a transaction's wallet. It is called with mu held,
// and with changes that add up.
func (d *Database) move(walletID string, changes []wallet.Change) {
	for _, change := range changes {
		name := account{walletID, change.Available.Currency().Code()}
		balance := d.balances[name]
		balance.Available = mustAdd(balance.Available, change.Available)
		balance.Held = mustAdd(balance.Held, change.Held)
		d.balances[name] = balance
	}
}

// mustAdd adds amounts of one currency that are far from overflowing: what bets
// and deposits move has passed the money package's bounds by itself.
func mustAdd(a, b money.Amount) money.Amount {
	sum, err := a.Add(b)
	if err != nil {
		panic(fmt.Sprintf("memory: %v", err))
	}
	return sum
}

// walletOf returns a wallet. It is called with mu held.
func (d *Database) walletOf(id string) wallet.Wallet {
	found := wallet.Wallet{ID: id, Barred: d.barred[id]}
	for name, balance := range d.balances {
		if name.wallet == id {
			found.Balances = append(found.Balances, balance)
		}
	}
	slices.SortFunc(found.Balances, func(a, b wallet.Balance) int {
		return cmp.Compare(a.Available.Currency().Code(), b.Available.Currency().Code())
	})
	return found
}

// marketOf returns a copy of a market. It is called with mu held.
func (d *Database) marketOf(id string) (market.Market, bool) {
	found, known := d.markets[id]
	found.Selections = slices.Clone(found.Selections)
	return found, known
}

// closingOf returns how a bet ended, nil if it has not. It is called with mu
// held.
func (d *Database) closingOf(reference bet.Reference) *bet.Closing {
	for i := range d.tables.Closings {
		if d.tables.Closings[i].Reference == reference {
			return &d.tables.Closings[i]
		}
	}
	return nil
}

// Tables returns a copy of everything. Receipts and events are the fake's, and
// are not among it.
func (d *Database) Tables(context.Context) (house.Tables, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	tables := d.tables
	tables.Journal = slices.Clone(tables.Journal)
	tables.Bets = slices.Clone(tables.Bets)
	tables.Holds = slices.Clone(tables.Holds)
	tables.HoldEnds = slices.Clone(tables.HoldEnds)
	tables.Closings = slices.Clone(tables.Closings)
	tables.Taken = slices.Clone(tables.Taken)
	tables.Referrals = slices.Clone(tables.Referrals)
	for _, id := range slices.Sorted(maps.Keys(d.barred)) {
		tables.Wallets = append(tables.Wallets, d.walletOf(id))
	}
	for _, id := range slices.Sorted(maps.Keys(d.markets)) {
		found, _ := d.marketOf(id)
		tables.Markets = append(tables.Markets, found)
	}
	for _, stripes := range d.stripes {
		tables.Stripes = append(tables.Stripes, stripes...)
	}
	return tables, nil
}
