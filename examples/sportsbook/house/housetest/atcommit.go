package housetest

import (
	"context"
	"errors"

	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/receipt"

	"github.com/settleonce/settleonce/examples/sportsbook/house"
)

// atCommit calls a function when a transaction is complete and about to commit.
type atCommit struct {
	receipt.Store[house.Unit]
	call func(unit house.Unit, events []event.Event) error
}

func (s atCommit) Begin(ctx context.Context, claim receipt.Claim) (receipt.Session[house.Unit], error) {
	session, err := s.Store.Begin(ctx, claim)
	if err != nil {
		return nil, err
	}
	return &atCommitSession{session, s.call}, nil
}

type atCommitSession struct {
	receipt.Session[house.Unit]
	call func(unit house.Unit, events []event.Event) error
}

func (s *atCommitSession) Commit(ctx context.Context, r receipt.Receipt, events ...event.Event) (receipt.Receipt, error) {
	if err := s.call(s.Tx(), events); err != nil {
		return receipt.Receipt{}, errors.Join(err, s.Session.Rollback(ctx))
	}
	return s.Session.Commit(ctx, r, events...)
}
