package settle

import (
	"fmt"

	"github.com/settleonce/settleonce/receipt"
)

// The kinds of a terminal fact. They are kinds of one key, so that a fact is
// settled, aborted or voided, and never two of these.
const (
	// Settled says that the fact took its normal effect.
	Settled receipt.Kind = "settled"
	// Aborted says that there was nothing to settle.
	Aborted receipt.Kind = "aborted"
	// Voided says that the fact is to be as if it had not been.
	Voided receipt.Kind = "voided"
)

func checkKind(kind receipt.Kind) error {
	switch kind {
	case Settled, Aborted, Voided:
		return nil
	default:
		return fmt.Errorf("Kind must be %q, %q or %q, is %q", Settled, Aborted, Voided, kind)
	}
}
