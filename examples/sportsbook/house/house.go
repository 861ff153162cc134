package house

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/settle"

	"github.com/settleonce/settleonce/examples/sportsbook/bet"
)

// Decision is the house's answer to a command.
type Decision = acceptance.Decision[bet.Bet]

// House takes bets and closes them. Safe for concurrent use, also by several
// processes.
type House struct {
	tenant string
	books  Books
	limits Limits
	bets   *acceptance.Runner[Unit, bet.Bet]
	closer *settle.Runner[Unit]
}

// New returns a house, or an error that names every wrong field of config.
func New(config Config) (*House, error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	house := &House{tenant: config.Tenant, books: config.Books, limits: config.Limits}
	bets, acceptanceErr := acceptance.New(house.acceptance(&config))
	closer, settleErr := settle.New(config.settle())
	if err := errors.Join(acceptanceErr, settleErr); err != nil {
		return nil, fmt.Errorf("house: %w", err)
	}
	house.bets, house.closer = bets, closer
	return house, nil
}

// acceptance joins the callbacks to a runner's configuration.
func (h *House) acceptance(config *Config) acceptance.Config[Unit, bet.Bet] {
	return acceptance.Config[Unit, bet.Bet]{
		Store: config.Store,
		Rules: acceptance.Rules{
			Currencies: config.Currencies,
			Kinds:      []acceptance.BetKind{acceptance.Single, acceptance.Accumulator},
			Check:      h.check,
		},
		Authorize:  h.authorize,
		Risk:       config.Risk,
		LockWallet: lockWallet,
		Quote:      quote,
		Fence:      config.Fence,
		Limits:     h.applyLimits,
		Exposure:   applyExposure,
		Place:      place,
		Events:     announce,
		Referral: acceptance.Referral[Unit]{
			Lifetime: config.ReferralLifetime,
			Record:   refer,
		},
		Unreceipted:    config.Unreceipted,
		Isolation:      config.Isolation,
		LockTimeout:    config.LockTimeout,
		CommitTimeout:  config.CommitTimeout,
		ResolveTimeout: config.ResolveTimeout,
		MaxAttempts:    cmp.Or(config.MaxAttempts, defaultMaxAttempts),
		Observer:       config.Observer,
		Logger:         config.Logger,
	}
}

func (c *Config) settle() settle.Config[Unit] {
	return settle.Config[Unit]{
		Store:          c.Store,
		Isolation:      c.Isolation,
		LockTimeout:    c.LockTimeout,
		CommitTimeout:  c.CommitTimeout,
		ResolveTimeout: c.ResolveTimeout,
		MaxAttempts:    cmp.Or(c.MaxAttempts, defaultMaxAttempts),
		Logger:         c.Logger,
	}
}

// Accept decides a command, as [acceptance.Runner.Accept] does.
func (h *House) Accept(ctx context.Context, command acceptance.Command) (Decision, error) {
	return h.bets.Accept(ctx, command)
}

// Resolve passes on a trader's word, as [acceptance.Runner.Resolve] does.
func (h *House) Resolve(ctx context.Context, reference bet.Reference, word acceptance.Resolution) (Decision, error) {
	return h.bets.Resolve(ctx, h.tenant, reference.Wallet, reference.ID, word)
}

// Lookup returns a command's decision, as [acceptance.Runner.Lookup] does.
func (h *House) Lookup(ctx context.Context, reference bet.Reference) (Decision, error) {
	return h.bets.Lookup(ctx, h.tenant, reference.Wallet, reference.ID)
}

// Chain returns the requotes and consents around a command, as
// [acceptance.Runner.Chain] does.
func (h *House) Chain(ctx context.Context, reference bet.Reference) ([]acceptance.Link[bet.Bet], error) {
	return h.bets.Chain(ctx, h.tenant, reference.Wallet, reference.ID)
}
