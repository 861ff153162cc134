package receipt

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
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

// MaxAttempt is the greatest length of an attempt's id in bytes.
const MaxAttempt = 128

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
//
//nolint:recvcheck // LogValue must work on a copy too; the others spare one.
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
	// differ. It has at most [MaxCanonical] bytes. Empty: it was not stored.
	Canonical []byte
	// OrderingKey is the ordering key of the request's effects; empty: the
	// key itself orders.
	OrderingKey string
	// Attempt identifies the run of the callback whose effects committed
	// with this receipt. No two runs share one. It has 1 to [MaxAttempt]
	// visible ASCII characters.
	Attempt string
	// RecordedAt is the store's clock in the transaction, in microseconds
	// and UTC. It is not the time of the commit.
	RecordedAt time.Time
}

var _ slog.LogValuer = Receipt{}

// Validate reports every field that breaks a rule, all at once. RecordedAt may
// be zero: a store sets it. errors.Is(err, [ErrInvalid]) is true for what it
// returns.
func (r *Receipt) Validate() error {
	var broken rules
	r.check(&broken)
	return broken.err()
}

func (r *Receipt) check(broken *rules) {
	addFields(broken, "key.", r.Key.Validate())
	if r.Revision < 0 {
		broken.add("revision must not be negative, is %d", r.Revision)
	}
	if err := r.Requested.Validate(); err != nil {
		broken.add("requested kind %v", err)
	}
	if err := r.Outcome.Validate(); err != nil {
		broken.add("outcome kind %v", err)
	}
	if r.Fingerprint.IsZero() {
		broken.add("fingerprint must be set")
	}
	if len(r.Value) > MaxOutcome {
		broken.add("value must have at most %d bytes, has %d", MaxOutcome, len(r.Value))
	}
	if len(r.Canonical) > MaxCanonical {
		broken.add("canonical form must have at most %d bytes, has %d", MaxCanonical, len(r.Canonical))
	}
	addFields(broken, "", event.ValidateOrderingKey(r.OrderingKey))
	if r.Attempt == "" || len(r.Attempt) > MaxAttempt || strings.ContainsFunc(r.Attempt, notVisible) {
		broken.add("attempt must have 1 to %d visible ASCII characters, has %d bytes", MaxAttempt, len(r.Attempt))
	}
	if year := r.RecordedAt.UTC().Year(); year < 1 || year > 9999 {
		broken.add("recorded at must be in year 1 to 9999 (RFC 3339), is in %d", year)
	}
}

// addFields adds what package event found wrong.
func addFields(broken *rules, prefix string, err error) {
	if invalid, ok := errors.AsType[*event.InvalidError](err); ok {
		for _, wrong := range invalid.Fields {
			broken.add("%s%s %s", prefix, wrong.Field, wrong.Rule)
		}
	}
}

func notVisible(r rune) bool { return r <= ' ' || r >= 0x7f }

// LogValue returns what identifies the receipt, and neither its value nor the
// canonical form, so that no log ever holds a payload.
func (r Receipt) LogValue() slog.Value {
	return slog.GroupValue(
		slog.Any("key", r.Key),
		slog.Int("revision", r.Revision),
		slog.String("requested", string(r.Requested)),
		slog.String("outcome", string(r.Outcome)),
		slog.String("fingerprint", r.Fingerprint.String()),
		slog.String("attempt", r.Attempt),
	)
}

// Clone returns a copy that shares no memory with r.
func (r *Receipt) Clone() Receipt {
	clone := *r
	clone.Value = bytes.Clone(r.Value)
	clone.Canonical = bytes.Clone(r.Canonical)
	return clone
}
