package receipt

import (
	"errors"
	"fmt"
	"time"

	"github.com/settleonce/settleonce/fingerprint"
	"github.com/settleonce/settleonce/outbox/event"
)

// MaxOutcome is the greatest length of an outcome in bytes.
const MaxOutcome = 1 << 20

// MaxCanonical is the greatest length of a stored canonical form in bytes.
const MaxCanonical = 1 << 20

// MaxKind is the greatest length of a [Kind] in bytes.
const MaxKind = 64

// Key is the idempotency key of an effect.
type Key = event.Key

// Kind says what is asked for or what came of it, such as "settled". It has 1
// to [MaxKind] bytes of a-z, 0-9, '.', '-' and '_'.
type Kind string

// Validate reports the rule that k breaks.
func (k Kind) Validate() error {
	if k == "" || len(k) > MaxKind {
		return fmt.Errorf("must have 1 to %d bytes, has %d", MaxKind, len(k))
	}
	for _, r := range k {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '.', r == '-', r == '_':
		default:
			return errors.New("may hold only a-z, 0-9, '.', '-' and '_'")
		}
	}
	return nil
}

// Receipt is the final outcome of one key at one revision.
type Receipt struct {
	Key Key
	// Revision is 0 for the key's first receipt. A correction has the next
	// number.
	Revision int
	// Requested is what the request asked for, Outcome what came of it. A
	// request to settle may end aborted, and that is an answer like any
	// other (I1).
	Requested Kind
	Outcome   Kind
	// Fingerprint is the receiver's digest of the request.
	Fingerprint fingerprint.Digest
	// Value is the outcome's content, byte for byte as it was committed. It
	// has at most [MaxOutcome] bytes.
	Value []byte
	// Canonical is the canonical form that was fingerprinted, where the
	// request carried it, so that a conflict can name the fields that
	// differ. It has at most [MaxCanonical] bytes. Nil: it was not stored.
	Canonical []byte
	// OrderingKey is the ordering key of the request's effects; empty: the
	// key itself orders.
	OrderingKey string
	// Attempt identifies the run of the callback whose effects committed
	// with this receipt. No two runs share one.
	Attempt string
	// RecordedAt is the store's clock in the transaction, in microseconds
	// and UTC. It is not the time of the commit.
	RecordedAt time.Time
}

// Validate reports every field that breaks a rule, all at once. RecordedAt may
// be zero: a store sets it.
func (r *Receipt) Validate() error {
	var broken []error
	check := func(field string, err error) {
		if err != nil {
			broken = append(broken, fmt.Errorf("receipt: %s %w", field, err))
		}
	}
	if err := r.Key.Validate(); err != nil {
		broken = append(broken, err)
	}
	if r.Revision < 0 {
		check("revision", errors.New("must not be negative"))
	}
	check("requested kind", r.Requested.Validate())
	check("outcome kind", r.Outcome.Validate())
	if r.Fingerprint.IsZero() {
		check("fingerprint", errors.New("must be set"))
	}
	if len(r.Value) > MaxOutcome {
		check("value", fmt.Errorf("must have at most %d bytes, has %d", MaxOutcome, len(r.Value)))
	}
	if len(r.Canonical) > MaxCanonical {
		check("canonical form", fmt.Errorf("must have at most %d bytes, has %d", MaxCanonical, len(r.Canonical)))
	}
	if len(r.OrderingKey) > event.MaxOrderingKey {
		check("ordering key", fmt.Errorf("must have at most %d bytes, has %d", event.MaxOrderingKey, len(r.OrderingKey)))
	}
	if r.Attempt == "" {
		check("attempt", errors.New("must be set"))
	}
	return errors.Join(broken...)
}

// Clone returns a copy that shares no memory with r.
func (r *Receipt) Clone() Receipt {
	clone := *r
	clone.Value = cloneBytes(r.Value)
	clone.Canonical = cloneBytes(r.Canonical)
	return clone
}

func cloneBytes(b []byte) []byte {
	if b == nil {
		return nil
	}
	return append([]byte{}, b...)
}
