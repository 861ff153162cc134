package pgstore_test

import (
	"errors"
	"testing"

	"github.com/settleonce/settleonce/pgstore"
	"github.com/settleonce/settleonce/receipt"
)

// TestTagOfCommitDecides has the answers that come without an error. A server
// answers ROLLBACK where the transaction had failed, which the session sees
// before it sends COMMIT; whoever stands between the two may not show it (I5).
func TestTagOfCommitDecides(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		tag          string
		unreplicated bool
		want, not    error
	}{
		{"COMMIT", false, nil, nil},
		{"COMMIT", true, receipt.ErrOutcomeUnknown, receipt.ErrNotCommitted},
		{"ROLLBACK", false, receipt.ErrNotCommitted, receipt.ErrOutcomeUnknown},
		{"ROLLBACK", true, receipt.ErrNotCommitted, receipt.ErrOutcomeUnknown},
		{"", false, receipt.ErrOutcomeUnknown, receipt.ErrNotCommitted},
		{"SELECT 1", false, receipt.ErrOutcomeUnknown, receipt.ErrNotCommitted},
	} {
		err := pgstore.CommitResult(test.tag, test.unreplicated)
		if !errors.Is(err, test.want) || test.want == nil && err != nil || test.not != nil && errors.Is(err, test.not) {
			t.Errorf("tag %q, unreplicated %t: %v, want %v", test.tag, test.unreplicated, err, test.want)
		}
	}
}
