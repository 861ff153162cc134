package pgstore

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/settleonce/settleonce/internal/lanes"
)

// Read implements [lanes.Table].
func (t *table) Read(ctx context.Context, of []lanes.Lane, after int64, limit int, into []lanes.Row) ([]lanes.Row, []uint64, error) {
	var snapshot string
	rows, err := t.rows(ctx, statement{
		opening: viewing, sql: t.sql.read, arguments: append(laneArguments(of), after, max(limit, 0)), snapshot: &snapshot,
	}, limit, into)
	if err != nil {
		return nil, nil, err
	}
	open, err := openTransactions(snapshot)
	if err != nil {
		return nil, nil, fmt.Errorf("pgstore: reading events: %w", err)
	}
	return rows, open, nil
}

// ReadOf implements [lanes.Table].
func (t *table) ReadOf(ctx context.Context, orderings []string, first, last int64, limit int) ([]lanes.Row, error) {
	if len(orderings) == 0 || limit <= 0 {
		return nil, nil
	}
	of := make([]lanes.Lane, len(orderings))
	for i, ordering := range orderings {
		of[i] = lanes.Lane(lane(ordering)) //nolint:gosec // one byte
	}
	return t.rows(ctx, statement{
		opening: fleeting, sql: t.sql.readOf, arguments: append(laneArguments(of), first, last, orderings, limit),
	}, limit, nil)
}

// ReadAt implements [lanes.Table].
func (t *table) ReadAt(ctx context.Context, positions []int64) ([]lanes.Row, error) {
	if len(positions) == 0 {
		return nil, nil
	}
	return t.rows(ctx, statement{opening: fleeting, sql: t.sql.readAt, arguments: []any{positions}}, len(positions), nil)
}

// Heads implements [lanes.Table].
func (t *table) Heads(ctx context.Context, of []lanes.Lane, after, last int64, limit int) ([]lanes.Head, error) {
	if len(of) == 0 || limit <= 0 {
		return nil, nil
	}
	var heads []lanes.Head
	err := t.run(ctx, statement{
		doing: "looking for events", opening: fleeting, sql: t.sql.heads,
		arguments: append(laneArguments(of), after, last, limit),
	}, func(rows pgx.Rows) (err error) {
		heads, err = pgx.CollectRows(rows, pgx.RowToStructByPos[lanes.Head])
		return err
	})
	return heads, err
}

// HeldBack implements [lanes.Table].
func (t *table) HeldBack(ctx context.Context, of []lanes.Lane) ([]string, error) {
	if len(of) == 0 {
		return nil, nil
	}
	var orderings []string
	err := t.run(ctx, statement{
		doing: "reading which ordering keys are held back", opening: fleeting, sql: t.sql.heldBack,
		arguments: []any{numbers(of)},
	}, func(rows pgx.Rows) (err error) {
		orderings, err = pgx.CollectRows(rows, pgx.RowTo[string])
		return err
	})
	return orderings, err
}

// laneArguments returns what inLanes takes: a bit for each lane, and bounds.
func laneArguments(of []lanes.Lane) []any {
	set := make([]byte, lanes.Count/8)
	if len(of) == 0 {
		return []any{set, int16(1), int16(0)}
	}
	for _, lane := range of {
		set[lane/8] |= 1 << (lane % 8)
	}
	return []any{set, int16(slices.Min(of)), int16(slices.Max(of))}
}

// rows runs a statement that returns so many events at most, and puts them into
// the place of what is in into, if that has room.
func (t *table) rows(ctx context.Context, s statement, most int, into []lanes.Row) ([]lanes.Row, error) {
	s.doing = "reading events"
	var found []lanes.Row
	err := t.run(ctx, s, func(rows pgx.Rows) (err error) {
		found, err = collectEvents(rows, most, into)
		return err
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}
