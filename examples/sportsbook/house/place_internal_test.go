package house

import (
	"errors"
	"testing"

	"github.com/settleonce/settleonce/examples/sportsbook/wallet"
)

// A transaction that does not balance reaches no unit of work: there is none
// here.
func TestPostRefusesWhatDoesNotBalance(t *testing.T) {
	t.Parallel()
	oneSided := wallet.Transaction{ID: "1", Entries: make([]wallet.Entry, 1)}
	if err := post(t.Context(), nil, oneSided); !errors.Is(err, wallet.ErrUnbalanced) {
		t.Errorf("error %v, want that it does not balance", err)
	}
}
