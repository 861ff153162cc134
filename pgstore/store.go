package pgstore

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/settleonce/settleonce/fingerprint"
	"github.com/settleonce/settleonce/receipt"
)

// Store keeps receipts and events in PostgreSQL.
//
// Safe for concurrent use.
type Store struct {
	config Config
	sql    statements
	// watchers hear of committed events.
	watchers watchers

	// withoutOrderingLocks lets a test see what they are there for.
	withoutOrderingLocks bool
}

var _ receipt.Store[pgx.Tx] = (*Store)(nil)

// New returns a store. It sends nothing: call [Store.Check] before the first
// use of a database. An error names every field of cfg that breaks its rule.
func New(cfg Config) (*Store, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	cfg.Allow = slices.Clone(cfg.Allow)
	return &Store{config: cfg, sql: newStatements(cfg.Schema)}, nil
}

// History returns the committed receipts of the keys, as of one moment, in the
// order of the keys and for each in the order of its revisions. It takes no
// lock: that a receipt is missing proves nothing about a transaction that is
// still open.
func (s *Store) History(ctx context.Context, keys ...receipt.Key) ([]receipt.Receipt, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	var broken []error
	for _, key := range keys {
		if err := key.Validate(); err != nil {
			broken = append(broken, fmt.Errorf("pgstore: %w", err))
		}
	}
	if err := errors.Join(broken...); err != nil {
		return nil, err
	}
	sql, arguments := s.sql.historyOf(keys)
	rows, err := s.config.Pool.Query(ctx, sql, arguments...)
	if err != nil {
		return nil, fmt.Errorf("pgstore: reading the history of %s: %w", keys, err)
	}
	history, err := pgx.CollectRows(rows, scanReceipt)
	if err != nil {
		return nil, fmt.Errorf("pgstore: reading the history of %s: %w", keys, err)
	}
	return history, nil
}

// scanReceipt reads receiptTexts.
func scanReceipt(row pgx.CollectableRow) (receipt.Receipt, error) {
	var r receipt.Receipt
	var digest, recordedAt string
	var value, canonical *string
	err := row.Scan(&r.Key.Tenant, &r.Key.Scope, &r.Key.Operation, &r.Key.ID, &r.Revision,
		&r.Requested, &r.Outcome, &digest, &value, &canonical, &r.OrderingKey, &r.Attempt, &recordedAt)
	if err != nil {
		return receipt.Receipt{}, err
	}
	var broken [4]error
	r.Fingerprint, broken[0] = fingerprint.Parse(digest)
	r.Value, broken[1] = bytesFrom(value)
	r.Canonical, broken[2] = bytesFrom(canonical)
	r.RecordedAt, broken[3] = time.Parse(time.RFC3339Nano, recordedAt)
	if err := errors.Join(broken[:]...); err != nil {
		return receipt.Receipt{}, fmt.Errorf("stored receipt of %s: %w", r.Key, err)
	}
	return r, nil
}

// bytesFrom decodes the text of a bytea, nil where that is null.
func bytesFrom(text *string) ([]byte, error) {
	if text == nil {
		return nil, nil
	}
	return hex.DecodeString(*text)
}
