package sabotage

import (
	"context"

	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/receipt"
)

// WithoutReceipts returns a store that keeps the receipt of each claim's own key
// under a key that nobody will ask for.
func WithoutReceipts[Tx any](store receipt.Store[Tx]) receipt.Store[Tx] {
	return receiptless[Tx]{store}
}

type receiptless[Tx any] struct{ receipt.Store[Tx] }

func (s receiptless[Tx]) Begin(ctx context.Context, claim receipt.Claim) (receipt.Session[Tx], error) {
	key := claim.Key
	claim.Key.ID = receipt.NewID()
	session, err := s.Store.Begin(ctx, claim)
	if err != nil {
		return nil, err
	}
	return &receiptlessSession[Tx]{session, key, claim.Key}, nil
}

type receiptlessSession[Tx any] struct {
	receipt.Session[Tx]
	key, hidden receipt.Key
}

func (s *receiptlessSession[Tx]) Commit(ctx context.Context, r receipt.Receipt, events ...event.Event) (receipt.Receipt, error) {
	asked := r.Key
	if asked == s.key {
		r.Key = s.hidden
	}
	stored, err := s.Session.Commit(ctx, r, events...)
	stored.Key = asked
	return stored, err
}
