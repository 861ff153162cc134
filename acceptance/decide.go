package acceptance

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/settleonce/settleonce/internal/once"
	"github.com/settleonce/settleonce/receipt"
)

// unreceiptedError ends a transaction whose decision is answered and not
// stored.
type unreceiptedError[Bet any] struct{ draft *stored[Bet] }

func (e *unreceiptedError[Bet]) Error() string {
	return fmt.Sprintf("acceptance: rejected with %q, which is not stored", e.draft.Code)
}

// decide is what Accept does in the transaction.
func (c *call[Tx, Bet]) decide(ctx context.Context, attempt *once.Attempt[Tx]) (once.Outcome, error) {
	defer c.began()()
	if pending := attempt.Beside(c.referralKey()); pending != nil {
		return c.whilePending(attempt, pending)
	}
	if len(c.broken) > 0 {
		return once.Outcome{}, &InvalidError{c.broken}
	}
	claims, err := c.checkConsent(attempt)
	if err != nil {
		return once.Outcome{}, err
	}
	draft := c.newDraft()
	if err := c.judge(ctx, attempt, draft); err != nil {
		return once.Outcome{}, err
	}
	if draft.Verdict == Rejected && slices.Contains(c.runner.config.Unreceipted, draft.Code) {
		return once.Outcome{}, &unreceiptedError[Bet]{draft}
	}
	outcome, err := c.outcome(attempt, draft)
	if claims {
		outcome.Also = []once.Side{c.consent()}
	}
	return outcome, err
}

// began counts a run of the transaction and what it waited for, and at its end
// starts the clock for the next.
func (c *call[Tx, Bet]) began() (ended func()) {
	c.seen.Attempts++
	if c.waitingForKey != nil {
		c.waitingForKey()
	}
	return func() { c.waitingForKey = c.measure(&c.seen.KeyWait) }
}

// newDraft returns what is known of the decision before the transaction.
func (c *call[Tx, Bet]) newDraft() *stored[Bet] {
	draft := &stored[Bet]{
		Legs:       make([]DecidedLeg, len(c.placed.Legs)),
		Rules:      slices.Clone(c.ruled),
		Consents:   c.placed.Consents,
		Resolution: c.resolution,
	}
	for i := range c.placed.Legs {
		draft.Legs[i] = c.placed.Legs[i].decided(nil)
	}
	if evidence := c.risk.evidence; evidence != nil {
		draft.Evidence = &EvidenceReference{ID: evidence.ID, Version: evidence.Version}
	}
	return draft
}

func (s *stored[Bet]) reject(code Code, detail string) {
	s.Verdict, s.Code, s.Detail = Rejected, code, detail
}

// judge decides the command. What was decided before the transaction, and
// what the evidence says, comes first.
func (c *call[Tx, Bet]) judge(ctx context.Context, attempt *once.Attempt[Tx], draft *stored[Bet]) error {
	if c.refusal != nil {
		draft.reject(c.refusal.code, c.refusal.detail)
		return nil
	}
	switch lacking := c.risk.lacking; lacking {
	case "":
	case CodeRiskUnavailable, CodeEvidenceExpired:
		if c.runner.config.Risk.Unavailable == FallbackRefer {
			return c.refer(ctx, attempt, draft)
		}
		fallthrough
	default:
		draft.reject(lacking, "")
		return nil
	}
	if evidence := c.risk.evidence; evidence != nil && evidence.Opinion != RiskApprove {
		return c.heed(ctx, attempt, draft)
	}
	return c.place(ctx, attempt, draft)
}

// heed does what evidence says that does not approve.
func (c *call[Tx, Bet]) heed(ctx context.Context, attempt *once.Attempt[Tx], draft *stored[Bet]) error {
	code, err := c.checkEvidence(attempt.BeganAt())
	switch {
	case err != nil:
		return err
	case code != "":
		draft.reject(code, "")
	case c.risk.evidence.Opinion == RiskRefuse:
		draft.reject(CodeRiskRefused, "")
	case c.runner.config.Referral.Lifetime == 0:
		draft.reject(CodeRiskReferred, "")
	default:
		return c.refer(ctx, attempt, draft)
	}
	return nil
}

// outcome makes what is to be committed of a draft.
func (c *call[Tx, Bet]) outcome(attempt *once.Attempt[Tx], draft *stored[Bet]) (once.Outcome, error) {
	if err := c.emit(attempt, draft); err != nil {
		return once.Outcome{}, err
	}
	value, readBack, err := draft.encode()
	if err != nil {
		return once.Outcome{}, err
	}
	c.readBack, c.readBackOf = readBack, attempt.ID()
	outcome := once.Outcome{Kind: draft.Verdict, Value: value}
	if draft.Verdict == Pending {
		outcome.Key = c.referralKey()
	}
	return outcome, nil
}

func (c *call[Tx, Bet]) emit(attempt *once.Attempt[Tx], draft *stored[Bet]) error {
	if c.runner.config.Events == nil {
		return nil
	}
	decision := draft.decision()
	events, err := c.runner.config.Events(c.placed, &decision)
	if err != nil {
		return stepError{"Events", err}
	}
	for _, e := range events {
		if err := attempt.Emit(e); err != nil {
			return stepError{"Events", err}
		}
	}
	return nil
}

// whilePending answers a command that was referred and is not resolved.
func (c *call[Tx, Bet]) whilePending(attempt *once.Attempt[Tx], pending *receipt.Receipt) (once.Outcome, error) {
	read, err := decodeStored[Bet](pending)
	if err != nil {
		return once.Outcome{}, err
	}
	// Another command is the engine's to judge: as an answer it becomes a
	// conflict (I1).
	if attempt.BeganAt().Before(read.ExpiresAt) || !c.isOf(pending) {
		return once.Outcome{Stored: pending}, nil
	}
	c.placed = read.Command // in the house's currency, as it was referred
	return c.outcome(attempt, read.expired())
}

// isOf reports whether a receipt is the command's, under the schema that it was
// stored with: another build may have made it.
func (c *call[Tx, Bet]) isOf(pending *receipt.Receipt) bool {
	sum, err := c.placed.FingerprintUnder(pending.Fingerprint.Schema())
	return err == nil && sum.Equal(pending.Fingerprint)
}

// expired turns a pending decision into the rejection that its end is.
func (s *stored[Bet]) expired() *stored[Bet] {
	draft := *s
	draft.Command = nil
	draft.ExpiresAt = time.Time{}
	draft.reject(CodeReferralExpired, "")
	return &draft
}
