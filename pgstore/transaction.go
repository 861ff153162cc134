package pgstore

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/settleonce/settleonce/receipt"
)

// transaction is the pgx.Tx that a callback gets. The runner alone ends it.
type transaction struct{ handle }

var _ pgx.Tx = (*transaction)(nil)

func newTransaction(inner pgx.Tx) *transaction {
	return &transaction{handle{inner: inner, scope: &scope{}}}
}

// Commit refuses.
func (t *transaction) Commit(context.Context) error { return t.refuseControl("Commit") }

// Rollback refuses. A callback that returns an error has the transaction
// rolled back.
func (t *transaction) Rollback(context.Context) error { return t.refuseControl("Rollback") }

func (t *transaction) refuseControl(method string) error {
	if err := t.refusal(); err != nil {
		return err
	}
	return fmt.Errorf("pgstore: %s: %w", method, receipt.ErrTransactionControl)
}

// close makes every handle refuse.
func (t *transaction) close() { t.scope.ended.Store(true) }

// savepoint is what Begin on a guarded transaction returns. Its Commit and
// Rollback release it and roll back to it.
type savepoint struct {
	handle
	// deferredBefore is how many statements were deferred before it began.
	deferredBefore int
}

var _ pgx.Tx = (*savepoint)(nil)

// Commit releases the savepoint.
func (s *savepoint) Commit(ctx context.Context) error {
	if err := s.refusal(); err != nil {
		return err
	}
	err := s.inner.Commit(ctx)
	s.scope.note(err)
	s.scope.endSavepoint(ctx, s, err)
	return err
}

// Rollback rolls back to the savepoint. What was deferred since it began dies
// with it.
func (s *savepoint) Rollback(ctx context.Context) error {
	if err := s.refusal(); err != nil {
		return err
	}
	err := s.inner.Rollback(ctx)
	s.scope.endSavepoint(ctx, s, err)
	s.scope.deferred = s.scope.deferred[:min(s.deferredBefore, len(s.scope.deferred))]
	if err == nil {
		s.scope.cause = nil // the transaction is sound again
	}
	return err
}
