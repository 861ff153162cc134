package faults

import (
	"context"

	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/receipt"

	"github.com/settleonce/settleonce/examples/drill/hold"
)

// HoldAtCommit returns a store whose transactions can be held at
// [HoldTransaction], when all is done but the commit.
func HoldAtCommit[Tx any](store receipt.Store[Tx]) receipt.Store[Tx] {
	return heldAtCommit[Tx]{store}
}

type heldAtCommit[Tx any] struct{ receipt.Store[Tx] }

func (s heldAtCommit[Tx]) Begin(ctx context.Context, claim receipt.Claim) (receipt.Session[Tx], error) {
	session, err := s.Store.Begin(ctx, claim)
	if err != nil {
		return nil, err
	}
	return heldSession[Tx]{session}, nil
}

type heldSession[Tx any] struct{ receipt.Session[Tx] }

func (s heldSession[Tx]) Commit(ctx context.Context, r receipt.Receipt, events ...event.Event) (receipt.Receipt, error) {
	hold.Here(ctx, HoldTransaction)
	return s.Session.Commit(ctx, r, events...)
}
