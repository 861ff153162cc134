package acceptance

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"
)

// errEvidenceExpired ends a transaction in which the evidence turned out to
// have expired, so that fresh evidence can be asked for outside of it.
var errEvidenceExpired = errors.New("acceptance: the risk evidence has expired")

// riskCalls is how often evidence is asked for: once, and once afresh.
const riskCalls = 2

// risk is what is known of a command's risk.
type risk struct {
	calls    int
	evidence *Evidence // nil: none counts
	// lacking says why there is none. Empty: none is needed, or there is.
	lacking Code
}

// assess asks for evidence until some comes or the calls are used up. What
// does not count is no error: it is decided on.
func (c *call[Tx, Bet]) assess(ctx context.Context) error {
	config := &c.runner.config.Risk
	if config.Assess == nil {
		return nil
	}
	c.risk.evidence = nil
	c.risk.lacking = CodeRiskUnavailable
	for c.risk.calls < riskCalls {
		left := config.TotalTimeout - c.seen.Risk
		if left <= 0 {
			return nil
		}
		c.risk.calls++
		evidence, err := c.askRisk(ctx, min(left, config.CallTimeout))
		if ctx.Err() != nil {
			return fmt.Errorf("acceptance: Assess: %w", context.Cause(ctx))
		}
		if err == nil {
			err = evidence.validate()
		}
		if err != nil {
			c.runner.config.Logger.Warn("no risk evidence came", "key", c.request.Key, "call", c.risk.calls, "error", err)
			continue
		}
		c.risk.evidence, c.risk.lacking = &evidence, c.inadmissible(&evidence)
		return nil
	}
	return nil
}

// assessAgain asks afresh after evidence had expired.
func (c *call[Tx, Bet]) assessAgain(ctx context.Context) error {
	if c.risk.calls == riskCalls {
		c.risk.lacking = CodeEvidenceExpired
		return nil
	}
	return c.assess(ctx)
}

func (c *call[Tx, Bet]) askRisk(ctx context.Context, timeout time.Duration) (Evidence, error) {
	defer c.measure(&c.seen.Risk)()
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	evidence, err := c.runner.config.Risk.Assess(ctx, c.command, c.request.Fingerprint)
	if err == nil && ctx.Err() != nil {
		return Evidence{}, context.Cause(ctx)
	}
	return evidence, err
}

// inadmissible says why evidence does not count whatever the time is.
func (c *call[Tx, Bet]) inadmissible(evidence *Evidence) Code {
	admissible := c.runner.config.Risk.Admissible
	switch {
	case !evidence.Fingerprint.Equal(c.request.Fingerprint):
		return CodeEvidenceForeign
	case admissible != nil && !admissible(evidence.Version):
		return CodeEvidenceVersion
	default:
		return ""
	}
}

// checkEvidence judges the evidence by the database's clock. It returns a code
// that the command is to be rejected with, or errEvidenceExpired.
func (c *call[Tx, Bet]) checkEvidence(now time.Time) (Code, error) {
	evidence := c.risk.evidence
	if evidence == nil || c.risk.lacking != "" {
		return "", nil
	}
	switch {
	case evidence.IssuedAt.After(now.Add(c.runner.config.Risk.Skew)):
		return CodeEvidenceFromFuture, nil
	case !now.Before(evidence.ExpiresAt):
		return "", errEvidenceExpired
	default:
		return "", nil
	}
}

// validate reports what a risk service left out.
func (e *Evidence) validate() error {
	var broken []error
	for _, text := range []struct{ field, value string }{{"ID", e.ID}, {"Version", e.Version}} {
		if text.value == "" || len(text.value) > MaxText || !utf8.ValidString(text.value) {
			broken = append(broken, fmt.Errorf("Evidence.%s must be UTF-8 of 1 to %d bytes, has %d", text.field, MaxText, len(text.value)))
		}
	}
	if e.IssuedAt.IsZero() || e.ExpiresAt.IsZero() {
		broken = append(broken, errors.New("Evidence.IssuedAt and ExpiresAt must be set"))
	}
	switch e.Opinion {
	case RiskApprove, RiskRefuse, RiskRefer:
	default:
		broken = append(broken, fmt.Errorf("Evidence.Opinion must be %q, %q or %q, is %q", RiskApprove, RiskRefuse, RiskRefer, e.Opinion))
	}
	return errors.Join(broken...)
}
