package pgstore

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
)

// Fence guards named subjects, such as markets, between the many transactions
// that act on a subject's state (bets) and the few that change it
// (suspensions, new quotes). A bet calls [Fence.Share] before it reads the
// state, a writer calls [Fence.Exclude] before it changes it, and each keeps
// what it got until its transaction ends. So the state that a bet has read
// stays as it is until the bet is committed, and once a writer has committed,
// no bet goes on under the old state, provided that it reads the state as said
// under Isolation.
//
// # Fairness
//
// PostgreSQL grants an advisory lock in the order of its queue, except that
// neighbours which share are granted together. A bet that queues after a
// suspension is not granted before it, however many there are: the suspension
// waits for the bets that hold the fence or queue before it, and for no other.
// Row locks give no such promise. SELECT ... FOR SHARE is granted over the head
// of an UPDATE that waits for the row, so a busy market keeps its suspension
// waiting for as long as bets overlap.
//
// The promise has three conditions.
//
//   - All bets take locks in one order: what a bet waits for while it holds the
//     fence, such as a row of exposures, is never held by a bet that has yet to
//     get the fence. Otherwise the suspension may wait for a bet that waits for
//     another behind the suspension, which PostgreSQL's deadlock detector
//     resolves by letting that one pass. What every bet locks before the fence,
//     such as its wallet, does no harm.
//   - A transaction fences all its subjects in one call. Two calls, or calls of
//     two fences, need an order of their own that everybody keeps, or they
//     deadlock.
//   - No transaction calls Exclude for a subject that it has shared. Two that
//     do deadlock.
//
// # Isolation
//
// At READ COMMITTED the state must be read by a later statement than the one
// that takes the lock, as it is after Share. A statement's snapshot is taken
// before the statement runs: one that both locks and reads shows the state
// from before its wait.
//
// At SERIALIZABLE the whole transaction has the snapshot of its first
// statement, in a session of a [Store] that of Begin. A bet that has waited for
// a suspension then reads the state from before it, places its bet and commits,
// all without an error, even where the suspension is serialisable too: to the
// server the bet came first. It objects only to a cycle, as with a serialisable
// writer that had itself read what the bet then writes. So the fence alone is
// not enough there. Behind it, read the state with a row lock,
//
//	SELECT version, status FROM markets WHERE tenant = $1 AND id = $2 FOR SHARE
//
// and a change that was committed after the snapshot raises 40001, which a
// runner retries with a new snapshot. Behind the fence this row lock starves
// nobody: no bet asks for it while a writer has the fence, and the writer has
// outwaited those that held it.
//
//   - FOR SHARE suffices, against an UPDATE of any column and a DELETE. So do
//     FOR NO KEY UPDATE and FOR UPDATE, but with them the bets on a market wait
//     for each other.
//   - FOR KEY SHARE does not suffice: an UPDATE that changes no column of a
//     unique index goes unnoticed, and the bet reads the old state. Only
//     against a DELETE, and an UPDATE that changes a column of a unique index
//     without expression and WHERE, does it do what FOR SHARE does.
//   - The row is found by what never changes, and its state compared
//     afterwards. With AND version = $3, a row that has another version in the
//     snapshot is not found and not locked, and its change goes unnoticed.
//   - The state is in a row that a writer changes. A suspension that only
//     inserts one, say into a log of states, leaves nothing to lock.
//   - FOR SHARE comes after Share, never before it: the writer that has the
//     fence would wait for the row, and the bet for the fence. Once granted, it
//     vouches for every read of that row in the transaction.
//   - Every UPDATE of the row is noticed, be it behind the fence or not, and
//     costs all bets that are under way a retry. What changes often and may
//     overlap with bets, such as a price that ticks, belongs in another row.
//   - FOR SHARE needs the privilege UPDATE on the table, and writes to the row.
//
// There are two ways without a row lock. A transaction can wait before it has
// a snapshot, but only with LOCK TABLE, which is one lock for all markets, and
// never in a session, whose Begin has the snapshot. And the state can be read
// on a second connection while the first holds the fence; but callers who hold
// one connection and wait for another can drain the pool.
//
// REPEATABLE READ reads the old state in the same way.
//
// A writer should be READ COMMITTED. At SERIALIZABLE its own snapshot may be
// older than its wait: it does not see the bets that it waited for, and fails
// with 40001 where a row that it changes was changed meanwhile.
//
// # Waiting
//
// Both calls obey lock_timeout, which sessions of a [Store] have and other
// transactions, by the server's default, have not. The error is 55P03: the
// transaction has failed and changes nothing. A writer that gives up leaves the
// queue, and bets go on under the old state, so it has to try again.
//
// Bets queue behind a writer that waits, so the slowest bet in front of it
// decides for how long the market stands still. Keep both transactions short,
// and have idle_in_transaction_session_timeout end the ones whose client is
// silent; sessions of a Store have it. The server frees the fence when it
// notices that the client's connection has ended. Bets that wait hold their
// connections: give writers a pool of their own, or they wait for one before
// they can queue.
//
// A rollback to a savepoint releases what was locked since. What was read under
// that lock counts no longer.
//
// # Cost
//
// Each call is one statement for all its subjects; Share's travels with the
// read and so costs no round trip. The server's lock table has room for at
// least max_locks_per_transaction × (max_connections +
// max_prepared_transactions) subjects, and for twice as many holders and
// waiters, which it shares with all other locks. Where it is full, statements
// fail with 53200.
//
// A lock is 64 bits of the SHA-256 over a domain, the schema, the name and the
// subject, each with its length in front (I10). Two subjects that share the 64
// bits wait for each other and are otherwise unharmed. Advisory locks belong to
// one database: bets and writers must use the same one, and a fence of the same
// schema and name.
//
// Safe for concurrent use.
type Fence struct{ config FenceConfig }

