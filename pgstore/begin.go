package pgstore

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/settleonce/settleonce/receipt"
)

// errStandby is what Begin and a relay say on a server that cannot write. A standby
// grants locks and finds nothing, so its answer would prove nothing (I5). For a
// relay see standbyText.
var errStandby = errors.New("the server is a standby")

// errAsynchronous is what Begin says where a COMMIT would answer before it is
// durable, be it that the server is set so or that an earlier user left the
// connection so.
var errAsynchronous = errors.New("synchronous_commit is off on this connection, and Config.Allow does not list it")

// Begin opens a transaction on the claim's key: it waits for the key's lock,
// looks at the clock, then reads the key's receipts and the first ones of the
// keys beside, all in one flush. See [receipt.Store] for what its results mean.
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
	claim.Beside = slices.Clone(claim.Beside)
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
	broken := []error{claim.Validate()}
	if claim.Revision > math.MaxInt32 {
		broken = append(broken, fmt.Errorf("claim's revision must be at most %d, is %d", math.MaxInt32, claim.Revision))
	}
	if claim.LockTimeout > maxTimeout {
		broken = append(broken, fmt.Errorf("claim's lock timeout must be at most %v, is %v", maxTimeout, claim.LockTimeout))
	}
	if err := errors.Join(broken...); err != nil {
		return fmt.Errorf("pgstore: %w", err)
	}
	return nil
}

// isolationLevel returns the level for BEGIN.
func isolationLevel(isolation receipt.Isolation) pgx.TxIsoLevel {
	if isolation == receipt.Serializable {
		return pgx.Serializable
	}
	return pgx.ReadCommitted
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
	sql, arguments := s.store.sql.readOf(&s.claim)
	batch.Queue(sql, arguments...)
}

func (s *session) readOpening(results pgx.BatchResults) error {
	if _, err := results.Exec(); err != nil { // BEGIN
		return err
	}
	var standby bool
	var beganAt string
	err := results.QueryRow().Scan(&standby, &s.synchronousCommit, &beganAt)
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
	if s.beganAt, err = time.Parse(time.RFC3339Nano, beganAt); err != nil {
		return fmt.Errorf("the time that the key was held at: %w", err)
	}
	rows, err := results.Query()
	if err != nil {
		return err
	}
	receipts, err := pgx.CollectRows(rows, scanReceipt)
	if err != nil {
		return err
	}
	s.setRead(receipts)
	return nil
}

// setRead takes the receipts that the read found: first those of the claim's
// key by revision, the claimed one and the newest one among them if they exist,
// then the first ones of the keys beside.
func (s *session) setRead(receipts []receipt.Receipt) {
	for i := range receipts {
		if receipts[i].Key != s.claim.Key {
			s.beside = receipts[i:]
			return
		}
		if receipts[i].Revision == s.claim.Revision {
			s.claimed = &receipts[i]
		}
		s.newest = &receipts[i]
	}
}
