package pgstore

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/settleonce/settleonce/receipt"
)

// Transaction states as the server reports them with ReadyForQuery.
const (
	statusIdle   = 'I' // in no transaction
	statusOpen   = 'T'
	statusFailed = 'E' // in a transaction that can only be rolled back
)

// session is one open transaction and the connection that it has to itself.
type session struct {
	store *Store
	claim receipt.Claim
	conn  *pgxpool.Conn
	// tx is pgx's own object, which the callback never sees.
	tx     pgx.Tx
	handle *transaction

	// synchronousCommit is the setting that the first flush found.
	synchronousCommit string
	claimed, newest   *receipt.Receipt
	beside            []receipt.Receipt
	beganAt           time.Time

	added []receipt.Receipt
	ended bool
}

var _ receipt.Session[pgx.Tx] = (*session)(nil)

// Tx returns the guarded transaction, see the package comment.
func (s *session) Tx() pgx.Tx { return s.handle }

// Prior returns what the first flush read.
func (s *session) Prior() (claimed, newest *receipt.Receipt) { return s.claimed, s.newest }

// Beside returns what the first flush read.
func (s *session) Beside() []receipt.Receipt { return s.beside }

// BeganAt returns the server's clock, in microseconds.
func (s *session) BeganAt() time.Time { return s.beganAt }

// Add keeps a copy of the receipts until Commit.
func (s *session) Add(receipts ...receipt.Receipt) {
	for i := range receipts {
		s.added = append(s.added, receipts[i].Clone())
	}
}

// Rollback ends the transaction. It runs on a context of its own, so that a
// caller who was cancelled still frees the key.
func (s *session) Rollback(ctx context.Context) error {
	if s.ended {
		return nil
	}
	s.handle.close()
	gone := s.transactionGone(ctx)
	err := s.end(ctx)
	if gone {
		return fmt.Errorf("pgstore: %w", receipt.ErrTransactionEnded)
	}
	if err != nil {
		return fmt.Errorf("pgstore: rolling back %s: %w", s.claim.Key, err)
	}
	return nil
}

// transactionGone reports whether the callback ended the transaction on the
// bare connection. Outside of a transaction that shows at once; a new one that
// it began in its place lacks the setting that marks the session's own. A
// failed transaction has to be rolled back before the server answers, and then
// tells only whether the session's own had committed. A lost connection cannot
// be asked.
func (s *session) transactionGone(ctx context.Context) bool {
	switch s.status() {
	case statusIdle:
		return true
	case statusOpen:
		return s.handle.scope.bare && !s.connectionLost() && s.attemptGone(ctx)
	case statusFailed:
		return s.handle.scope.bare && !s.handle.scope.failedBefore && !s.connectionLost() && s.committedBefore(ctx)
	default:
		return false
	}
}

func (s *session) attemptGone(ctx context.Context) bool {
	ctx, cancel := s.cleanupContext(ctx)
	defer cancel()
	var attempt *string
	err := s.tx.QueryRow(ctx, "SELECT pg_catalog.current_setting('"+attemptSetting+"', true)").Scan(&attempt)
	return err == nil && (attempt == nil || *attempt != s.claim.Attempt)
}

// committedBefore reports whether the session's own transaction committed
// before the one that failed. Where nobody can tell, it may have.
func (s *session) committedBefore(ctx context.Context) bool {
	ctx, cancel := s.cleanupContext(ctx)
	defer cancel()
	conn := s.conn.Conn()
	if _, err := conn.Exec(ctx, "ROLLBACK"); err != nil {
		return true
	}
	var committed bool
	err := conn.QueryRow(ctx, "SELECT pg_catalog.pg_xact_status($1::pg_catalog.text::pg_catalog.xid8) = 'committed'", s.handle.scope.transactionID).Scan(&committed)
	return err != nil || committed
}

// cleanupContext outlives the caller's context, but not by long.
func (s *session) cleanupContext(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), s.store.config.RollbackTimeout)
}

// end rolls back whatever is still open, makes every handle of the transaction
// refuse, and gives the connection back. Where the rollback fails, be it that
// the callback left results unread, pgx closes the connection, and the server
// ends the transaction when it notices.
func (s *session) end(ctx context.Context) error {
	s.ended = true
	defer s.conn.Release() // closes it unless it is idle and in no transaction
	if s.connectionLost() || s.status() == statusIdle {
		closeWithoutWriting(ctx, s.tx)
		return nil
	}
	ctx, cancel := s.cleanupContext(ctx)
	defer cancel()
	if err := s.tx.Rollback(ctx); err != nil {
		return fmt.Errorf("the connection was closed: %w", err)
	}
	return nil
}

// closeWithoutWriting makes pgx's object of a transaction or savepoint that
// has ended refuse, and with it the large-object handles taken from it. pgx
// writes nothing under a context that is done, but marks the object as closed.
func closeWithoutWriting(ctx context.Context, tx pgx.Tx) {
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	_ = tx.Commit(ctx) // its error is that context's
}

// giveUp closes the connection at once.
func (s *session) giveUp(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	_ = s.conn.Conn().Close(ctx) // the socket is closed whatever it returns
}

func (s *session) connectionLost() bool { return s.conn.Conn().IsClosed() }

func (s *session) status() byte { return s.conn.Conn().PgConn().TxStatus() }
