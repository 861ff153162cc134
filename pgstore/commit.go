package pgstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/receipt"
)

// Commit sends the last flush: what the callback deferred, the receipt, the
// locks of the ordering keys, the events, COMMIT. See [receipt.Session] for
// what its results mean.
func (s *session) Commit(ctx context.Context, r receipt.Receipt, events ...event.Event) (receipt.Receipt, error) {
	if s.ended {
		return receipt.Receipt{}, notCommitted(errors.New("the session has ended"))
	}
	s.handle.close()
	stored, err := s.commit(ctx, r, events)
	// The rollback of what failed has no answer of its own: COMMIT was not
	// reached, and the server ends what a lost connection left.
	_ = s.end(ctx)
	return stored, err
}

func (s *session) commit(ctx context.Context, r receipt.Receipt, events []event.Event) (receipt.Receipt, error) {
	failed := s.status() == statusFailed // which asking may end
	switch {
	case s.transactionGone(ctx):
		return receipt.Receipt{}, fmt.Errorf("pgstore: %w", receipt.ErrTransactionEnded)
	case failed:
		return receipt.Receipt{}, notCommitted(s.handle.scope.failure())
	case s.handle.scope.unended != nil:
		return receipt.Receipt{}, notCommitted(s.handle.scope.unended)
	}
	if err := checkEncoding(s.conn.Conn().PgConn()); err != nil {
		return receipt.Receipt{}, notCommitted(err)
	}
	flush, err := s.prepareFlush(r, events)
	if err != nil {
		return receipt.Receipt{}, notCommitted(err)
	}
	s.watchReplication()
	results := s.conn.SendBatch(ctx, &flush.batch)
	err = flush.read(results)
	if closeErr := results.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = flush.commitResult(s.unreplicated())
	} else {
		err = s.classify(err)
	}
	if err != nil {
		return receipt.Receipt{}, err
	}
	stored := r.Clone()
	stored.RecordedAt = flush.recordedAt
	return stored, nil
}

// flush is the last flush and what its answers said.
type flush struct {
	batch      pgx.Batch
	deferred   []deferred
	recordedAt time.Time
	commitTag  string
}

// prepareFlush checks everything before anything is sent, and keeps the order
// of I8.
func (s *session) prepareFlush(r receipt.Receipt, events []event.Event) (*flush, error) {
	if err := s.checkReceipt(&r); err != nil {
		return nil, err
	}
	f := &flush{deferred: s.handle.scope.deferred}
	for _, statement := range f.deferred {
		f.batch.Queue(statement.sql, statement.arguments...)
	}
	s.queueReceipt(&f.batch, &r)
	if err := s.queueEvents(&f.batch, events); err != nil {
		return nil, err
	}
	f.batch.Queue(commitSQL)
	return f, nil
}

func (s *session) checkReceipt(r *receipt.Receipt) error {
	broken := []error{r.Validate()}
	if r.Key != s.claim.Key || r.Revision != s.claim.Revision {
		broken = append(broken, fmt.Errorf("pgstore: receipt of %s, revision %d, does not match the claim on %s, revision %d",
			r.Key, r.Revision, s.claim.Key, s.claim.Revision))
	}
	if r.Attempt != s.claim.Attempt {
		broken = append(broken, errors.New("pgstore: receipt's attempt is not the claim's"))
	}
	return errors.Join(broken...)
}

func (s *session) queueReceipt(batch *pgx.Batch, r *receipt.Receipt) {
	batch.Queue(s.store.sql.insert, r.Key.Tenant, r.Key.Scope, r.Key.Operation, r.Key.ID, r.Revision,
		string(r.Requested), string(r.Outcome), r.Fingerprint.String(), r.Value, r.Canonical,
		r.OrderingKey, r.Attempt, s.synchronousCommit)
}

func (s *session) queueEvents(batch *pgx.Batch, events []event.Event) error {
	if len(events) == 0 {
		return nil
	}
	if !s.store.withoutOrderingLocks {
		batch.Queue(s.store.sql.lockOrdering, orderingLocks(s.store.config.Schema, events))
	}
	for i := range events {
		e := &events[i]
		envelope, err := json.Marshal(e)
		if err != nil {
			return fmt.Errorf("event %d of %d: %w", i+1, len(events), err)
		}
		batch.Queue(s.store.sql.insertEvent, lane(e.Ordering()), e.Ordering(), e.Source, e.ID,
			e.Key.Tenant, e.Key.Scope, e.Key.Operation, e.Key.ID, s.claim.Attempt, envelope)
	}
	return nil
}

// read takes the answers in the order of the statements, up to the first
// error.
func (f *flush) read(results pgx.BatchResults) error {
	for i, statement := range f.deferred {
		if _, err := results.Exec(); err != nil {
			return failedAt(fmt.Sprintf("deferred statement %d", i+1), statement.explain(err))
		}
	}
	var recordedAt, synchronousCommit string
	if err := results.QueryRow().Scan(&recordedAt, &synchronousCommit); err != nil {
		return failedAt("receipt", err)
	}
	var err error
	if f.recordedAt, err = time.Parse(time.RFC3339Nano, recordedAt); err != nil {
		return fmt.Errorf("receipt: the time that it was recorded at: %w", err)
	}
	for range f.batch.Len() - len(f.deferred) - 2 {
		if _, err := results.Exec(); err != nil {
			return failedAt("events", err)
		}
	}
	tag, err := results.Exec()
	if err != nil {
		return failedAt("COMMIT", err)
	}
	f.commitTag = tag.String()
	return nil
}

// failedAt says which statement the server refused. A connection that broke
// says nothing about the statement whose answer was due.
func failedAt(statement string, err error) error {
	if !isServerError(err) {
		return err
	}
	return fmt.Errorf("%s: %w", statement, err)
}
