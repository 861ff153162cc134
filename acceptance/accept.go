package acceptance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/settleonce/settleonce/fingerprint"
	"github.com/settleonce/settleonce/internal/once"
	"github.com/settleonce/settleonce/receipt"
)

// Accept decides the command, or returns the decision that it has. The
// callbacks inside the transaction may run several times, and touch nothing
// but the transaction (I3).
//
// Nil means that the decision is final and will not change, unless its Receipt
// is zero (see [Config.Unreceipted]) or its verdict is [Pending]. A rejection
// is a decision and no error.
//
// An error says what is left:
//   - [ErrInvalid]: the command breaks a rule. Nothing was done. Where it is
//     one of [Rules], the command has no decision, and no earlier call with it
//     is under way.
//   - [ErrConsentUsed]: another command consented to the same requote. Nothing
//     was done, and a retry cannot help.
//   - [receipt.ErrWithheld]: committed; the decision is valid, only it must not
//     be passed on yet. Every other error comes with a zero decision, except
//     that [ErrValue] from a stored one comes with its receipt.
//   - [receipt.ErrOutcomeUnknown]: it may have committed. Send the same again.
//   - [receipt.ErrTransactionEnded]: a callback ended the transaction itself.
//     Do not retry, look.
//   - [receipt.ErrFingerprintMismatch], [receipt.ErrKindMismatch]: the ID has
//     a decision for another command. Nothing was done, and a retry cannot help.
//   - [receipt.ErrInFlight], [receipt.ErrSchemaVersion]: nothing was done. Send
//     the same again later.
//   - [receipt.ErrNested]: a callback called a runner with its own context.
//   - [receipt.ErrNotCommitted], [ErrCallback], an error of a callback, or any
//     other: nothing is left. A retry is safe.
//
// A panic of a callback rolls back and goes on its way. After a crash either
// everything is committed or nothing is.
func (r *Runner[Tx, Bet]) Accept(ctx context.Context, command Command) (Decision[Bet], error) {
	c := r.newCall(&command)
	started := r.config.Now()
	decision, err := c.accept(ctx)
	c.seen.Total = r.config.Now().Sub(started)
	c.observe(ctx, decision, err)
	return decision, err
}

// call is one command on its way to a decision.
type call[Tx, Bet any] struct {
	runner *Runner[Tx, Bet]
	// command is what came, placed the same without Meta.
	command, placed *Command
	request         once.Request

	// ruled holds the rules that were applied before the transaction, and
	// refusal what they or the evidence decided. Nil: nothing yet.
	ruled   []RuleVersion
	refusal *refusal
	// broken are the rules of today that the command breaks. They are told
	// under the key's lock, where no decision can be on its way any more.
	broken []FieldError
	risk   risk

	// resolution is the trader's word, expiresAt and referred what the
	// referral says. Nil and zero in Accept.
	resolution *Resolution
	expiresAt  time.Time
	referred   *EvidenceReference

	// readBack is the decision as the receipt of the attempt readBackOf
	// stores it, so that it need not be read from there again.
	readBack   *stored[Bet]
	readBackOf string

	seen Observation
	// waitingForKey ends the measurement of KeyWait. Nil: none runs.
	waitingForKey func()
}

// refusal is a rejection that is to be committed.
type refusal struct {
	code   Code
	detail string
}

func (r *Runner[Tx, Bet]) newCall(command *Command) *call[Tx, Bet] {
	// An authorizer or a risk service that changes the legs it is given must
	// not change what is decided, nor what the caller holds.
	shown, placed := *command, *command
	shown.Legs, placed.Legs = slices.Clone(command.Legs), slices.Clone(command.Legs)
	placed.Meta = nil
	return &call[Tx, Bet]{runner: r, command: &shown, placed: &placed, seen: Observation{Tenant: command.Tenant}}
}

func (c *call[Tx, Bet]) accept(ctx context.Context) (Decision[Bet], error) {
	if err := c.command.Validate(); err != nil {
		return Decision[Bet]{}, err
	}
	if err := c.prepareRequest(); err != nil {
		return Decision[Bet]{}, err
	}
	recalled, err := c.runner.engine.Recall(ctx, c.request, c.referralKey())
	if err != nil {
		return Decision[Bet]{}, fmt.Errorf("acceptance: %w", err)
	}
	if recalled != nil && recalled.Key == c.request.Key {
		return c.answer(c.runner.engine.Replay(ctx, recalled))
	}
	if recalled == nil {
		if err := c.beforeTransaction(ctx); err != nil {
			return Decision[Bet]{}, err
		}
	}
	return c.run(ctx, c.decide)
}

