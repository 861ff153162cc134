// Package projection is a consumer of the house's events: it keeps what they come
// to, wallet by wallet and market by market, in tables of its own.
//
// # Each event once
//
// Events are delivered at least once. [Projection.Take] takes each in a
// transaction of the projection's own database that also writes a receipt under
// the event's key, so that one that comes again is answered with the receipt it
// has and changes nothing. Nothing is shared with the house: neither the
// database nor the transaction, and the fingerprint is computed anew from what
// came.
//
// # In order
//
// The events of a wallet come in the order of their commits, so a closing finds
// the bet that it closes. One that does not, since somebody has discarded the
// acceptance, is refused: the sums would be wrong from there on.
//
// # The position
//
// A receipt tells that an event has been taken; it does not tell whether what an
// event says is still the newest. Where a consumer keeps the newest state alone,
// and keeps it where no receipt can be written with it, such as in a cache, the
// event's position does: the table "latest" is written after the transaction at
// every delivery, and only where the event's position is above the one that is
// there. So an old delivery that a relay was late with changes nothing, and needs
// no error: its sender gets the receipt as ever. (A source that goes on behind a
// dead letter delivers it late and for the first time. For a consumer that keeps
// the newest state alone that is right too: the newest is newer.)
package projection

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/receipt"
	"github.com/settleonce/settleonce/settle"

	"github.com/settleonce/settleonce/examples/sportsbook/fact"
)

// Codes of refusals.
const (
	// CodeMalformed: the event is no fact, or contradicts itself.
	CodeMalformed = "malformed-fact"
	// CodeUnknownBet: a bet is closed that was never accepted here.
	CodeUnknownBet = "unknown-bet"
	// CodeRefusedWallet: an operator has the wallet's events refused.
	CodeRefusedWallet = "refused-wallet"
)

// Config makes a projection.
type Config struct {
	// Pool is of [Connect]. It must be set.
	Pool *pgxpool.Pool
	// Store keeps the receipts, in the database of Pool. It must be set.
	Store receipt.Store[pgx.Tx]
	// Logger is the runner's. Nil: silence.
	Logger *slog.Logger
}

// Projection takes events. Safe for concurrent use, also by several processes.
type Projection struct {
	pool   *pgxpool.Pool
	runner *settle.Runner[pgx.Tx]
}

// New returns a projection, or an error that names every wrong field of config.
func New(config Config) (*Projection, error) {
	runner, err := settle.New(settle.Config[pgx.Tx]{Store: config.Store, Logger: config.Logger})
	if config.Pool == nil {
		err = errors.Join(errors.New("Pool must be set"), err)
	}
	if err != nil {
		return nil, fmt.Errorf("projection: Config: %w", err)
	}
	return &Projection{config.Pool, runner}, nil
}

// Take takes an event, or returns the receipt of when that was done. It is what
// settlehttp.HandlerConfig.Settle wants.
//
// Nil means that the event is in the tables, once. errors.Is(err,
// [settle.ErrRefused]) is true for one that is not taken, and changed nothing.
// An error beside a receipt withholds it: the event has been taken, and is to be
// delivered again.
func (p *Projection) Take(ctx context.Context, e event.Event) (receipt.Receipt, error) {
	f, err := fact.FromEvent(e)
	if errors.Is(err, receipt.ErrSchemaVersion) {
		return receipt.Receipt{}, err
	}
	if err != nil {
		return receipt.Receipt{}, settle.Refuse(CodeMalformed, "%v", err)
	}
	request := settle.Request{
		Key: e.Key, Kind: settle.Settled, Fingerprint: e.Fingerprint, Under: f.FingerprintUnder, OrderingKey: e.OrderingKey,
	}
	done, err := settle.Do(ctx, p.runner, request, func(ctx context.Context, a *settle.Attempt[pgx.Tx]) (Entry, error) {
		return take(ctx, a, &e, &f)
	})
	if err != nil {
		return done.Receipt, fmt.Errorf("projection: %w", err)
	}
	return done.Receipt, p.showLatest(ctx, &e, &f)
}

const showLatestSQL = `
	INSERT INTO latest (wallet, position, bet, became) VALUES ($1, $2, $3, $4)
	ON CONFLICT (wallet) DO UPDATE SET position = excluded.position, bet = excluded.bet, became = excluded.became
	WHERE latest.position < excluded.position`

// showLatest keeps the newest fact of the wallet, by its position. It runs at
// every delivery: a process that died between the commit and this is made up for
// when the event comes again.
//
// An event without a position tells nothing of what is the newest.
func (p *Projection) showLatest(ctx context.Context, e *event.Event, f *fact.Fact) error {
	if e.Position == 0 {
		return nil
	}
	if _, err := p.pool.Exec(ctx, showLatestSQL, f.Wallet, e.Position, f.ID, string(f.Became)); err != nil {
		return fmt.Errorf("projection: latest of wallet %s: %w", f.Wallet, err)
	}
	return nil
}
