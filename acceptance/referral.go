package acceptance

import (
	"context"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/settleonce/settleonce/internal/once"
	"github.com/settleonce/settleonce/receipt"
)

// refer leaves the command to a trader: a fact of its own, under the command's
// lock, that a later decision follows.
func (c *call[Tx, Bet]) refer(ctx context.Context, attempt *once.Attempt[Tx], draft *stored[Bet]) error {
	config := &c.runner.config.Referral
	draft.Verdict = Pending
	draft.ExpiresAt = attempt.BeganAt().Add(config.Lifetime).Truncate(time.Microsecond)
	draft.Command = c.placed
	if config.Record == nil {
		return nil
	}
	pending := &PendingBet{Command: c.placed, Evidence: draft.Evidence, ExpiresAt: draft.ExpiresAt}
	if err := config.Record(ctx, attempt.Tx(), pending); err != nil {
		return stepError{"Referral.Record", err}
	}
	return nil
}

// Resolve gives a trader's word on a command that was referred, and returns
// its final decision. A command that is decided already keeps its decision,
// which comes back with Replayed. From ExpiresAt on, by the database's clock,
// every ruling is the rejection [CodeReferralExpired].
//
// Nil and the errors mean what they mean for [Runner.Accept]; errors.Is(err,
// [ErrNotPending]) is true where the command has neither a referral nor a
// decision, and [ErrInvalid] where the resolution, or what names the command,
// breaks a rule.
func (r *Runner[Tx, Bet]) Resolve(
	ctx context.Context, tenant, wallet, id string, resolution Resolution,
) (Decision[Bet], error) {
	c := &call[Tx, Bet]{runner: r, seen: Observation{Tenant: tenant}, resolution: &resolution}
	started := r.config.Now()
	decision, err := c.resolve(ctx, tenant, wallet, id)
	c.seen.Total = r.config.Now().Sub(started)
	c.observe(ctx, decision, err)
	return decision, err
}

func (c *call[Tx, Bet]) resolve(ctx context.Context, tenant, wallet, id string) (Decision[Bet], error) {
	var wrong violations
	checkKey(&wrong, PlacingKey(tenant, wallet, id))
	wrong = append(wrong, c.resolution.brokenRules()...)
	if err := wrong.err(); err != nil {
		return Decision[Bet]{}, err
	}
	found, err := c.runner.find(ctx, PlacingKey(tenant, wallet, id), ReferralKey(tenant, wallet, id))
	switch {
	case err != nil:
		return Decision[Bet]{}, err
	case len(found) == 0:
		return Decision[Bet]{}, fmt.Errorf("%w: key %s", ErrNotPending, PlacingKey(tenant, wallet, id))
	case found[0].Outcome != Pending:
		return c.answer(c.runner.engine.Replay(ctx, &found[0]))
	}
	if err := c.readPending(&found[0]); err != nil {
		return Decision[Bet]{}, err
	}
	return c.run(ctx, c.decideResolution)
}

// readPending makes the call for the command that was referred.
func (c *call[Tx, Bet]) readPending(pending *receipt.Receipt) error {
	read, err := decodeStored[Bet](pending)
	if err != nil {
		return err
	}
	if read.Command == nil {
		return fmt.Errorf("%w of key %s has no command", ErrValue, pending.Key)
	}
	c.command, c.placed = read.Command, read.Command
	c.ruled = read.Rules
	c.expiresAt = read.ExpiresAt
	c.referred = read.Evidence
	c.request = once.Request{
		Key:         c.command.Key(),
		Kind:        requestedKind,
		Fingerprint: pending.Fingerprint,
		Canonical:   pending.Canonical,
		Under:       c.placed.FingerprintUnder,
		Beside:      []receipt.Key{pending.Key},
		OwnAnswer:   true,
		Gate:        c.passGate,
	}
	return nil
}

// decideResolution is what Resolve does in the transaction.
func (c *call[Tx, Bet]) decideResolution(ctx context.Context, attempt *once.Attempt[Tx]) (once.Outcome, error) {
	defer c.began()()
	draft := c.newDraft()
	draft.Evidence = c.referred
	switch expired := !attempt.BeganAt().Before(c.expiresAt); {
	case expired:
		draft.reject(CodeReferralExpired, "")
	case c.resolution.Ruling == Expire:
		return once.Outcome{Stored: attempt.Beside(c.referralKey())}, nil
	case c.resolution.Ruling == Decline:
		draft.reject(CodeReferralDeclined, c.resolution.Reason)
	default:
		if err := c.place(ctx, attempt, draft); err != nil {
			return once.Outcome{}, err
		}
	}
	return c.outcome(attempt, draft)
}

// brokenRules returns every field that breaks a rule.
func (r *Resolution) brokenRules() (broken []FieldError) {
	switch r.Ruling {
	case Approve, Decline, Expire:
	default:
		broken = append(broken, FieldError{"ruling", fmt.Sprintf("must be %q, %q or %q, is %q", Approve, Decline, Expire, r.Ruling)})
	}
	if r.By == "" && r.Ruling != Expire {
		broken = append(broken, FieldError{"by", "must say who decided"})
	}
	if len(r.By) > MaxText || !utf8.ValidString(r.By) {
		broken = append(broken, FieldError{"by", fmt.Sprintf("must be UTF-8 of at most %d bytes, has %d", MaxText, len(r.By))})
	}
	if len(r.Reason) > MaxDetail || !utf8.ValidString(r.Reason) {
		broken = append(broken, FieldError{"reason", fmt.Sprintf("must be UTF-8 of at most %d bytes, has %d", MaxDetail, len(r.Reason))})
	}
	if r.GrantRequested && r.Ruling != Approve {
		broken = append(broken, FieldError{"grant_requested", "must be false unless the ruling approves"})
	}
	return broken
}
