package house

import (
	"context"

	"github.com/settleonce/settleonce/acceptance/money"

	"github.com/settleonce/settleonce/examples/sportsbook/bet"
	"github.com/settleonce/settleonce/examples/sportsbook/exposure"
	"github.com/settleonce/settleonce/examples/sportsbook/market"
	"github.com/settleonce/settleonce/examples/sportsbook/wallet"
)

// Books are the house's tables as they are read outside of decisions. Safe for
// concurrent use.
type Books interface {
	// Wallet returns a wallet, or [ErrUnknownWallet].
	Wallet(ctx context.Context, id string) (wallet.Wallet, error)
	// Barred says whether a player may not bet. An unknown one is not barred.
	Barred(ctx context.Context, walletID string) (bool, error)
	// Journal returns the transactions of a wallet in the order in which they
	// were written.
	Journal(ctx context.Context, walletID string) ([]wallet.Transaction, error)
	// Market returns a market, or [ErrUnknownMarket].
	Market(ctx context.Context, id string) (market.Market, error)
	// Markets returns all markets by ID.
	Markets(ctx context.Context) ([]market.Market, error)
	// Bet returns a bet and its state, or [ErrUnknownBet].
	Bet(ctx context.Context, reference bet.Reference) (bet.Bet, bet.State, error)
	// BetsOn returns the bets with a leg on the market, open or not, each once.
	BetsOn(ctx context.Context, marketID string) ([]bet.Reference, error)
	// Results returns the results of markets, of those that have one.
	Results(ctx context.Context, markets []string) (map[string]market.Result, error)
	// Tables returns everything in one snapshot, for the audit.
	Tables(ctx context.Context) (Tables, error)
}

// Cashier opens wallets. Safe for concurrent use.
type Cashier interface {
	// OpenWallets opens wallets, each with the deposits, one a currency, in
	// one transaction. None of the wallets may exist.
	OpenWallets(ctx context.Context, deposits []money.Amount, wallets ...string) error
	// Bar says from now on whether a player may bet. errors.Is(err,
	// [ErrUnknownWallet]) is true where there is no such wallet.
	Bar(ctx context.Context, walletID string, barred bool) error
}

// Trading writes the state of markets. Each call is a transaction of its own,
// which waits for the bets that are under way on the market, and holds off
// those that come later, until it has committed.
//
// errors.Is(err, [ErrUnknownMarket]) is true where there is no such market, and
// [ErrMarketClosed] where it is closed. Safe for concurrent use.
type Trading interface {
	// OpenMarket opens a market, which must not exist.
	OpenMarket(ctx context.Context, opening market.Opening) error
	// Move sets new odds. errors.Is(err, [ErrUnknownSelection]) is true where
	// the market has no such selection.
	Move(ctx context.Context, marketID string, prices ...market.Price) error
	// Suspend stops the bets on a market. What players have seen of it counts
	// no longer. It does nothing to one that is suspended.
	Suspend(ctx context.Context, marketID string) error
	// Resume lets bets be taken again. It does nothing to an open market.
	Resume(ctx context.Context, marketID string) error
	// CloseMarket closes a market for good, with its result. Closing it again
	// with the same result does nothing; with another one it is
	// [ErrMarketClosed].
	CloseMarket(ctx context.Context, marketID string, result market.Result) error
}

// Tables is everything that the house keeps. Receipts and events are the
// store's, and not among it. The order of the rows says nothing, but that
// Journal has the transactions of a wallet in the order in which they were
// written.
type Tables struct {
	Wallets []wallet.Wallet      `json:"wallets"`
	Journal []wallet.Transaction `json:"journal"`
	Markets []market.Market      `json:"markets"`
	Bets    []bet.Bet            `json:"bets"`
	// StrayLegs names the bet of each leg whose bet is not among Bets.
	StrayLegs []bet.Reference   `json:"stray_legs,omitempty"`
	Holds     []bet.Hold        `json:"holds"`
	HoldEnds  []bet.HoldEnd     `json:"hold_ends"`
	Closings  []bet.Closing     `json:"closings"`
	Stripes   []exposure.Stripe `json:"stripes"`
	Taken     []bet.Taken       `json:"taken"`
	Referrals []bet.Referral    `json:"referrals"`
}
