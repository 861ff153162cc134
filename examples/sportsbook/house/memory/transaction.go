package memory

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/settleonce/settleonce/acceptance/money"
	"github.com/settleonce/settleonce/receipt/receipttest"

	"github.com/settleonce/settleonce/examples/sportsbook/bet"
	"github.com/settleonce/settleonce/examples/sportsbook/exposure"
	"github.com/settleonce/settleonce/examples/sportsbook/house"
	"github.com/settleonce/settleonce/examples/sportsbook/market"
	"github.com/settleonce/settleonce/examples/sportsbook/wallet"
)

var errEnded = errors.New("memory: the transaction has ended")

// transaction holds its writes back until it commits.
type transaction struct {
	database *Database
	guards   []func() error
	writes   []func()
	hasTurn  bool
	ended    bool
}

var _ house.Unit = (*transaction)(nil)

func (t *transaction) end() {
	t.ended = true
	t.guards, t.writes = nil, nil
	if t.hasTurn {
		t.hasTurn = false
		t.database.endTurn()
	}
}

// read takes the turn, if the transaction does not have it, and the tables until
// done is called.
func (t *transaction) read(ctx context.Context) (done func(), err error) {
	if t.ended {
		return nil, errEnded
	}
	if !t.hasTurn {
		if err := t.database.takeTurn(ctx); err != nil {
			return nil, err
		}
		t.hasTurn = true
	}
	t.database.mu.Lock()
	return t.database.mu.Unlock, nil
}

func (t *transaction) write(f func()) error {
	if t.ended {
		return errEnded
	}
	t.writes = append(t.writes, f)
	return nil
}

func (t *transaction) LockBalance(ctx context.Context, walletID string, currency money.Currency) (wallet.Balance, error) {
	done, err := t.read(ctx)
	if err != nil {
		return wallet.Balance{}, err
	}
	defer done()
	if _, known := t.database.barred[walletID]; !known {
		return wallet.Balance{}, fmt.Errorf("%w %s", house.ErrUnknownWallet, walletID)
	}
	balance, known := t.database.balances[account{walletID, currency.Code()}]
	if !known {
		return wallet.Balance{}, fmt.Errorf("%w: %s, %s", house.ErrNoBalance, walletID, currency)
	}
	return balance, nil
}

func (t *transaction) Board(ctx context.Context, selections []exposure.Selection, _ exposure.Home) (market.Board, error) {
	done, err := t.read(ctx)
	if err != nil {
		return market.Board{}, err
	}
	defer done()
	board := market.Board{Now: t.database.config.Now()}
	for _, selection := range selections {
		board.Offers = append(board.Offers, t.offer(selection))
	}
	return board, nil
}

func (t *transaction) offer(selection exposure.Selection) market.Offer {
	found := t.database.markets[selection.Market]
	for _, offered := range found.Selections {
		if offered.ID == selection.Selection {
			return market.Offer{
				Event: found.Event, Line: found.Line, Status: found.Status, Material: found.Material,
				CutOff: found.CutOff, Selection: offered,
			}
		}
	}
	return market.Offer{Unknown: true}
}

func (t *transaction) Stripe(ctx context.Context, selection exposure.Selection, home exposure.Home) (exposure.Stripe, error) {
	stripes, err := t.Stripes(ctx, selection, home.Currency)
	if err != nil {
		return exposure.Stripe{}, err
	}
	if len(stripes) == 0 {
		return exposure.Stripe{}, fmt.Errorf("%w: %s in %s, %s", house.ErrNoLimit, selection.Selection, selection.Market, home.Currency)
	}
	return stripes[home.Number()%int64(len(stripes))], nil
}

func (t *transaction) Stripes(ctx context.Context, selection exposure.Selection, currency money.Currency) ([]exposure.Stripe, error) {
	done, err := t.read(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	return slices.Clone(t.database.stripes[limited{selection, currency.Code()}]), nil
}

func (t *transaction) Bet(ctx context.Context, reference bet.Reference) (bet.Bet, []exposure.Take, error) {
	done, err := t.read(ctx)
	if err != nil {
		return bet.Bet{}, nil, err
	}
	defer done()
	placed, err := t.database.betOf(reference)
	if err != nil {
		return bet.Bet{}, nil, err
	}
	var takes []exposure.Take
	for _, taken := range t.database.tables.Taken {
		if taken.Reference == reference {
			takes = append(takes, taken.Take)
		}
	}
	exposure.SortTakes(takes)
	return placed, takes, nil
}

func (t *transaction) InsertBet(_ context.Context, placed bet.Bet) error {
	tables := &t.database.tables
	return t.write(func() { tables.Bets = append(tables.Bets, placed) })
}

func (t *transaction) InsertHold(_ context.Context, hold bet.Hold) error {
	tables := &t.database.tables
	return t.write(func() { tables.Holds = append(tables.Holds, hold) })
}

// Take guards each stripe as PostgreSQL's statement does, although nobody can
// come in between while this transaction has the turn.
func (t *transaction) Take(_ context.Context, reference bet.Reference, takes []exposure.Take) error {
	for _, take := range takes {
		t.guards = append(t.guards, func() error {
			_, fits, err := t.stripe(take).Take(take.Amount)
			if err == nil && !fits {
				err = fmt.Errorf("memory: a stripe has no room: %w", receipttest.ErrSerialization)
			}
			return err
		})
		err := t.write(func() {
			stripe := t.stripe(take)
			stripe.Taken = mustAdd(stripe.Taken, take.Amount)
			t.database.tables.Taken = append(t.database.tables.Taken, bet.Taken{Reference: reference, Take: take})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *transaction) GiveBack(_ context.Context, takes []exposure.Take) error {
	return t.write(func() {
		for _, take := range takes {
			stripe := t.stripe(take)
			stripe.Taken = mustAdd(stripe.Taken, take.Amount.Neg())
		}
	})
}

// stripe returns the stripe that a take is of.
func (t *transaction) stripe(take exposure.Take) *exposure.Stripe {
	return &t.database.stripes[limited{take.Selection, take.Amount.Currency().Code()}][take.Number]
}

func (t *transaction) Post(_ context.Context, posted wallet.Transaction) error {
	changes, err := posted.Changes()
	if err != nil {
		return fmt.Errorf("memory: %w", err)
	}
	return t.write(func() {
		t.database.tables.Journal = append(t.database.tables.Journal, posted)
		t.database.move(posted.Wallet, changes)
	})
}

func (t *transaction) EndHold(_ context.Context, end bet.HoldEnd) error {
	tables := &t.database.tables
	return t.write(func() { tables.HoldEnds = append(tables.HoldEnds, end) })
}

func (t *transaction) InsertClosing(_ context.Context, closing bet.Closing) error {
	tables := &t.database.tables
	return t.write(func() { tables.Closings = append(tables.Closings, closing) })
}

func (t *transaction) InsertReferral(_ context.Context, referral bet.Referral) error {
	tables := &t.database.tables
	return t.write(func() { tables.Referrals = append(tables.Referrals, referral) })
}
