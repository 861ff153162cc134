package pgstore

import (
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

// rows refuses once the handle that it came from is closed. It must: pgx keeps
// the state of a result in the connection, so rows that outlived their
// transaction would read the next user's.
type rows struct {
	inner  pgx.Rows
	handle *handle
}

var _ pgx.Rows = (*rows)(nil)

// Close closes the rows, which a savepoint that has ended must not keep from
// happening, and does nothing once the callback has returned.
func (r *rows) Close() {
	if r.handle.scope.ended.Load() {
		return
	}
	r.inner.Close()
	r.handle.scope.note(r.inner.Err())
}

// Err returns the error of the query or of reading it.
func (r *rows) Err() error {
	if err := r.handle.refusal(); err != nil {
		return err
	}
	return r.inner.Err()
}

// CommandTag passes on.
func (r *rows) CommandTag() pgconn.CommandTag {
	if r.handle.refusal() != nil {
		return pgconn.CommandTag{}
	}
	return r.inner.CommandTag()
}

// FieldDescriptions passes on.
func (r *rows) FieldDescriptions() []pgconn.FieldDescription {
	if r.handle.refusal() != nil {
		return nil
	}
	return r.inner.FieldDescriptions()
}

// Next passes on.
func (r *rows) Next() bool {
	if r.handle.refusal() != nil {
		return false
	}
	more := r.inner.Next()
	if !more {
		r.handle.scope.note(r.inner.Err())
	}
	return more
}

// Scan passes on.
func (r *rows) Scan(destinations ...any) error {
	if err := r.handle.refusal(); err != nil {
		return err
	}
	return r.inner.Scan(destinations...)
}

// Values passes on.
func (r *rows) Values() ([]any, error) {
	if err := r.handle.refusal(); err != nil {
		return nil, err
	}
	return r.inner.Values()
}

// RawValues passes on.
func (r *rows) RawValues() [][]byte {
	if r.handle.refusal() != nil {
		return nil
	}
	return r.inner.RawValues()
}

// Conn returns the bare connection, as the transaction's own Conn does.
func (r *rows) Conn() *pgx.Conn { return r.handle.Conn() }

// TypeMap passes on.
func (r *rows) TypeMap() *pgtype.Map {
	if r.handle.refusal() != nil {
		return nil
	}
	return r.inner.TypeMap()
}

// row refuses once the handle that it came from is closed.
type row struct {
	inner  pgx.Row
	handle *handle
}

var _ pgx.Row = (*row)(nil)

// Scan passes on.
func (r *row) Scan(destinations ...any) error {
	if err := r.handle.refusal(); err != nil {
		return err
	}
	err := r.inner.Scan(destinations...)
	r.handle.scope.note(err)
	return err
}

// refusedRows is the result of a query that was refused before it was sent.
type refusedRows struct{ err error }

var (
	_ pgx.Rows = refusedRows{}
	_ pgx.Row  = refusedRows{}
)

// Close does nothing.
func (refusedRows) Close() {}

// Err returns the refusal.
func (r refusedRows) Err() error { return r.err }

// CommandTag returns the empty tag.
func (refusedRows) CommandTag() pgconn.CommandTag { return pgconn.CommandTag{} }

// FieldDescriptions returns nil.
func (refusedRows) FieldDescriptions() []pgconn.FieldDescription { return nil }

// Next returns false.
func (refusedRows) Next() bool { return false }

// Scan returns the refusal.
func (r refusedRows) Scan(...any) error { return r.err }

// Values returns the refusal.
func (r refusedRows) Values() ([]any, error) { return nil, r.err }

// RawValues returns nil.
func (refusedRows) RawValues() [][]byte { return nil }

// Conn returns nil.
func (refusedRows) Conn() *pgx.Conn { return nil }

// TypeMap returns nil.
func (refusedRows) TypeMap() *pgtype.Map { return nil }
