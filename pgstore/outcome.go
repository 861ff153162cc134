package pgstore

import (
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/settleonce/settleonce/receipt"
)

// Error codes of PostgreSQL, Appendix A of its manual.
const (
	codeNotNullViolation     = "23502"
	codeUniqueViolation      = "23505"
	codeFailedTransaction    = "25P02"
	codeInvalidText          = "22P02"
	codeSerializationFailure = "40001"
	codeDeadlockDetected     = "40P01"
	codeUndefinedTable       = "42P01"
	codeLockNotAvailable     = "55P03"
)

// classify says what an error of the last flush means for the transaction
// (I5). It is called once the batch is closed, so on a connection that is
// still usable every answer has been read, ReadyForQuery included.
func (s *session) classify(err error) error {
	var server *pgconn.PgError
	fromServer := errors.As(err, &server)
	switch {
	case fromServer && s.store.attemptMissing(server):
		return fmt.Errorf("pgstore: %w: %w", receipt.ErrTransactionEnded, err)
	case neverSent(err):
		return notCommitted(err)
	case s.connectionLost() || s.conn.Conn().PgConn().IsBusy():
		return unknown(err)
	case s.status() != statusIdle:
		return notCommitted(err) // COMMIT was not reached
	case fromServer && severity(server) == "ERROR":
		return notCommitted(err) // COMMIT itself failed
	default:
		return unknown(err)
	}
}

// neverSent reports whether the flush failed before its statements were
// written to the socket.
func neverSent(err error) bool {
	var preprocessing pgx.ErrPreprocessingBatch
	return errors.As(err, &preprocessing) || pgconn.SafeToRetry(err)
}

// commitResult judges a flush without an error by the tag of its COMMIT: the
// server answers ROLLBACK, and no error, where the transaction had failed.
func (f *flush) commitResult(unreplicated bool) error {
	switch {
	case f.commitTag == "COMMIT" && !unreplicated:
		return nil
	case f.commitTag == "COMMIT":
		return unknown(errors.New("the server stopped waiting for its synchronous standby"))
	case f.commitTag == "ROLLBACK":
		return notCommitted(errors.New("the server answered COMMIT with ROLLBACK"))
	default:
		return unknown(fmt.Errorf("the server answered COMMIT with %q", f.commitTag))
	}
}

func notCommitted(cause error) error {
	return fmt.Errorf("pgstore: %w: %w", receipt.ErrNotCommitted, cause)
}

func unknown(cause error) error {
	return fmt.Errorf("pgstore: %w: %w", receipt.ErrOutcomeUnknown, cause)
}

// Retryable reports whether err says that the transaction was rolled back for
// a serialisation failure, a deadlock, or because another attempt's receipt
// for the same key committed first. A unique violation of any other constraint
// is the caller's. An unknown outcome is not retryable whatever led to it:
// it is to be resolved.
func (s *Store) Retryable(err error) bool {
	if errors.Is(err, receipt.ErrOutcomeUnknown) || errors.Is(err, receipt.ErrTransactionEnded) {
		return false
	}
	var server *pgconn.PgError
	if !errors.As(err, &server) {
		return false
	}
	switch server.Code {
	case codeSerializationFailure, codeDeadlockDetected:
		return true
	case codeUniqueViolation:
		return s.ours(server) && server.ConstraintName == receiptsPrimary
	default:
		return false
	}
}

// attemptMissing reports whether the receipt's own check found that the
// transaction is no longer the one that the session began (I2).
func (s *Store) attemptMissing(server *pgconn.PgError) bool {
	return server.Code == codeNotNullViolation && s.ours(server) && server.ColumnName == attemptColumn
}

// ours reports whether the error is about this store's table of receipts.
func (s *Store) ours(server *pgconn.PgError) bool {
	return server.SchemaName == s.config.Schema && server.TableName == receiptsTable
}

func isServerError(err error) bool {
	var server *pgconn.PgError
	return errors.As(err, &server)
}

func hasCode(err error, code string) bool {
	var server *pgconn.PgError
	return errors.As(err, &server) && server.Code == code
}

// severity returns the severity in English, whatever lc_messages says.
func severity(server *pgconn.PgError) string {
	if server.SeverityUnlocalized != "" {
		return server.SeverityUnlocalized
	}
	return server.Severity
}
