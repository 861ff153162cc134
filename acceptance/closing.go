package acceptance

import (
	"context"
	"errors"
	"fmt"

	"github.com/settleonce/settleonce/fingerprint"
	"github.com/settleonce/settleonce/receipt"
	"github.com/settleonce/settleonce/settle"
)

// closingSchema is stored with receipts: do not change it without a new version.
func closingSchema() fingerprint.Schema {
	return fingerprint.Schema{Name: "bet.closing", Version: 1}
}

// Closing says how an accepted bet ends.
type Closing struct {
	// Tenant, Wallet and ID are the command's.
	Tenant string
	Wallet string
	ID     string
	// Kind is [settle.Settled] or [settle.Voided]. The two exclude each other:
	// a bet has one closing key.
	Kind receipt.Kind
	// ResultVersion names the version of the result that the closing is
	// computed from. It must be set, with at most [MaxText] bytes.
	ResultVersion string
	// Facts are whatever else changes what the closing does, such as the
	// outcome of each leg, as [fingerprint.Of] takes it. Nil: nothing does.
	Facts any
}

// closingForm is what is fingerprinted of a closing.
type closingForm struct {
	ResultVersion string `json:"result_version"`
	Facts         any    `json:"facts"`
}

func (c *Closing) validate() error {
	var broken violations
	checkKey(&broken, PlacingKey(c.Tenant, c.Wallet, c.ID))
	if c.Kind != settle.Settled && c.Kind != settle.Voided {
		broken = append(broken, FieldError{"kind", fmt.Sprintf("must be %q or %q, is %q", settle.Settled, settle.Voided, c.Kind)})
	}
	if c.ResultVersion == "" || len(c.ResultVersion) > MaxText {
		broken = append(broken, FieldError{"result_version", fmt.Sprintf("must have 1 to %d bytes, has %d", MaxText, len(c.ResultVersion))})
	}
	return broken.err()
}

// Close settles or voids an accepted bet, once: effect consumes or releases the
// hold, and what it did commits with the receipt under [ClosingKey]. Later
// corrections are revisions of that key.
//
// The runner works on the store of the one that accepted the bet. A receipt
// that accepts is final, so it is read without a lock; errors.Is(err,
// [ErrNotAccepted]) is true where there is none. A bet that is being accepted
// right now counts as not accepted: a retry is safe. All else is as
// [settle.Do] says: the other kind is [receipt.ErrKindMismatch], another result
// version or other facts are [receipt.ErrFingerprintMismatch]. It is
// [ErrInvalid] where the closing breaks a rule, and
// [fingerprint.ErrInvalidValue] where Facts have no fingerprint.
func Close[Tx, V any](
	ctx context.Context, r *settle.Runner[Tx], c Closing, effect func(context.Context, *settle.Attempt[Tx]) (V, error),
) (settle.Result[V], error) {
	if err := c.validate(); err != nil {
		return settle.Result[V]{}, err
	}
	placing := PlacingKey(c.Tenant, c.Wallet, c.ID)
	placed, err := r.Lookup(ctx, placing)
	switch {
	case errors.Is(err, receipt.ErrNotFound):
		return settle.Result[V]{}, fmt.Errorf("%w: key %s has no decision", ErrNotAccepted, placing)
	case err != nil:
		return settle.Result[V]{}, fmt.Errorf("acceptance: %w", err)
	case placed.Outcome != Accepted:
		return settle.Result[V]{}, fmt.Errorf("%w: key %s was %s", ErrNotAccepted, placing, placed.Outcome)
	}
	sum, err := fingerprint.Of(closingSchema(), closingForm{c.ResultVersion, c.Facts})
	if err != nil {
		return settle.Result[V]{}, fmt.Errorf("acceptance: Closing: %w", err)
	}
	result, err := settle.Do(ctx, r, settle.Request{
		Key: ClosingKey(c.Tenant, c.Wallet, c.ID), Kind: c.Kind, Fingerprint: sum,
	}, effect)
	if err != nil {
		err = fmt.Errorf("acceptance: %w", err)
	}
	return result, err
}
