package pgstore

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/jackc/pgx/v5"

	"github.com/settleonce/settleonce/receipt"
)

// errStandby is what Begin says on a server that cannot write. A standby
// grants locks and finds nothing, so its answer would prove nothing (I5).
var errStandby = errors.New("the server is a standby")

// errAsynchronous is what Begin says where a COMMIT would answer before it is
// durable, be it that the server is set so or that an earlier user left the
// connection so.
var errAsynchronous = errors.New("synchronous_commit is off on this connection, and Config.Allow does not list it")

// Begin opens a transaction on the claim's key: it waits for the key's lock,
// then reads the key's receipts, all in one flush. See [receipt.Store] for
// what its results mean.
//
// errors.Is(err, [receipt.ErrInFlight]) is true where the lock timeout passed.
func (s *Store) Begin(ctx context.Context, claim receipt.Claim) (receipt.Session[pgx.Tx], error) {
	if err := validateClaim(claim); err != nil {
		return nil, err
	}
	conn, err := s.config.Pool.Acquire(ctx)
	if err != nil {
		return nil, fmt.Errorf("pgstore: acquiring a connection for %s: %w", claim.Key, err)
	}
	session := &session{store: s, conn: conn, claim: claim}
	if err := session.open(ctx); err != nil {
		if errors.Is(err, errAsynchronous) {
			session.giveUp(ctx) // the next connection may not have it
		}
		// Where the rollback fails the connection is gone, and with it the
		// lock: err says all that the caller needs.
		_ = session.end(ctx)
		return nil, s.beginError(claim.Key, err)
	}
	return session, nil
}

func validateClaim(claim receipt.Claim) error {
	var broken []error
	check := func(field string, err error) {
		if err != nil {
			broken = append(broken, fmt.Errorf("pgstore: claim's %s %w", field, err))
		}
	}
	if err := claim.Key.Validate(); err != nil {
		broken = append(broken, fmt.Errorf("pgstore: claim: %w", err))
	}
	if claim.Revision < 0 || claim.Revision > math.MaxInt32 {
		check("revision", fmt.Errorf("must be between 0 and %d, is %d", math.MaxInt32, claim.Revision))
	}
	if claim.Attempt == "" {
		check("attempt", errors.New("must be set"))
	}
	if isolationLevel(claim.Isolation) == "" {
		check("isolation", fmt.Errorf("must be ReadCommitted or Serializable, is %d", int(claim.Isolation)))
	}
	check("lock timeout", validateTimeout(claim.LockTimeout))
	return errors.Join(broken...)
}

// isolationLevel returns the level for BEGIN, "" for one that is not offered.
func isolationLevel(isolation receipt.Isolation) pgx.TxIsoLevel {
	switch isolation {
	case receipt.ReadCommitted:
		return pgx.ReadCommitted
	case receipt.Serializable:
		return pgx.Serializable
	default:
		return ""
	}
}

// beginError names the key, and a lock timeout and a missing table by their
// names.
func (s *Store) beginError(key receipt.Key, err error) error {
	switch {
	case hasCode(err, codeLockNotAvailable):
		return fmt.Errorf("pgstore: %w: %s: %w", receipt.ErrInFlight, key, err)
	case hasCode(err, codeUndefinedTable):
		return fmt.Errorf("pgstore: schema %q has no receipts, has Migrate been called? %w", s.config.Schema, err)
	default:
		return fmt.Errorf("pgstore: beginning on %s: %w", key, err)
	}
}

// open sends the first flush and reads its answers.
func (s *session) open(ctx context.Context) error {
	var batch pgx.Batch
	// No access mode is stated: an explicit READ WRITE fails on a standby
	// before the session could ask whether it is one (I5).
	batch.BeginTx(pgx.TxOptions{IsoLevel: isolationLevel(s.claim.Isolation)})
	s.queueLock(&batch)
	s.queueRead(&batch)

	results := s.conn.SendBatch(ctx, &batch)
	s.tx = results.Tx()
	err := s.readOpening(results)
	if closeErr := results.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	s.handle = newTransaction(s.tx)
	return nil
}

func (s *session) queueLock(batch *pgx.Batch) {
	timeout := s.claim.LockTimeout
	fill(&timeout, s.store.config.LockTimeout)
	check := ""
	if interval := s.store.config.ClientCheckInterval; interval > 0 {
		check = milliseconds(interval)
	}
	batch.Queue(s.store.sql.lock, s.claim.Attempt, milliseconds(timeout),
		milliseconds(s.store.config.IdleTimeout), check, keyLock(s.store.config.Schema, s.claim.Key))
}

func (s *session) queueRead(batch *pgx.Batch) {
	key := s.claim.Key
	batch.Queue(s.store.sql.read, key.Tenant, key.Scope, key.Operation, key.ID, s.claim.Revision)
}

func (s *session) readOpening(results pgx.BatchResults) error {
	if _, err := results.Exec(); err != nil { // BEGIN
		return err
	}
	var standby bool
	var locked *string
	err := results.QueryRow().Scan(&standby, &s.synchronousCommit, &locked)
	switch {
	case err != nil:
		return err
	case standby:
		return errStandby
	case s.synchronousCommit == "off" && !s.store.allows(SynchronousCommitOff):
		return errAsynchronous
	}
	if err := checkEncoding(s.conn.Conn().PgConn()); err != nil {
		return err
	}
	rows, err := results.Query()
	if err != nil {
		return err
	}
	receipts, err := pgx.CollectRows(rows, scanReceipt)
	if err != nil {
		return err
	}
	s.setPrior(receipts)
	return nil
}

// setPrior takes the receipts that the read found, ordered by revision: the
// claimed one, the newest one, or both.
func (s *session) setPrior(receipts []receipt.Receipt) {
	for i := range receipts {
		if receipts[i].Revision == s.claim.Revision {
			s.claimed = &receipts[i]
		}
		s.newest = &receipts[i]
	}
}
