package pgstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/receipt"
)

// Commit sends the last flush: what the callback deferred, the receipts, the
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
	if len(events) > 0 {
		s.store.watchers.poke()
	}
	stored := r.Clone()
	stored.RecordedAt = flush.recordedAt
	return stored, nil
}

// flush is the last flush and what its answers said.
type flush struct {
	batch    pgx.Batch
	deferred []deferred
	// receipts are in the order in which they are written.
	receipts []receipt.Receipt
	// given is the key of the one that Commit was given.
	given      receipt.Key
	recordedAt time.Time // of that one
	commitTag  string
}

// prepareFlush checks everything before anything is sent, and keeps the order
// of I8.
func (s *session) prepareFlush(r receipt.Receipt, events []event.Event) (*flush, error) {
	receipts := append([]receipt.Receipt{r}, s.added...)
	if err := s.claim.CheckReceipts(receipts...); err != nil {
		return nil, err
	}
	slices.SortFunc(receipts, compareKeys)
	f := &flush{deferred: s.handle.scope.deferred, receipts: receipts, given: r.Key}
	for _, statement := range f.deferred {
		f.batch.Queue(statement.sql, statement.arguments...)
	}
	for i := range receipts {
		s.queueReceipt(&f.batch, &receipts[i])
	}
	if err := s.queueEvents(&f.batch, events); err != nil {
		return nil, err
	}
	f.batch.Queue(commitSQL)
	return f, nil
}

// compareKeys orders the receipts of one tenant, so that transactions which
// write the same keys wait for each other and do not deadlock.
func compareKeys(a, b receipt.Receipt) int {
	return cmp.Or(
		strings.Compare(a.Key.Scope, b.Key.Scope),
		strings.Compare(a.Key.Operation, b.Key.Operation),
		strings.Compare(a.Key.ID, b.Key.ID),
	)
}

func (s *session) queueReceipt(batch *pgx.Batch, r *receipt.Receipt) {
	batch.Queue(s.store.sql.insert, r.Key.Tenant, r.Key.Scope, r.Key.Operation, r.Key.ID, r.Revision,
		string(r.Requested), string(r.Outcome), r.Fingerprint.String(), r.Value, r.Canonical,
		r.OrderingKey, r.Attempt, s.synchronousCommit)
}

// queueEvents queues the locks of the ordering keys, then the events. One event
// takes its lock itself.
func (s *session) queueEvents(batch *pgx.Batch, events []event.Event) error {
	var locks []int64
	if !s.store.withoutOrderingLocks {
		locks = orderingLocks(s.store.config.Schema, events)
	}
	alone := len(events) == 1 && len(locks) == 1
	if len(locks) > 0 && !alone {
		batch.Queue(s.store.sql.lockOrdering, locks)
	}
	for i := range events {
		sql := s.store.sql.insertEvent
		arguments, err := eventArguments(&events[i], s.claim.Attempt)
		if err != nil {
			return fmt.Errorf("event %d of %d: %w", i+1, len(events), err)
		}
		if alone {
			sql, arguments = s.store.sql.insertEventAlone, append(arguments, locks[0])
		}
		batch.Queue(sql, arguments...)
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
	for i := range f.receipts {
		if err := f.readReceipt(results, f.receipts[i].Key); err != nil {
			return err
		}
	}
	for range f.batch.Len() - len(f.deferred) - len(f.receipts) - 1 {
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

func (f *flush) readReceipt(results pgx.BatchResults, key receipt.Key) error {
	var text, synchronousCommit string
	if err := results.QueryRow().Scan(&text, &synchronousCommit); err != nil {
		return failedAt(fmt.Sprintf("receipt of %s", key), err)
	}
	recordedAt, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return fmt.Errorf("receipt of %s: the time that it was recorded at: %w", key, err)
	}
	if key == f.given {
		f.recordedAt = recordedAt
	}
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