// FenceConfig says which subjects are meant. All processes must agree on it.
type FenceConfig struct {
	// Schema keeps apart installations that share a database, as the schema
	// of their [Store] does. Nothing is stored in it. Empty:
	// [DefaultSchema].
	Schema string
	// Name says what the subjects are, such as "market". It must be set, to
	// at most 63 of a-z, A-Z, 0-9, '_' and '-'.
	Name string
}

// Subject is one thing that a [Fence] guards. Neither field may be empty.
type Subject struct {
	// Tenant is whose subject it is. Another tenant's of the same ID is
	// another subject (I10).
	Tenant string
	// ID is the subject's own id, such as that of a market.
	ID string
}

// NewFence returns a fence. An error names every field of cfg that breaks its
// rule.
func NewFence(cfg FenceConfig) (*Fence, error) {
	cfg.Schema = schemaOrDefault(cfg.Schema)
	var broken []error
	if err := validateSchema(cfg.Schema); err != nil {
		broken = append(broken, fmt.Errorf("pgstore: FenceConfig.Schema %w", err))
	}
	if err := validateFenceName(cfg.Name); err != nil {
		broken = append(broken, fmt.Errorf("pgstore: FenceConfig.Name %w", err))
	}
	if err := errors.Join(broken...); err != nil {
		return nil, err
	}
	return &Fence{cfg}, nil
}

const maxFenceName = 63

func validateFenceName(name string) error {
	if name == "" || len(name) > maxFenceName {
		return fmt.Errorf("must have 1 to %d bytes, has %d", maxFenceName, len(name))
	}
	for i := range len(name) {
		if !schemaByte(name[i]) {
			return errors.New("may hold only a-z, A-Z, 0-9, '_' and '-'")
		}
	}
	return nil
}

const (
	// shareFenceSQL takes the locks in the order of the array.
	shareFenceSQL = `SELECT pg_catalog.pg_advisory_xact_lock_shared(lock)::pg_catalog.text FROM pg_catalog.unnest($1::bigint[]) AS lock`

	// excludeFenceSQL does too.
	excludeFenceSQL = lockOrderingSQL
)

// Share queues a statement that waits for the writers who hold a subject or
// queue before it, and then holds off later ones until the transaction ends.
// Queue the reads of the subjects' state after it, each with a callback, and
// send the batch on the transaction:
//
//	var batch pgx.Batch
//	if err := fence.Share(&batch, subject); err != nil { … }
//	batch.Queue(readMarket, …).QueryRow(func(row pgx.Row) error { return row.Scan(&market) })
//	err := tx.SendBatch(ctx, &batch).Close()
//
// Close hands out the results in order and stops at the first error, so this
// statement's has not to be skipped. A caller who reads them one by one calls
// Exec for it. What the read must be at SERIALIZABLE is said at [Fence].
//
// Subjects may come in any order and more than once; the slice stays the
// caller's. An error names every subject that breaks a rule, and nothing was
// queued. No subject at all is an error too: it would fence nothing.
func (f *Fence) Share(batch *pgx.Batch, subjects ...Subject) error {
	locks, err := f.locks(subjects)
	if err != nil {
		return err
	}
	batch.Queue(shareFenceSQL, locks).Fn = func(results pgx.BatchResults) error {
		_, err := results.Exec()
		return f.waitError(err)
	}
	return nil
}

// Exclude waits for all who hold a subject or queue before it, and then holds
// off all others until tx ends. Call it before the first statement that reads
// or changes the subjects' state. tx may be any transaction on the database,
// at READ COMMITTED for preference, see [Fence].
//
// Nil: until tx ends, nobody else acts on the subjects. An error: tx can only
// be rolled back, unless the error names subjects that break a rule; then
// nothing was sent.
func (f *Fence) Exclude(ctx context.Context, tx pgx.Tx, subjects ...Subject) error {
	locks, err := f.locks(subjects)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, excludeFenceSQL, locks)
	return f.waitError(err)
}

func (f *Fence) waitError(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("pgstore: waiting for the fence %q: %w", f.config.Name, err)
}

// locks returns the subjects' locks, distinct and sorted, so that no two
// transactions take them in opposite orders.
func (f *Fence) locks(subjects []Subject) ([]int64, error) {
	if err := f.validate(subjects); err != nil {
		return nil, err
	}
	locks := make([]int64, len(subjects))
	for i, subject := range subjects {
		locks[i] = advisoryKey(fenceDomain, f.config.Schema, f.framed(subject))
	}
	slices.Sort(locks)
	return slices.Compact(locks), nil
}

func (f *Fence) validate(subjects []Subject) error {
	if len(subjects) == 0 {
		return fmt.Errorf("pgstore: fence %q: must be given a subject", f.config.Name)
	}
	var broken []error
	for i, subject := range subjects {
		if subject.Tenant == "" {
			broken = append(broken, fmt.Errorf("pgstore: fence %q: Tenant of subject %d must not be empty", f.config.Name, i+1))
		}
		if subject.ID == "" {
			broken = append(broken, fmt.Errorf("pgstore: fence %q: ID of subject %d must not be empty", f.config.Name, i+1))
		}
	}
	return errors.Join(broken...)
}

// framed returns name, tenant and id, each with its length in front.
func (f *Fence) framed(subject Subject) []byte {
	var framed []byte
	for _, part := range []string{f.config.Name, subject.Tenant, subject.ID} {
		framed = binary.AppendUvarint(framed, uint64(len(part)))
		framed = append(framed, part...)
	}
	return framed
}
