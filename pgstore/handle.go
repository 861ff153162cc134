package pgstore

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// handle is what a guarded transaction and its savepoints have in common:
// every method refuses once the callback has returned, and refuses SQL that
// would begin, end or nest a transaction before it is sent (I2).
type handle struct {
	inner  pgx.Tx
	scope  *scope
	closed bool
}

// Begin sets a savepoint.
func (h *handle) Begin(ctx context.Context) (pgx.Tx, error) {
	if err := h.refusal(); err != nil {
		return nil, err
	}
	inner, err := h.inner.Begin(ctx)
	if err != nil {
		h.scope.note(err)
		return nil, err
	}
	nested := &savepoint{handle{inner: inner, scope: h.scope}, len(h.scope.deferred)}
	h.scope.savepoints = append(h.scope.savepoints, nested)
	return nested, nil
}

// CopyFrom passes on.
func (h *handle) CopyFrom(ctx context.Context, table pgx.Identifier, columns []string, source pgx.CopyFromSource) (int64, error) {
	if err := h.refusal(); err != nil {
		return 0, err
	}
	count, err := h.inner.CopyFrom(ctx, table, columns, source)
	h.scope.note(err)
	return count, err
}

// Prepare refuses transaction control and passes everything else on.
func (h *handle) Prepare(ctx context.Context, name, sql string) (*pgconn.StatementDescription, error) {
	if err := h.check(sql); err != nil {
		return nil, err
	}
	description, err := h.inner.Prepare(ctx, name, sql)
	h.scope.note(err)
	return description, err
}

// Exec refuses transaction control and passes everything else on.
func (h *handle) Exec(ctx context.Context, sql string, arguments ...any) (pgconn.CommandTag, error) {
	if err := h.check(sql); err != nil {
		return pgconn.CommandTag{}, err
	}
	tag, err := h.inner.Exec(ctx, sql, h.guardRewriters(arguments)...)
	h.scope.note(err)
	return tag, err
}

// Query refuses transaction control and passes everything else on.
func (h *handle) Query(ctx context.Context, sql string, arguments ...any) (pgx.Rows, error) {
	if err := h.check(sql); err != nil {
		return refusedRows{err}, err
	}
	inner, err := h.inner.Query(ctx, sql, h.guardRewriters(arguments)...)
	h.scope.note(err)
	return &rows{inner: inner, handle: h}, err
}

// QueryRow refuses transaction control and passes everything else on.
func (h *handle) QueryRow(ctx context.Context, sql string, arguments ...any) pgx.Row {
	if err := h.check(sql); err != nil {
		return refusedRows{err}
	}
	return &row{inner: h.inner.QueryRow(ctx, sql, h.guardRewriters(arguments)...), handle: h}
}

// LargeObjects passes on. pgx's own handles refuse once the transaction object
// that they came from is closed, which the session sees to.
func (h *handle) LargeObjects() pgx.LargeObjects { return h.inner.LargeObjects() }

// Conn returns the bare connection, on which nothing is refused: there
// transaction control is only detected, by the last flush or by the rollback.
// The first call asks the server for the transaction's id, by which a COMMIT
// shows even where the connection ends up in another transaction that failed.
// Nil once the callback has returned.
func (h *handle) Conn() *pgx.Conn { return h.bareConnection(context.Background()) }

// bareConnection is Conn on behalf of ctx, which may be done.
func (h *handle) bareConnection(ctx context.Context) *pgx.Conn {
	if h.refusal() != nil {
		return nil
	}
	if !h.scope.bare {
		h.scope.bare = true
		h.scope.failedBefore = h.inner.Conn().PgConn().TxStatus() == statusFailed
		h.scope.transactionID = askTransactionID(ctx, h.inner)
	}
	return h.inner.Conn()
}

// askTransactionID returns "" where the connection cannot answer now, because
// results are unread or the transaction has failed.
func askTransactionID(ctx context.Context, tx pgx.Tx) (id string) {
	if tx.Conn().PgConn().IsBusy() || tx.Conn().PgConn().TxStatus() != statusOpen {
		return ""
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), DefaultRollbackTimeout)
	defer cancel()
	_ = tx.QueryRow(ctx, "SELECT pg_catalog.pg_current_xact_id()::pg_catalog.text").Scan(&id)
	return id
}

// check refuses a closed handle and transaction control.
func (h *handle) check(sql string) error {
	if err := h.refusal(); err != nil {
		return err
	}
	return h.refuseControlIn(sql)
}

// refuseControlIn reports transaction control in sql, and a connection whose
// encoding does not let it be found.
func (h *handle) refuseControlIn(sql string) error {
	if err := checkEncoding(h.inner.Conn().PgConn()); err != nil {
		return fmt.Errorf("pgstore: %w", err)
	}
	return refuseTransactionControl(sql, h.plainStrings())
}

func (h *handle) plainStrings() bool {
	return h.inner.Conn().PgConn().ParameterStatus("standard_conforming_strings") != "off"
}

// guardRewriters has the texts that rewriters among pgx's option arguments
// make checked as well. There may be several; pgx applies the last.
func (h *handle) guardRewriters(arguments []any) []any {
	guarded := slices.Clone(arguments)
	for i, argument := range arguments {
		switch argument := argument.(type) {
		case pgx.QueryRewriter:
			guarded[i] = guardedRewriter{argument, h}
		case pgx.QueryExecMode, pgx.QueryResultFormats, pgx.QueryResultFormatsByOID:
			continue
		default:
			return guarded // options come first
		}
	}
	return guarded
}

// guardedRewriter checks what a rewriter of the callback made.
type guardedRewriter struct {
	inner  pgx.QueryRewriter
	handle *handle
}

var _ pgx.QueryRewriter = guardedRewriter{}

// RewriteQuery passes on, and refuses transaction control in the result. A
// rewriter that is not known to leave it alone is given the bare connection,
// as Conn gives it.
func (g guardedRewriter) RewriteQuery(ctx context.Context, conn *pgx.Conn, sql string, arguments []any) (string, []any, error) {
	switch g.inner.(type) {
	case pgx.NamedArgs, pgx.StrictNamedArgs:
	default:
		conn = g.handle.bareConnection(ctx)
	}
	sql, arguments, err := g.inner.RewriteQuery(ctx, conn, sql, arguments)
	if err != nil {
		return "", nil, err
	}
	if err := g.handle.refuseControlIn(sql); err != nil {
		return "", nil, err
	}
	return sql, arguments, nil
}
