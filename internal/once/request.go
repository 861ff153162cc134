package once

import (
	"context"
	"errors"
	"fmt"

	"github.com/settleonce/settleonce/fingerprint"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/receipt"
)

// Request is what one run is asked for.
type Request struct {
	Key         receipt.Key
	Revision    int
	Kind        receipt.Kind
	Fingerprint fingerprint.Digest
	// Canonical is stored with the receipt where it is not nil.
	Canonical []byte
	// Under recomputes the fingerprint under an older schema. Nil knows none
	// but the one of Fingerprint.
	Under       func(fingerprint.Schema) (fingerprint.Digest, error)
	OrderingKey string
	// Beside are further keys whose first receipts the callback sees and may
	// write, see [receipt.Claim].
	Beside []receipt.Key
	// OwnAnswer takes no receipt of a key beside for the answer of another
	// run that was joined: the callback runs then.
	OwnAnswer bool
	// Gate is passed after the flight and before a connection is taken, and
	// left when the key is decided. Nil: there is none. Its error is the
	// caller's: nothing has been done.
	Gate func(context.Context) (leave func(), err error)
}

// Validate reports every wrong field at once, but for Kind: which kinds there
// are is the caller's to say.
func (q *Request) Validate() error {
	var broken []error
	if err := q.Key.Validate(); err != nil {
		broken = append(broken, fmt.Errorf("Key: %w", err))
	}
	if q.Revision < 0 {
		broken = append(broken, fmt.Errorf("Revision must not be negative, is %d", q.Revision))
	}
	if q.Fingerprint.IsZero() {
		broken = append(broken, errors.New("Fingerprint must be set"))
	} else if err := q.checkCanonical(); err != nil {
		broken = append(broken, err)
	}
	if err := event.ValidateOrderingKey(q.OrderingKey); err != nil {
		broken = append(broken, fmt.Errorf("OrderingKey: %w", err))
	}
	return errors.Join(broken...)
}

// compare tells a replay from a conflict (I1): nil, a [*receipt.ConflictError]
// or, where this build cannot tell, [receipt.ErrSchemaVersion].
func (q *Request) compare(stored *receipt.Receipt) error {
	digest, err := q.digestUnder(stored.Fingerprint.Schema())
	kindDiffers := stored.Requested != q.Kind
	if err != nil && !kindDiffers {
		return err
	}
	if err != nil {
		// Another kind is a conflict whatever the fingerprints would say.
		digest = q.Fingerprint
	}
	if !kindDiffers && digest.Equal(stored.Fingerprint) {
		return nil
	}
	return &receipt.ConflictError{
		Key:         q.Key,
		Stored:      stored.Clone(),
		Requested:   q.Kind,
		Fingerprint: digest,
		Paths:       q.differingPaths(stored),
	}
}

// digestUnder returns the request's digest under schema, so that a deployment
// that changes the schema does not turn honest retries into conflicts.
func (q *Request) digestUnder(schema fingerprint.Schema) (fingerprint.Digest, error) {
	if schema == q.Fingerprint.Schema() {
		return q.Fingerprint, nil
	}
	if q.Under == nil {
		return fingerprint.Digest{}, fmt.Errorf("%w: the receipt has %s, the request %s", receipt.ErrSchemaVersion, schema, q.Fingerprint.Schema())
	}
	digest, err := q.Under(schema)
	if err != nil {
		return fingerprint.Digest{}, fmt.Errorf("%w: the receipt has %s: %w", receipt.ErrSchemaVersion, schema, err)
	}
	if digest.Schema() != schema {
		return fingerprint.Digest{}, fmt.Errorf("%w: Under was asked for %s and returned a digest under %s", receipt.ErrSchemaVersion, schema, digest.Schema())
	}
	return digest, nil
}

// differingPaths names the fields that differ, where both canonical forms are
// at hand.
func (q *Request) differingPaths(stored *receipt.Receipt) []string {
	if stored.Canonical == nil || q.Canonical == nil || stored.Fingerprint.Schema() != q.Fingerprint.Schema() {
		return nil
	}
	paths, err := fingerprint.Diff(stored.Canonical, q.Canonical)
	if err != nil {
		return nil // The conflict stands without them.
	}
	return paths
}

// checkCanonical makes sure that what is stored beside a fingerprint is what
// was fingerprinted.
func (q *Request) checkCanonical() error {
	if q.Canonical == nil {
		return nil
	}
	if len(q.Canonical) > receipt.MaxCanonical {
		return fmt.Errorf("Canonical must have at most %d bytes, has %d", receipt.MaxCanonical, len(q.Canonical))
	}
	digest, err := fingerprint.OfCanonical(q.Fingerprint.Schema(), q.Canonical)
	if err != nil {
		return fmt.Errorf("Canonical: %w", err)
	}
	if !digest.Equal(q.Fingerprint) {
		return errors.New("Canonical must be the form that Fingerprint is the digest of")
	}
	return nil
}
