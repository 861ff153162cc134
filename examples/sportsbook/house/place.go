package house

import (
	"context"
	"errors"
	"fmt"

	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/receipt"

	"github.com/settleonce/settleonce/examples/sportsbook/bet"
	"github.com/settleonce/settleonce/examples/sportsbook/wallet"
)

// errNoRoom: stripes that had room in one step had none in the next. They are
// read once a transaction, so it does not happen.
var errNoRoom = errors.New("house: the room of a limit has changed within a transaction")

// place writes the bet, its hold and what it takes of limits.
func place(ctx context.Context, unit Unit, p *acceptance.Proposal) (bet.Bet, error) {
	placed, err := betOf(p)
	if err != nil {
		return bet.Bet{}, err
	}
	takes, short, err := takesOf(ctx, unit, p)
	if err == nil && short != nil {
		err = errNoRoom
	}
	if err != nil {
		return bet.Bet{}, fmt.Errorf("house: place: %w", err)
	}
	stake := wallet.NewStake(receipt.NewID(), placed.Wallet, placed.Stake)
	stake.Bet, stake.Attempt = placed.ID, placed.Attempt
	err = inOrder(
		func() error { return unit.InsertBet(ctx, placed) },
		func() error {
			return unit.InsertHold(ctx, bet.Hold{Reference: placed.Reference, Amount: placed.Stake, Attempt: placed.Attempt})
		},
		func() error { return post(ctx, unit, stake) },
		func() error { return unit.Take(ctx, placed.Reference, takes) },
	)
	if err != nil {
		return bet.Bet{}, fmt.Errorf("house: place: %w", err)
	}
	return placed, nil
}

// post writes a transaction of the journal that balances.
func post(ctx context.Context, unit Unit, transaction wallet.Transaction) error {
	if err := transaction.Check(); err != nil {
		return err
	}
	return unit.Post(ctx, transaction)
}

// inOrder stops at the first step that fails.
func inOrder(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func betOf(p *acceptance.Proposal) (bet.Bet, error) {
	payout, err := payoutOf(p)
	if err != nil {
		return bet.Bet{}, err
	}
	placed := bet.Bet{
		Reference: bet.Reference{Wallet: p.Command.Wallet, ID: p.Command.ID},
		Kind:      p.Command.Type.Kind,
		Stake:     p.Stake,
		Payout:    payout,
		Legs:      make([]bet.Leg, len(p.Legs)),
		Attempt:   p.Attempt,
	}
	for i := range p.Legs {
		leg := &p.Legs[i]
		placed.Legs[i] = bet.Leg{Market: leg.Market, Selection: leg.Selection, Odds: leg.Quote.Odds, Tick: leg.Quote.Version}
	}
	return placed, nil
}

// refer writes what the trader's desk lists.
func refer(ctx context.Context, unit Unit, p *acceptance.PendingBet) error {
	referral := bet.Referral{
		Reference: bet.Reference{Wallet: p.Command.Wallet, ID: p.Command.ID},
		Stake:     p.Command.Stake,
		ExpiresAt: p.ExpiresAt,
	}
	if err := unit.InsertReferral(ctx, referral); err != nil {
		return fmt.Errorf("house: refer: %w", err)
	}
	return nil
}
