package acceptance

import (
	"context"
	"fmt"

	"github.com/settleonce/settleonce/internal/once"
)

// place goes through the steps that need locks, in the order of the locks:
// wallet, markets, limits, funds, exposure, bet.
func (c *call[Tx, Bet]) place(ctx context.Context, attempt *once.Attempt[Tx], draft *stored[Bet]) error {
	config := &c.runner.config
	tx := attempt.Tx()
	p := &Proposal{
		Command:     c.placed,
		Fingerprint: c.request.Fingerprint,
		Attempt:     attempt.ID(),
		Lines:       c.placed.Lines(),
		Resolution:  c.resolution,
	}
	for _, step := range []func(context.Context, Tx, *Proposal, *stored[Bet]) error{
		c.lockWallet,
		c.quote,
		c.rule("Limits", config.Limits),
		c.compareFunds,
		c.rule("Exposure", config.Exposure),
		c.write,
	} {
		if err := step(ctx, tx, p, draft); err != nil || draft.Verdict != "" {
			return err
		}
	}
	return nil
}

func (c *call[Tx, Bet]) lockWallet(ctx context.Context, tx Tx, p *Proposal, draft *stored[Bet]) error {
	stop := c.measure(&c.seen.WalletWait)
	wallet, err := c.runner.config.LockWallet(ctx, tx, c.placed)
	stop()
	if err != nil {
		return stepError{"LockWallet", err}
	}
	if wallet.Refusal != "" {
		if err := wallet.Refusal.Validate(); err != nil {
			return fmt.Errorf("%w: LockWallet: Refusal %w", ErrCallback, err)
		}
		draft.reject(wallet.Refusal, "")
		return nil
	}
	if !wallet.Available.IsSet() {
		return fmt.Errorf("%w: LockWallet: Available must be set", ErrCallback)
	}
	if p.Stake, err = c.placed.TotalStake(); err != nil {
		return err
	}
	p.Wallet = wallet
	if has, wants := wallet.Available.Currency().Code(), p.Stake.Currency().Code(); has != wants {
		draft.reject(CodeCurrencyMismatch, fmt.Sprintf("the wallet is in %s, the stake in %s", has, wants))
	}
	return nil
}

func (c *call[Tx, Bet]) quote(ctx context.Context, tx Tx, p *Proposal, draft *stored[Bet]) error {
	stop := c.measure(&c.seen.QuoteWait)
	board, err := c.runner.config.Quote(ctx, tx, c.placed)
	stop()
	if err != nil {
		return stepError{"Quote", err}
	}
	granted := c.resolution != nil && c.resolution.GrantRequested
	fenced, err := fence(c.placed.Legs, c.placed.OddsChange, c.runner.config.Fence, &board, granted)
	if err != nil {
		return err
	}
	p.Now, p.Legs, draft.Legs = board.Now, fenced.legs, fenced.legs
	if c.resolution != nil && !board.Now.Before(c.expiresAt) {
		draft.reject(CodeReferralExpired, "")
		return nil
	}
	code, err := c.checkEvidence(board.Now)
	switch {
	case err != nil:
		return err
	case code != "":
		draft.reject(code, "")
	case fenced.code != "":
		draft.reject(fenced.code, fenced.detail)
	case fenced.requote:
		draft.Verdict = Requoted
	}
	return nil
}

// rule returns the step that asks a callback for its ruling.
func (c *call[Tx, Bet]) rule(
	name string, callback func(context.Context, Tx, *Proposal) (Ruling, error),
) func(context.Context, Tx, *Proposal, *stored[Bet]) error {
	return func(ctx context.Context, tx Tx, p *Proposal, draft *stored[Bet]) error {
		if callback == nil {
			return nil
		}
		ruling, err := callback(ctx, tx, p)
		if err != nil {
			return stepError{name, err}
		}
		if err := ruling.validate(); err != nil {
			return fmt.Errorf("%w: %s: %w", ErrCallback, name, err)
		}
		draft.Rules = append(draft.Rules, ruling.Rules...)
		if ruling.Code != "" {
			draft.reject(ruling.Code, ruling.Detail)
		}
		return nil
	}
}

func (c *call[Tx, Bet]) compareFunds(_ context.Context, _ Tx, p *Proposal, draft *stored[Bet]) error {
	difference, err := p.Wallet.Available.Cmp(p.Stake)
	if err != nil {
		return fmt.Errorf("comparing funds: %w", err)
	}
	if difference < 0 {
		draft.reject(CodeInsufficientFunds, "")
	}
	return nil
}

func (c *call[Tx, Bet]) write(ctx context.Context, tx Tx, p *Proposal, draft *stored[Bet]) error {
	bet, err := c.runner.config.Place(ctx, tx, p)
	if err != nil {
		return stepError{"Place", err}
	}
	draft.Verdict, draft.Bet = Accepted, &bet
	return nil
}
