package house

import (
	"context"
	"errors"

	"github.com/settleonce/settleonce/acceptance/money"

	"github.com/settleonce/settleonce/examples/sportsbook/bet"
	"github.com/settleonce/settleonce/examples/sportsbook/exposure"
	"github.com/settleonce/settleonce/examples/sportsbook/market"
	"github.com/settleonce/settleonce/examples/sportsbook/wallet"
)

// Errors of the unit of work and of what stands outside of it.
var (
	// ErrUnknownWallet is true where there is no such wallet.
	ErrUnknownWallet = errors.New("house: unknown wallet")
	// ErrNoBalance is true where a wallet has nothing in a currency.
	ErrNoBalance = errors.New("house: the wallet has no balance in the currency")
	// ErrUnknownMarket is true where there is no such market.
	ErrUnknownMarket = errors.New("house: unknown market")
	// ErrUnknownSelection is true where a market has no such selection.
	ErrUnknownSelection = errors.New("house: unknown selection")
	// ErrMarketClosed is true for a change to a market that is closed.
	ErrMarketClosed = errors.New("house: the market is closed")
	// ErrNoLimit is true where a selection has no limit in a currency: bets
	// in it are not taken.
	ErrNoLimit = errors.New("house: the selection has no limit in the currency")
	// ErrUnknownBet is true where there is no such bet.
	ErrUnknownBet = errors.New("house: unknown bet")
)

// Unit is the unit of work of one decision or one closing. Everything it reads
// and writes belongs to the transaction that also holds the receipt, so that
// all of it commits or none.
//
// Locks are taken in this order: the receipt's key, the wallet's balance, the
// fences of markets, the stripes of exposures. Writes may wait until the
// commit, and take their locks there in the order of the calls: so [Unit.Post]
// comes before [Unit.Take] and [Unit.GiveBack].
//
// A Unit belongs to one goroutine, and is used no longer than the callback that
// was given it.
type Unit interface {
	// LockBalance locks and returns a wallet's balance in a currency.
	// errors.Is(err, [ErrUnknownWallet]) is true where there is no such
	// wallet, and [ErrNoBalance] where it has none in that currency.
	LockBalance(ctx context.Context, walletID string, currency money.Currency) (wallet.Balance, error)

	// Board fences the markets against changes until the transaction ends,
	// and then reads the state of each selection and the clock. It may read
	// ahead what Stripe will be asked for.
	Board(ctx context.Context, selections []exposure.Selection, home exposure.Home) (market.Board, error)
	// Stripe returns the home stripe of a selection, without a lock.
	// errors.Is(err, [ErrNoLimit]) is true where bets in the currency are
	// not taken.
	Stripe(ctx context.Context, selection exposure.Selection, home exposure.Home) (exposure.Stripe, error)
	// Stripes returns all stripes of a selection, by number, without a lock.
	Stripes(ctx context.Context, selection exposure.Selection, currency money.Currency) ([]exposure.Stripe, error)

	// Bet returns a bet and what it has of stripes. errors.Is(err,
	// [ErrUnknownBet]) is true where there is none.
	Bet(ctx context.Context, reference bet.Reference) (bet.Bet, []exposure.Take, error)
	// InsertBet writes a bet with its legs.
	InsertBet(ctx context.Context, placed bet.Bet) error
	// InsertHold writes the hold of a bet.
	InsertHold(ctx context.Context, hold bet.Hold) error
	// Take adds the takes of a bet to their stripes, and writes them down.
	// Where a stripe has not the room any more, the commit fails with an
	// error that the store calls retryable.
	Take(ctx context.Context, reference bet.Reference, takes []exposure.Take) error
	// Post writes a transaction of the journal as it is, and moves the
	// balances of the wallet that it names by its entries. That it balances is
	// for the caller to see to.
	Post(ctx context.Context, transaction wallet.Transaction) error

	// EndHold writes how a hold ended.
	EndHold(ctx context.Context, end bet.HoldEnd) error
	// InsertClosing writes how a bet ended.
	InsertClosing(ctx context.Context, closing bet.Closing) error
	// GiveBack subtracts the takes of a bet that is closed from their
	// stripes. What was written down of them stays.
	GiveBack(ctx context.Context, takes []exposure.Take) error

	// InsertReferral writes a command that waits for a trader.
	InsertReferral(ctx context.Context, referral bet.Referral) error
}
