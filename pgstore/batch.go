package pgstore

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// SendBatch refuses transaction control in any of the batch's statements, and
// then sends none of them. The caller's batch is left as it was.
func (h *handle) SendBatch(ctx context.Context, batch *pgx.Batch) pgx.BatchResults {
	for i, query := range batch.QueuedQueries {
		if err := h.check(query.SQL); err != nil {
			return pgx.FailedBatchResults(batch, fmt.Errorf("statement %d of the batch: %w", i+1, err))
		}
	}
	if err := h.refusal(); err != nil { // of an empty batch too
		return pgx.FailedBatchResults(batch, err)
	}
	results := &batchResults{handle: h}
	guarded := &pgx.Batch{}
	for _, query := range batch.QueuedQueries {
		guarded.Queue(query.SQL, h.guardRewriters(query.Arguments)...).Fn = results.callbackOf(query)
	}
	results.inner = h.inner.SendBatch(ctx, guarded)
	return results
}

// batchResults refuses once the handle that it came from is closed.
type batchResults struct {
	inner  pgx.BatchResults
	handle *handle
}

var _ pgx.BatchResults = (*batchResults)(nil)

// callbackOf gives a query's own callback the guarded results.
func (b *batchResults) callbackOf(query *pgx.QueuedQuery) func(pgx.BatchResults) error {
	return func(pgx.BatchResults) error {
		if query.Fn != nil {
			return query.Fn(b)
		}
		_, err := b.Exec()
		return err
	}
}

// Exec passes on.
func (b *batchResults) Exec() (pgconn.CommandTag, error) {
	if err := b.handle.refusal(); err != nil {
		return pgconn.CommandTag{}, err
	}
	tag, err := b.inner.Exec()
	b.handle.scope.note(err)
	return tag, err
}

// Query passes on.
func (b *batchResults) Query() (pgx.Rows, error) {
	if err := b.handle.refusal(); err != nil {
		return refusedRows{err}, err
	}
	inner, err := b.inner.Query()
	b.handle.scope.note(err)
	return &rows{inner: inner, handle: b.handle}, err
}

// QueryRow passes on.
func (b *batchResults) QueryRow() pgx.Row {
	if err := b.handle.refusal(); err != nil {
		return refusedRows{err}
	}
	return &row{inner: b.inner.QueryRow(), handle: b.handle}
}

// Close passes on, even where the savepoint has ended, and refuses once the
// callback has returned.
func (b *batchResults) Close() error {
	if b.handle.scope.ended.Load() {
		return pgx.ErrTxClosed
	}
	err := b.inner.Close()
	b.handle.scope.note(err)
	return err
}

// Tx returns nil: a batch of a callback begins no transaction.
func (b *batchResults) Tx() pgx.Tx { return nil }
