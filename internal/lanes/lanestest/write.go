package lanestest

import (
	"context"
	"slices"

	"github.com/settleonce/settleonce/internal/lanes"
	"github.com/settleonce/settleonce/outbox"
)

// Delete is [lanes.Table]'s. A [Memory.Crash] undoes it, until the next durable
// write.
func (m *Memory) Delete(ctx context.Context, t lanes.Ticket, positions []int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, err := m.admit(ctx, "delete", t); err != nil {
		return err
	}
	for _, position := range positions {
		if row, found := m.takeOut(t, position, false); found {
			m.undone = append(m.undone, row)
		}
	}
	return nil
}

// Bury is [lanes.Table]'s.
func (m *Memory) Bury(ctx context.Context, t lanes.Ticket, position int64, why outbox.Refusal, holdBack bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, err := m.admit(ctx, "bury", t); err != nil {
		return err
	}
	row, found := m.takeOut(t, position, true)
	if !found {
		return nil
	}
	i, _ := m.findDead(position)
	m.dead = slices.Insert(m.dead, i, deadRow{row: row, why: why, at: m.cfg.Now(), holdBack: holdBack})
	m.undone = nil // This write reached the disk behind those before it.
	return nil
}

// takeOut ends that a row is pending. The caller holds mu.
func (m *Memory) takeOut(by lanes.Ticket, position int64, buried bool) (*lanes.Row, bool) {
	i, found := m.find(position)
	if !found {
		return nil, false
	}
	row := m.pending[i]
	m.pending = slices.Delete(m.pending, i, i+1)
	if m.cfg.Written != nil {
		m.cfg.Written(Write{Position: position, Lane: row.Lane, Buried: buried, By: by, Holder: m.holders[row.Lane]})
	}
	return row, true
}
