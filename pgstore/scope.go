package pgstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
)

// scope is what all handles that one callback was given share: the transaction
// itself, its savepoints, and the rows and batch results read through them.
//
// Only ended may be touched by a goroutine that the callback left behind.
type scope struct {
	// ended is set as soon as the callback has returned. From then on every
	// handle refuses (I2).
	ended atomic.Bool
	// bare is set once the callback has held the bare connection, on which
	// it can do what it likes.
	bare bool
	// transactionID is the server's id of the transaction, known once bare
	// is set. Empty: the server did not tell.
	transactionID string
	// failedBefore says that the transaction had failed when bare was set,
	// so that no COMMIT on the bare connection could have kept it.
	failedBefore bool
	// cause is the error that made the transaction fail, in case the
	// callback swallows it.
	cause error
	// unended is why a savepoint could not be ended: its end never reached
	// the server, which still has what was done in it.
	unended error
	// savepoints are the open ones, outermost first.
	savepoints []*savepoint
	// deferred are the statements for the last flush.
	deferred []deferred
}

// note remembers the first error of the server since the transaction was last
// sound. Later ones only say that it is not.
func (s *scope) note(err error) {
	if err != nil && s.cause == nil && isServerError(err) && !hasCode(err, codeFailedTransaction) {
		s.cause = err
	}
}

// failure returns why the transaction failed, as far as the handles saw it.
func (s *scope) failure() error {
	if s.cause == nil {
		return errors.New("a statement of the callback failed")
	}
	return s.cause
}

// endSavepoint closes a savepoint and those opened within it, which PostgreSQL
// ends with it. err is how its Commit or Rollback failed. An error of the server
// leaves the transaction failed, which shows; any other leaves no trace there.
func (s *scope) endSavepoint(ctx context.Context, ended *savepoint, err error) {
	if err != nil && !isServerError(err) && s.unended == nil {
		s.unended = fmt.Errorf("a savepoint could not be ended: %w", err)
	}
	from := slices.Index(s.savepoints, ended)
	if from < 0 {
		return
	}
	for _, open := range s.savepoints[from:] {
		open.closed = true
		if open != ended {
			closeWithoutWriting(ctx, open.inner)
		}
	}
	s.savepoints = s.savepoints[:from]
}

// refusal returns the error with which a handle refuses, nil while it is open.
func (h *handle) refusal() error {
	if h.scope.ended.Load() || h.closed {
		return pgx.ErrTxClosed
	}
	return nil
}
