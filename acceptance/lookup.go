package acceptance

import (
	"context"
	"fmt"

	"github.com/settleonce/settleonce/receipt"
)

// Lookup returns the decision of a command as it is stored, final or pending,
// and the successor of a requote. It takes no lock: errors.Is(err,
// [receipt.ErrNotFound]) proves nothing about a transaction that is still open.
// It is [ErrInvalid] where tenant, wallet or id break the rules of [Command].
func (r *Runner[Tx, Bet]) Lookup(ctx context.Context, tenant, wallet, id string) (Decision[Bet], error) {
	placing, referral, consent := PlacingKey(tenant, wallet, id), ReferralKey(tenant, wallet, id), ConsentKey(tenant, wallet, id)
	found, err := r.find(ctx, placing, referral, consent)
	if err != nil {
		return Decision[Bet]{}, err
	}
	if len(found) == 0 || found[0].Key == consent {
		return Decision[Bet]{}, fmt.Errorf("acceptance: key %s: %w", placing, receipt.ErrNotFound)
	}
	decision, err := decisionOf[Bet](&found[0], true)
	if err != nil {
		return decision, err
	}
	if last := &found[len(found)-1]; last.Key == consent {
		if decision.Successor, err = decodeConsent(last); err != nil {
			return Decision[Bet]{}, err
		}
	}
	return decision, nil
}

// find reads receipts of several keys of one wallet, in the order of the keys.
func (r *Runner[Tx, Bet]) find(ctx context.Context, keys ...receipt.Key) ([]receipt.Receipt, error) {
	var wrong violations
	checkKey(&wrong, keys[0])
	if err := wrong.err(); err != nil {
		return nil, err
	}
	found, err := r.config.Store.History(ctx, keys...)
	if err != nil {
		return nil, fmt.Errorf("acceptance: key %s: %w", keys[0], err)
	}
	return found, nil
}

// MaxChain is the greatest number of commands in one chain of requotes that
// [Runner.Chain] reads.
const MaxChain = 256

// Link is one command of a chain.
type Link[Bet any] struct {
	ID       string
	Decision Decision[Bet]
}

// Chain returns the chain of requotes and consents in which a command stands,
// from the first command to the last. The chain of most commands is themselves.
// The command itself must have a decision: see [Runner.Lookup].
func (r *Runner[Tx, Bet]) Chain(ctx context.Context, tenant, wallet, id string) ([]Link[Bet], error) {
	first, err := r.Lookup(ctx, tenant, wallet, id)
	if err != nil {
		return nil, err
	}
	for steps := 0; first.Consents != ""; steps++ {
		if steps == MaxChain {
			return nil, fmt.Errorf("acceptance: the chain of %q has more than %d commands", id, MaxChain)
		}
		if first, err = r.Lookup(ctx, tenant, wallet, first.Consents); err != nil {
			return nil, err
		}
	}
	chain := []Link[Bet]{{first.Receipt.Key.ID, first}}
	for next := first.Successor; next != ""; {
		if len(chain) == MaxChain {
			return nil, fmt.Errorf("acceptance: the chain of %q has more than %d commands", id, MaxChain)
		}
		found, err := r.Lookup(ctx, tenant, wallet, next)
		if err != nil {
			return nil, err
		}
		chain = append(chain, Link[Bet]{next, found})
		next = found.Successor
	}
	return chain, nil
}
