package receipt

import (
	"errors"
	"fmt"
	"strings"

	"github.com/settleonce/settleonce/fingerprint"
)

var (
	// ErrNotFound is true for a lookup of a key that has no committed
	// receipt. It proves nothing about a transaction that is still open.
	ErrNotFound = errors.New("receipt: not found")

	// ErrFingerprintMismatch is true for a [*ConflictError] whose stored
	// fingerprint is not the request's: the key was used for another effect.
	// Nothing was changed, and sending the same again cannot help.
	ErrFingerprintMismatch = errors.New("receipt: the key's receipt has another fingerprint")

	// ErrKindMismatch is true for a [*ConflictError] whose stored requested
	// kind is not the request's. Nothing was changed, and sending the same
	// again cannot help.
	ErrKindMismatch = errors.New("receipt: the key's receipt is for another kind")

	// ErrSchemaVersion is true where the stored receipt's fingerprint has
	// another schema or version than the request's and this build cannot
	// recompute it. It is no mismatch. Nothing was changed; a retry is safe,
	// and a build that knows the version can answer it.
	ErrSchemaVersion = errors.New("receipt: the fingerprint's schema version is not known to this build")

	// ErrInFlight is true where another attempt held the key for longer than
	// the caller would wait. Nothing was changed; a retry is safe.
	ErrInFlight = errors.New("receipt: the key is in flight")

	// ErrOutcomeUnknown is true where nobody could tell in time whether the
	// transaction committed. It may have. A retry with the same key is safe
	// and tells; the sender keeps its record (I5).
	ErrOutcomeUnknown = errors.New("receipt: the outcome of the commit is unknown")

	// ErrNotCommitted is true where the transaction is known not to have
	// committed. No effect is left; a retry is safe, though it may fail the
	// same way.
	ErrNotCommitted = errors.New("receipt: not committed")

	// ErrTransactionControl is true where a callback tried to begin, commit
	// or roll back the transaction that the runner owns. The statement was
	// refused before it was sent.
	ErrTransactionControl = errors.New("receipt: the runner alone begins, commits and rolls back the transaction")

	// ErrTransactionEnded is true where a callback ended the runner's
	// transaction behind its back, through the bare connection. Effects may
	// have committed without a receipt: do not retry, look (I2).
	ErrTransactionEnded = errors.New("receipt: the callback ended the transaction; effects may have committed without a receipt: do not retry")

	// ErrWithheld is true where the receipt is committed but the OnReceipt
	// hook failed, so that the proof must not be given yet. A retry is safe:
	// it is a replay that runs the hook again (I4).
	ErrWithheld = errors.New("receipt: committed, but the proof is withheld")

	// ErrNested is true where a callback called a runner with the context of
	// a transaction that is still open. Nothing was changed.
	ErrNested = errors.New("receipt: a runner was called from within a callback")
)

// ConflictError says that a key already has a receipt for something else: what
// is stored and what came. errors.Is reports [ErrKindMismatch] and
// [ErrFingerprintMismatch] for whichever differs; both may.
type ConflictError struct {
	Key Key
	// Stored is the receipt that the key has.
	Stored Receipt
	// Requested and Fingerprint are what came, the fingerprint under the
	// stored one's schema.
	Requested   Kind
	Fingerprint fingerprint.Digest
	// Paths names the fields that differ, where the receipt holds its
	// canonical form. Nil: not known.
	Paths []string
}

// Error says what is stored and what came.
func (e *ConflictError) Error() string {
	var text strings.Builder
	fmt.Fprintf(&text, "receipt: conflict on key %s:", e.Key)
	if e.kindDiffers() {
		fmt.Fprintf(&text, " stored for kind %q, requested %q;", e.Stored.Requested, e.Requested)
	}
	if e.fingerprintDiffers() {
		fmt.Fprintf(&text, " stored fingerprint %s, requested %s;", e.Stored.Fingerprint, e.Fingerprint)
	}
	if len(e.Paths) > 0 {
		fmt.Fprintf(&text, " fields that differ: %s;", strings.Join(e.Paths, ", "))
	}
	text.WriteString(" nothing was changed")
	return text.String()
}

// Is reports whether target is the sentinel of a difference that e has.
func (e *ConflictError) Is(target error) bool {
	switch target {
	case ErrKindMismatch:
		return e.kindDiffers()
	case ErrFingerprintMismatch:
		return e.fingerprintDiffers()
	default:
		return false
	}
}

func (e *ConflictError) kindDiffers() bool { return e.Stored.Requested != e.Requested }

func (e *ConflictError) fingerprintDiffers() bool { return !e.Stored.Fingerprint.Equal(e.Fingerprint) }