// beforeTransaction applies what needs no lock, in the order of its cost.
func (c *call[Tx, Bet]) beforeTransaction(ctx context.Context) error {
	if c.broken = c.runner.config.Rules.apply(c.command, c.placed); len(c.broken) > 0 {
		return nil
	}
	if err := c.authorize(ctx); err != nil || c.refusal != nil {
		return err
	}
	return c.assess(ctx)
}

func (c *call[Tx, Bet]) authorize(ctx context.Context) error {
	if c.runner.config.Authorize == nil {
		return nil
	}
	ruling, err := c.runner.config.Authorize(ctx, c.command)
	if err != nil {
		return fmt.Errorf("acceptance: %w", once.Cause(stepError{"Authorize", err}))
	}
	if err := ruling.validate(); err != nil {
		return fmt.Errorf("%w: Authorize: %w", ErrCallback, err)
	}
	c.ruled = ruling.Rules
	if ruling.Code != "" {
		c.refusal = &refusal{ruling.Code, ruling.Detail}
	}
	return nil
}

// run runs the transaction, once more where its evidence had expired by the
// database's clock.
func (c *call[Tx, Bet]) run(ctx context.Context, effect once.Effect[Tx]) (Decision[Bet], error) {
	for {
		before := c.seen.Attempts
		c.waitingForKey = nil
		result, err := c.runner.engine.Run(ctx, c.request, effect)
		if c.seen.Attempts == before && c.waitingForKey != nil {
			c.waitingForKey() // It was all the waiting there was: for a rival's decision, or in vain.
		}
		if errors.Is(err, errEvidenceExpired) {
			if err := c.assessAgain(ctx); err != nil {
				return Decision[Bet]{}, err
			}
			continue
		}
		if left, ok := errors.AsType[*unreceiptedError[Bet]](err); ok {
			return left.draft.decision(), nil
		}
		return c.answer(result, err)
	}
}

// answer turns what the engine says into what the caller gets.
func (c *call[Tx, Bet]) answer(result once.Result, err error) (Decision[Bet], error) {
	if err != nil && !errors.Is(err, receipt.ErrWithheld) {
		return Decision[Bet]{}, fmt.Errorf("acceptance: %w", err)
	}
	if err != nil {
		err = fmt.Errorf("acceptance: key %s: %w", c.request.Key, err)
	}
	if c.readBack != nil && c.readBackOf == result.Receipt.Attempt {
		decision := c.readBack.decision()
		decision.Receipt, decision.Replayed = result.Receipt, result.Replayed
		return decision, err
	}
	decision, decodeErr := decisionOf[Bet](&result.Receipt, result.Replayed)
	if decodeErr != nil {
		err = errors.Join(err, decodeErr)
	}
	return decision, err
}

// prepareRequest makes what the engine is asked for.
func (c *call[Tx, Bet]) prepareRequest() error {
	config := &c.runner.config
	canonical, err := c.placed.Canonical(config.UnorderedLegs)
	if err != nil {
		return err
	}
	sum, err := fingerprint.OfCanonical(commandSchema(config.UnorderedLegs), canonical)
	if err != nil {
		return err
	}
	if config.OmitCanonical {
		canonical = nil
	}
	c.request = once.Request{
		Key:         c.command.Key(),
		Kind:        requestedKind,
		Fingerprint: sum,
		Canonical:   canonical,
		Under:       c.placed.FingerprintUnder,
		Beside:      c.keysBeside(),
		Gate:        c.passGate,
	}
	return nil
}

func (c *call[Tx, Bet]) keysBeside() []receipt.Key {
	keys := []receipt.Key{c.referralKey()}
	if c.command.Consents != "" {
		keys = append(keys, c.consentKey(), PlacingKey(c.command.Tenant, c.command.Wallet, c.command.Consents))
	}
	return keys
}

func (c *call[Tx, Bet]) referralKey() receipt.Key {
	return ReferralKey(c.command.Tenant, c.command.Wallet, c.command.ID)
}

func (c *call[Tx, Bet]) consentKey() receipt.Key {
	return ConsentKey(c.command.Tenant, c.command.Wallet, c.command.Consents)
}

// passGate waits for the wallet's turn.
func (c *call[Tx, Bet]) passGate(ctx context.Context) (leave func(), err error) {
	defer c.measure(&c.seen.GateWait)()
	if timeout := c.runner.config.LockTimeout; timeout > 0 {
		bounded, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("%w: waited %v", receipt.ErrInFlight, timeout))
		defer cancel()
		ctx = bounded
	}
	leave, err = c.runner.gate.enter(ctx, walletKey{c.command.Tenant, c.command.Wallet})
	if err != nil {
		return nil, fmt.Errorf("waiting for the wallet's turn: %w", err)
	}
	c.waitingForKey = c.measure(&c.seen.KeyWait)
	return leave, nil
}
