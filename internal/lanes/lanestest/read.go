package lanestest

import (
	"context"
	"maps"
	"math"
	"slices"

	"github.com/settleonce/settleonce/internal/lanes"
)

// Read is [lanes.Table]'s.
func (m *Memory) Read(ctx context.Context, of []lanes.Lane, after int64, limit int, into []lanes.Row) ([]lanes.Row, []uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	rows, err := m.rows(ctx, "read", after+1, math.MaxInt64, limit, func(row *lanes.Row) bool {
		return slices.Contains(of, row.Lane)
	})
	if err != nil {
		return nil, nil, err
	}
	return append(into[:0], rows...), slices.Sorted(maps.Keys(m.open)), nil
}

// ReadOf is [lanes.Table]'s.
func (m *Memory) ReadOf(ctx context.Context, orderings []string, first, last int64, limit int) ([]lanes.Row, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.rows(ctx, "read of ordering keys", first, last, limit, func(row *lanes.Row) bool {
		return slices.Contains(orderings, row.Ordering)
	})
}

// ReadAt is [lanes.Table]'s.
func (m *Memory) ReadAt(ctx context.Context, positions []int64) ([]lanes.Row, error) {
	if len(positions) == 0 {
		return nil, nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.rows(ctx, "read at positions", slices.Min(positions), slices.Max(positions), len(positions), func(row *lanes.Row) bool {
		return slices.Contains(positions, row.Position)
	})
}

// Heads is [lanes.Table]'s.
func (m *Memory) Heads(ctx context.Context, of []lanes.Lane, after, last int64, limit int) ([]lanes.Head, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	rows, err := m.rows(ctx, "read heads", after+1, last, limit, func(row *lanes.Row) bool {
		return slices.Contains(of, row.Lane)
	})
	if err != nil {
		return nil, err
	}
	heads := make([]lanes.Head, len(rows))
	for i, row := range rows {
		heads[i] = lanes.Head{Position: row.Position, Lane: row.Lane, Ordering: row.Ordering}
	}
	return heads, nil
}

// rows returns copies of up to limit pending rows with positions from first to
// last, in their order. The caller holds mu.
func (m *Memory) rows(ctx context.Context, call string, first, last int64, limit int, wanted func(*lanes.Row) bool) ([]lanes.Row, error) {
	if err := ctx.Err(); err != nil {
		return nil, failed(call, err)
	}
	var found []*lanes.Row
	from, _ := m.find(first)
	for _, row := range m.pending[from:] {
		if len(found) == limit || row.Position > last {
			break
		}
		if wanted(row) {
			found = append(found, row)
		}
	}
	return cloneRows(found), nil
}

// HeldBack is [lanes.Table]'s.
func (m *Memory) HeldBack(ctx context.Context, of []lanes.Lane) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, failed("held back", err)
	}
	var held []string
	for _, letter := range m.dead {
		if letter.holdBack && slices.Contains(of, letter.row.Lane) {
			held = append(held, letter.row.Ordering)
		}
	}
	slices.Sort(held)
	return slices.Compact(held), nil
}
