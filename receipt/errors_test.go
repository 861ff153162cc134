package receipt_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/settleonce/settleonce/receipt"
)

func TestConflictError(t *testing.T) {
	t.Parallel()
	stored := full(t)
	for _, test := range []struct {
		name            string
		requested       receipt.Kind
		first           string // of the fingerprint that came
		kind, sum       bool   // what errors.Is reports
		contains, lacks []string
	}{
		{
			"another kind", "voided", "ab", true, false,
			[]string{`stored for kind "settled", requested "voided"`},
			[]string{"stored fingerprint"},
		},
		{
			"another fingerprint", "settled", "ff", false, true,
			[]string{"stored fingerprint match.result/1:ab0", "requested match.result/1:ff0"},
			[]string{"stored for kind"},
		},
		{
			"both", "voided", "ff", true, true,
			[]string{"stored for kind", "stored fingerprint"},
			nil,
		},
		{
			"the outcome is no request", "aborted", "ab", true, false,
			[]string{`stored for kind "settled", requested "aborted"`},
			nil,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			conflict := &receipt.ConflictError{
				Key: stored.Key, Stored: stored, Requested: test.requested, Fingerprint: digest(t, test.first),
			}
			wrapped := fmt.Errorf("settle: %w", conflict)
			if got := errors.Is(wrapped, receipt.ErrKindMismatch); got != test.kind {
				t.Errorf("errors.Is(ErrKindMismatch) is %v", got)
			}
			if got := errors.Is(wrapped, receipt.ErrFingerprintMismatch); got != test.sum {
				t.Errorf("errors.Is(ErrFingerprintMismatch) is %v", got)
			}
			if found, ok := errors.AsType[*receipt.ConflictError](wrapped); !ok || found != conflict {
				t.Error("errors.As does not find the conflict")
			}
			text := conflict.Error()
			for _, part := range append(test.contains, "key shop/match/settle/42%2F%C3%A9%3C", "nothing was changed") {
				if !strings.Contains(text, part) {
					t.Errorf("%q does not say %q", text, part)
				}
			}
			for _, part := range append(test.lacks, "winner", "canonical") {
				if strings.Contains(text, part) {
					t.Errorf("%q says %q", text, part)
				}
			}
		})
	}
}

func TestConflictErrorNamesPaths(t *testing.T) {
	t.Parallel()
	conflict := &receipt.ConflictError{
		Stored: full(t), Requested: "settled", Fingerprint: digest(t, "ff"), Paths: []string{"winner", "players[3].score"},
	}
	if want := "fields that differ: winner, players[3].score;"; !strings.Contains(conflict.Error(), want) {
		t.Errorf("%q does not say %q", conflict, want)
	}
}

// TestErrorsAreDistinct checks each sentinel against every other, wrapped and
// bare: none is true for another's cause.
func TestErrorsAreDistinct(t *testing.T) {
	t.Parallel()
	sentinels := []error{
		receipt.ErrInvalid, receipt.ErrNotFound, receipt.ErrFingerprintMismatch, receipt.ErrKindMismatch,
		receipt.ErrSchemaVersion, receipt.ErrInFlight, receipt.ErrOutcomeUnknown, receipt.ErrNotCommitted,
		receipt.ErrTransactionControl, receipt.ErrTransactionEnded, receipt.ErrWithheld, receipt.ErrNested,
	}
	agreed := &receipt.ConflictError{Stored: full(t), Requested: "settled", Fingerprint: digest(t, "ab")}
	for i, one := range sentinels {
		for j, other := range sentinels {
			if got := errors.Is(fmt.Errorf("settle: %w", one), other); got != (i == j) {
				t.Errorf("errors.Is(%q, %q) is %v", one, other, got)
			}
		}
		if errors.Is(agreed, one) {
			t.Errorf("a conflict without a difference is %q", one)
		}
		if !strings.HasPrefix(one.Error(), "receipt: ") {
			t.Errorf("%q does not name its package", one)
		}
	}
}
