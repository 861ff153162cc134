package faults

import (
	"context"
	"fmt"
	"sync"

	"github.com/settleonce/settleonce/acceptance/money"
	"github.com/settleonce/settleonce/receipt"

	"github.com/settleonce/settleonce/examples/drill/hold"
	"github.com/settleonce/settleonce/examples/drill/sabotage"
	"github.com/settleonce/settleonce/examples/sportsbook/exposure"
	"github.com/settleonce/settleonce/examples/sportsbook/house"
	"github.com/settleonce/settleonce/examples/sportsbook/market"
	"github.com/settleonce/settleonce/examples/sportsbook/wallet"
)

// The names of the sabotages that are the sportsbook's own.
const (
	NoFundsGuard      = "no-funds-guard"
	NoFence           = "no-fence"
	UnbalancedJournal = "unbalanced-journal"
	SkipInbox         = "skip-inbox"
)

// FigureLate is the figure of the audit that no line of JSON has: it is told
// among the problems.
const FigureLate = "late"

// Sabotages returns all of them.
func Sabotages() []sabotage.Sabotage {
	return []sabotage.Sabotage{
		{Name: sabotage.SkipReceipt, What: "bets are decided without writing their receipts", Figure: "doubled"},
		{Name: NoFundsGuard, What: "every wallet is taken to have a million available", Figure: "unbalanced"},
		{Name: NoFence, What: "a market is taken to be what it was when it was first asked for", Figure: FigureLate},
		{Name: UnbalancedJournal, What: "the journal moves a cent more than each hold is for", Figure: "unbalanced"},
		{Name: SkipInbox, What: "the projection takes events without writing receipts of them", Figure: "doubled"},
	}
}

// HoldTransaction is where an API process can be held with the wallet locked
// and nothing committed.
const HoldTransaction = "transaction"

// Instrument returns a store for the drill: its units of work can be held at
// [HoldTransaction], and lack the guard that the sabotage takes out. Empty: they
// lack none.
func Instrument(store receipt.Store[house.Unit], name string) receipt.Store[house.Unit] {
	if name == sabotage.SkipReceipt {
		store = sabotage.WithoutReceipts(store)
	}
	wrap := func(unit house.Unit) house.Unit { return unit }
	switch name {
	case NoFundsGuard:
		wrap = func(unit house.Unit) house.Unit { return unguarded{unit} }
	case NoFence:
		remembered := &boards{read: make(map[string]market.Board)}
		wrap = func(unit house.Unit) house.Unit { return unfenced{unit, remembered} }
	case UnbalancedJournal:
		wrap = func(unit house.Unit) house.Unit { return generous{unit} }
	}
	return receipt.Map(store, func(unit house.Unit) house.Unit { return held{wrap(unit)} })
}

// held can be held once the wallet is locked.
type held struct{ house.Unit }

func (u held) LockBalance(ctx context.Context, walletID string, currency money.Currency) (wallet.Balance, error) {
	balance, err := u.Unit.LockBalance(ctx, walletID, currency)
	hold.Here(ctx, HoldTransaction)
	return balance, err
}

// boards remembers what was read first of each list of selections. Safe for
// concurrent use.
type boards struct {
	mu   sync.Mutex
	read map[string]market.Board
}

// first returns what was read first, which may be what is read now.
func (b *boards) first(selections []exposure.Selection, now market.Board) market.Board {
	name := fmt.Sprint(selections)
	b.mu.Lock()
	defer b.mu.Unlock()
	if earlier, found := b.read[name]; found {
		return earlier
	}
	b.read[name] = now
	return now
}

// unguarded takes every wallet for a rich one.
type unguarded struct{ house.Unit }

func (u unguarded) LockBalance(ctx context.Context, walletID string, currency money.Currency) (wallet.Balance, error) {
	balance, err := u.Unit.LockBalance(ctx, walletID, currency)
	if err != nil {
		return balance, err
	}
	var registry *money.Registry // that of ISO 4217
	balance.Available, err = registry.Parse("1000000", currency.Code())
	return balance, err
}

// unfenced goes by quotes that were true once. Their clock is the true one.
type unfenced struct {
	house.Unit
	boards *boards
}

func (u unfenced) Board(ctx context.Context, selections []exposure.Selection, home exposure.Home) (market.Board, error) {
	board, err := u.Unit.Board(ctx, selections, home)
	if err != nil {
		return board, err
	}
	return market.Board{Now: board.Now, Offers: u.boards.first(selections, board).Offers}, nil
}

// generous moves a cent more than it should with each stake.
type generous struct{ house.Unit }

func (u generous) Post(ctx context.Context, transaction wallet.Transaction) error {
	if transaction.Movement != wallet.Stake {
		return u.Unit.Post(ctx, transaction)
	}
	stake := transaction.Entries[0].Amount
	var registry *money.Registry
	cent, err := registry.FromMinor(1, stake.Currency().Code())
	if err != nil {
		return err
	}
	changed := make([]wallet.Entry, len(transaction.Entries))
	for i, entry := range transaction.Entries {
		more := cent
		if entry.Amount.Sign() < 0 {
			more = cent.Neg()
		}
		amount, err := entry.Amount.Add(more)
		if err != nil {
			return err
		}
		changed[i] = wallet.Entry{Account: entry.Account, Amount: amount}
	}
	transaction.Entries = changed
	return u.Unit.Post(ctx, transaction)
}
