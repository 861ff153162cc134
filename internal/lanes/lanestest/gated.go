package lanestest

import (
	"context"
	"time"

	"github.com/settleonce/settleonce/internal/lanes"
	"github.com/settleonce/settleonce/outbox"
)

// Method names a method of [lanes.Table].
type Method string

// The methods.
const (
	Join     Method = "Join"
	Renew    Method = "Renew"
	Take     Method = "Take"
	Give     Method = "Give"
	Leave    Method = "Leave"
	Read     Method = "Read"
	ReadOf   Method = "ReadOf"
	ReadAt   Method = "ReadAt"
	Heads    Method = "Heads"
	HeldBack Method = "HeldBack"
	Delete   Method = "Delete"
	Bury     Method = "Bury"
)

// Gated is a table with a test at its door.
type Gated struct {
	// Table gets the calls.
	Table lanes.Table
	// Around stands in for each call. It may wait, and it makes the call by
	// calling call, which returns the table's error, at most once. What it
	// returns is what the caller gets: nil only after call returned nil. So it
	// can leave a call out, lose its answer, or return before it lets the call
	// take effect late.
	Around func(ctx context.Context, method Method, call func(context.Context) error) error
}

var _ lanes.Table = (*Gated)(nil)

// pass makes one call through the gate.
func pass[T any](ctx context.Context, g *Gated, method Method, call func(context.Context) (T, error)) (T, error) {
	var none, answer T
	err := g.Around(ctx, method, func(ctx context.Context) error {
		got, err := call(ctx)
		answer = got
		return err
	})
	if err != nil {
		return none, err // The answer may come yet.
	}
	return answer, nil
}

// passPlain is pass for a call that answers with nothing but its error.
func passPlain(ctx context.Context, g *Gated, method Method, call func(context.Context) error) error {
	_, err := pass(ctx, g, method, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, call(ctx)
	})
	return err
}

// Join is [lanes.Table]'s.
func (g *Gated) Join(ctx context.Context, lease time.Duration) (lanes.Ticket, error) {
	return pass(ctx, g, Join, func(ctx context.Context) (lanes.Ticket, error) {
		return g.Table.Join(ctx, lease)
	})
}

// Renew is [lanes.Table]'s.
func (g *Gated) Renew(ctx context.Context, t lanes.Ticket, lease time.Duration) (lanes.Roster, error) {
	return pass(ctx, g, Renew, func(ctx context.Context) (lanes.Roster, error) {
		return g.Table.Renew(ctx, t, lease)
	})
}

// Take is [lanes.Table]'s.
func (g *Gated) Take(ctx context.Context, t lanes.Ticket, limit int) ([]lanes.Lane, error) {
	return pass(ctx, g, Take, func(ctx context.Context) ([]lanes.Lane, error) {
		return g.Table.Take(ctx, t, limit)
	})
}

// Give is [lanes.Table]'s.
func (g *Gated) Give(ctx context.Context, t lanes.Ticket, given []lanes.Lane) (lanes.Ticket, error) {
	return pass(ctx, g, Give, func(ctx context.Context) (lanes.Ticket, error) {
		return g.Table.Give(ctx, t, given)
	})
}

// Leave is [lanes.Table]'s.
func (g *Gated) Leave(ctx context.Context, t lanes.Ticket) error {
	return passPlain(ctx, g, Leave, func(ctx context.Context) error {
		return g.Table.Leave(ctx, t)
	})
}

// Read is [lanes.Table]'s.
func (g *Gated) Read(ctx context.Context, of []lanes.Lane, after int64, limit int, _ []lanes.Row) ([]lanes.Row, []uint64, error) {
	type answer struct {
		rows []lanes.Row
		open []uint64
	}
	got, err := pass(ctx, g, Read, func(ctx context.Context) (answer, error) {
		rows, open, err := g.Table.Read(ctx, of, after, limit, nil) // It may go on when the caller has given it up.
		return answer{rows, open}, err
	})
	return got.rows, got.open, err
}

// ReadOf is [lanes.Table]'s.
func (g *Gated) ReadOf(ctx context.Context, orderings []string, first, last int64, limit int) ([]lanes.Row, error) {
	return pass(ctx, g, ReadOf, func(ctx context.Context) ([]lanes.Row, error) {
		return g.Table.ReadOf(ctx, orderings, first, last, limit)
	})
}

// ReadAt is [lanes.Table]'s.
func (g *Gated) ReadAt(ctx context.Context, positions []int64) ([]lanes.Row, error) {
	return pass(ctx, g, ReadAt, func(ctx context.Context) ([]lanes.Row, error) {
		return g.Table.ReadAt(ctx, positions)
	})
}

// Heads is [lanes.Table]'s.
func (g *Gated) Heads(ctx context.Context, of []lanes.Lane, after, last int64, limit int) ([]lanes.Head, error) {
	return pass(ctx, g, Heads, func(ctx context.Context) ([]lanes.Head, error) {
		return g.Table.Heads(ctx, of, after, last, limit)
	})
}

// HeldBack is [lanes.Table]'s.
func (g *Gated) HeldBack(ctx context.Context, of []lanes.Lane) ([]string, error) {
	return pass(ctx, g, HeldBack, func(ctx context.Context) ([]string, error) {
		return g.Table.HeldBack(ctx, of)
	})
}

// Delete is [lanes.Table]'s.
func (g *Gated) Delete(ctx context.Context, t lanes.Ticket, positions []int64) error {
	return passPlain(ctx, g, Delete, func(ctx context.Context) error {
		return g.Table.Delete(ctx, t, positions)
	})
}

// Bury is [lanes.Table]'s.
func (g *Gated) Bury(ctx context.Context, t lanes.Ticket, position int64, why outbox.Refusal, holdBack bool) error {
	return passPlain(ctx, g, Bury, func(ctx context.Context) error {
		return g.Table.Bury(ctx, t, position, why, holdBack)
	})
}
