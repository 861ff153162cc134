package acceptance

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"time"

	"github.com/settleonce/settleonce/internal/once"
	"github.com/settleonce/settleonce/receipt"
)

// Defaults of [Config].
const (
	DefaultRiskCallTimeout   = time.Second
	DefaultRiskSkew          = 2 * time.Second
	DefaultWalletConcurrency = 1
	// DefaultSerializableAttempts is MaxAttempts at SERIALIZABLE.
	DefaultSerializableAttempts = 20
)

// validate reports every wrong field at once.
func (c *Config[Tx, Bet]) validate() error {
	var broken []error
	wrong := func(format string, arguments ...any) {
		broken = append(broken, fmt.Errorf(format, arguments...))
	}
	for _, required := range []struct {
		field   string
		missing bool
	}{
		{"LockWallet", c.LockWallet == nil},
		{"Quote", c.Quote == nil},
		{"Place", c.Place == nil},
	} {
		if required.missing {
			wrong("%s must be set", required.field)
		}
	}
	engine := c.engine()
	if err := engine.Validate(); err != nil {
		broken = append(broken, err)
	}
	if c.Fence != FenceTick && c.Fence != FenceMaterial {
		wrong("Fence must be FenceTick or FenceMaterial, is %d", c.Fence)
	}
	if c.WalletConcurrency < 0 {
		wrong("WalletConcurrency must not be negative, is %d", c.WalletConcurrency)
	}
	for i, code := range c.Unreceipted {
		if err := code.Validate(); err != nil {
			wrong("Unreceipted[%d] %w", i, err)
		}
	}
	if c.Referral.Lifetime < 0 {
		wrong("Referral.Lifetime must not be negative, is %v", c.Referral.Lifetime)
	}
	broken = append(broken, c.Rules.validate(), c.validateRisk())
	return errors.Join(broken...)
}

func (c *Config[Tx, Bet]) validateRisk() error {
	var broken []error
	for _, duration := range []struct {
		field string
		value time.Duration
	}{
		{"CallTimeout", c.Risk.CallTimeout},
		{"TotalTimeout", c.Risk.TotalTimeout},
		{"Skew", c.Risk.Skew},
	} {
		if duration.value < 0 {
			broken = append(broken, fmt.Errorf("Risk.%s must not be negative, is %v", duration.field, duration.value))
		}
	}
	switch {
	case c.Risk.Unavailable != FallbackReject && c.Risk.Unavailable != FallbackRefer:
		broken = append(broken, fmt.Errorf("Risk.Unavailable must be FallbackReject or FallbackRefer, is %d", c.Risk.Unavailable))
	case c.Risk.Unavailable == FallbackRefer && c.Referral.Lifetime == 0:
		broken = append(broken, errors.New("Risk.Unavailable must not be FallbackRefer where Referral.Lifetime is zero: nothing can be referred"))
	}
	return errors.Join(broken...)
}

func (r *Rules) validate() error {
	var broken []error
	if r.MaxLegs < 0 || r.MaxLegs > MaxLegs {
		broken = append(broken, fmt.Errorf("Rules.MaxLegs must be between 0 and %d, is %d", MaxLegs, r.MaxLegs))
	}
	if r.MaxLines < 0 || r.MaxLines > MaxLines {
		broken = append(broken, fmt.Errorf("Rules.MaxLines must be between 0 and %d, is %d", MaxLines, r.MaxLines))
	}
	for i, kind := range r.Kinds {
		if !slices.Contains([]BetKind{Single, Accumulator, System}, kind) {
			broken = append(broken, fmt.Errorf("Rules.Kinds[%d] must be a kind of this package, is %q", i, kind))
		}
	}
	return errors.Join(broken...)
}

func (c *Config[Tx, Bet]) withDefaults() {
	if c.Rules.MaxLegs == 0 {
		c.Rules.MaxLegs = MaxLegs
	}
	if c.Rules.MaxLines == 0 {
		c.Rules.MaxLines = MaxLines
	}
	if c.Risk.CallTimeout == 0 {
		c.Risk.CallTimeout = DefaultRiskCallTimeout
	}
	if c.Risk.TotalTimeout == 0 {
		c.Risk.TotalTimeout = riskCalls * min(c.Risk.CallTimeout, math.MaxInt64/riskCalls)
	}
	if c.Risk.Skew == 0 {
		c.Risk.Skew = DefaultRiskSkew
	}
	if c.MaxAttempts == 0 && c.Isolation == receipt.Serializable {
		c.MaxAttempts = DefaultSerializableAttempts
	}
	if c.WalletConcurrency == 0 {
		c.WalletConcurrency = DefaultWalletConcurrency
	}
	if c.Now == nil {
		c.Now = time.Now //nolint:forbidigo // This is the place that the other ones take it from.
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	c.Unreceipted = slices.Clone(c.Unreceipted)
	c.Rules.Kinds = slices.Clone(c.Rules.Kinds)
}

// engine returns the part of the Config that the engine works by.
func (c *Config[Tx, Bet]) engine() once.Config[Tx] {
	return once.Config[Tx]{
		Store:          c.Store,
		Isolation:      c.Isolation,
		LockTimeout:    c.LockTimeout,
		CommitTimeout:  c.CommitTimeout,
		ResolveTimeout: c.ResolveTimeout,
		NoWait:         c.NoWait,
		MaxAttempts:    c.MaxAttempts,
		OnReceipt:      c.OnReceipt,
		Logger:         c.Logger,
	}
}
