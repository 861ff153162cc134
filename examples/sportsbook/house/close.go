package house

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/acceptance/money"
	"github.com/settleonce/settleonce/receipt"
	"github.com/settleonce/settleonce/settle"

	"github.com/settleonce/settleonce/examples/sportsbook/bet"
	"github.com/settleonce/settleonce/examples/sportsbook/fact"
	"github.com/settleonce/settleonce/examples/sportsbook/market"
	"github.com/settleonce/settleonce/examples/sportsbook/wallet"
)

// Settle pays out a bet by the results of its markets and consumes its hold, or
// returns the closing of when that was done. Results are never changed here, so
// they are read before the transaction.
//
// errors.Is(err, [bet.ErrUndecided]) is true while a result is missing, and
// [ErrUnknownBet] where there is no such bet. All else is as [acceptance.Close]
// says.
func (h *House) Settle(ctx context.Context, reference bet.Reference) (settle.Result[bet.Closing], error) {
	placed, _, err := h.books.Bet(ctx, reference)
	if err != nil {
		return settle.Result[bet.Closing]{}, fmt.Errorf("house: settle: %w", err)
	}
	results, err := h.books.Results(ctx, placed.Markets())
	if err != nil {
		return settle.Result[bet.Closing]{}, fmt.Errorf("house: settle: %w", err)
	}
	payout, err := placed.PayoutUnder(results)
	if err != nil {
		return settle.Result[bet.Closing]{}, fmt.Errorf("house: settle: %w", err)
	}
	return h.close(ctx, acceptance.Closing{
		Wallet: reference.Wallet, ID: reference.ID, Kind: settle.Settled,
		ResultVersion: versionOf(results), Facts: results,
	}, payout)
}

// Void gives back the stake of a bet whatever its markets say, and releases its
// hold. The version names what it is voided by, such as a trader's case.
//
// The errors are those of [House.Settle].
func (h *House) Void(ctx context.Context, reference bet.Reference, version string) (settle.Result[bet.Closing], error) {
	placed, _, err := h.books.Bet(ctx, reference)
	if err != nil {
		return settle.Result[bet.Closing]{}, fmt.Errorf("house: void: %w", err)
	}
	return h.close(ctx, acceptance.Closing{
		Wallet: reference.Wallet, ID: reference.ID, Kind: settle.Voided, ResultVersion: version,
	}, placed.Stake)
}

// versionOf joins the versions of results. Where they are too long together,
// their digest stands for them.
func versionOf(results map[string]market.Result) string {
	versions := make(map[string]struct{})
	for _, result := range results {
		versions[result.Version] = struct{}{}
	}
	joined := strings.Join(slices.Sorted(maps.Keys(versions)), "+")
	if len(joined) <= acceptance.MaxText {
		return joined
	}
	sum := sha256.Sum256([]byte(joined))
	return "sha256:" + hex.EncodeToString(sum[:])
}

func (h *House) close(ctx context.Context, closing acceptance.Closing, payout money.Amount) (settle.Result[bet.Closing], error) {
	closing.Tenant = h.tenant
	return acceptance.Close(ctx, h.closer, closing, func(ctx context.Context, a *settle.Attempt[Unit]) (bet.Closing, error) {
		return h.closeBet(ctx, a, &closing, payout)
	})
}

// closeBet is the effect. It may run more than once, and touches nothing but the
// transaction.
func (h *House) closeBet(
	ctx context.Context, a *settle.Attempt[Unit], c *acceptance.Closing, payout money.Amount,
) (bet.Closing, error) {
	unit := a.Tx()
	placed, takes, err := unit.Bet(ctx, bet.Reference{Wallet: c.Wallet, ID: c.ID})
	if err != nil {
		return bet.Closing{}, fmt.Errorf("house: close: %w", err)
	}
	closing := bet.Closing{
		Reference: placed.Reference, State: bet.State(c.Kind), ResultVersion: c.ResultVersion,
		Payout: payout, Rounding: bet.Rounding, Attempt: a.ID(),
	}
	end := bet.HoldEnd{
		Reference: placed.Reference, Consumed: closing.State == bet.Settled, Amount: placed.Stake, Attempt: a.ID(),
	}
	err = inOrder(
		func() error { return unit.EndHold(ctx, end) },
		func() error { return unit.InsertClosing(ctx, closing) },
		func() error { return post(ctx, unit, movementOf(&placed, &closing)) },
		func() error { return unit.GiveBack(ctx, takes) },
	)
	if err != nil {
		return bet.Closing{}, fmt.Errorf("house: close: %w", err)
	}
	told := fact.Fact{Reference: placed.Reference, Became: c.Kind, Closing: &closing}
	e, err := told.Event(h.tenant)
	if err != nil {
		return bet.Closing{}, fmt.Errorf("house: close: %w", err)
	}
	return closing, a.Emit(e)
}

func movementOf(placed *bet.Bet, closing *bet.Closing) wallet.Transaction {
	var movement wallet.Transaction
	if closing.State == bet.Settled {
		movement = wallet.NewSettlement(receipt.NewID(), placed.Wallet, placed.Stake, closing.Payout)
	} else {
		movement = wallet.NewVoid(receipt.NewID(), placed.Wallet, placed.Stake)
	}
	movement.Bet, movement.Attempt = placed.ID, closing.Attempt
	return movement
}
