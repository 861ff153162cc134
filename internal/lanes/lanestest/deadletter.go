package lanestest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/settleonce/settleonce/outbox"
)

// DeadLetters is [outbox.DeadLetters]'. The size is that of the event's data.
func (m *Memory) DeadLetters(ctx context.Context, after string, limit int) ([]outbox.DeadLetter, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, failed("dead letters", err)
	}
	var last int64
	if after != "" {
		var err error
		if last, err = strconv.ParseInt(after, 10, 64); err != nil {
			return nil, failed("dead letters", fmt.Errorf("after is no ID: %w", err))
		}
	}
	var letters []outbox.DeadLetter
	for i := range m.dead {
		if m.dead[i].row.Position > last && len(letters) < limit {
			letters = append(letters, m.dead[i].letter())
		}
	}
	return letters, nil
}

func (d *deadRow) letter() outbox.DeadLetter {
	e := d.row.Event.Clone()
	return outbox.DeadLetter{
		ID:        strconv.FormatInt(d.row.Position, 10),
		Event:     &e,
		Size:      int64(len(e.Data)),
		Time:      d.at,
		Reason:    d.why.Reason,
		Attempts:  d.why.Attempts,
		HoldsBack: d.holdBack,
	}
}

// Requeue is [outbox.DeadLetters]'.
func (m *Memory) Requeue(ctx context.Context, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	letter, err := m.exhume(ctx, "requeue", id)
	if err != nil {
		return err
	}
	m.insert(letter.row)
	return nil
}

// Discard is [outbox.DeadLetters]'.
func (m *Memory) Discard(ctx context.Context, id, reason string) error {
	if reason == "" {
		return failed("discard", errors.New("reason must not be empty"))
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	letter, err := m.exhume(ctx, "discard", id)
	if err != nil {
		return err
	}
	m.ended = append(m.ended, letter)
	return nil
}

// Discarded returns the positions of the dead letters that were discarded, in
// the order in which they were.
func (m *Memory) Discarded() []int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	positions := make([]int64, len(m.ended))
	for i := range m.ended {
		positions[i] = m.ended[i].row.Position
	}
	return positions
}

// exhume ends that a row is a dead letter, durably. The caller holds mu.
func (m *Memory) exhume(ctx context.Context, call, id string) (deadRow, error) {
	if err := ctx.Err(); err != nil {
		return deadRow{}, failed(call, err)
	}
	position, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return deadRow{}, failed(call, outbox.ErrNoDeadLetter)
	}
	i, found := m.findDead(position)
	if !found {
		return deadRow{}, failed(call, outbox.ErrNoDeadLetter)
	}
	letter := m.dead[i]
	m.dead = slices.Delete(m.dead, i, i+1)
	m.requeued++
	m.undone = nil // This write reached the disk behind those before it.
	return letter, nil
}

// findDead returns where a position is among the dead letters, or would be.
// The caller holds mu.
func (m *Memory) findDead(position int64) (int, bool) {
	return slices.BinarySearchFunc(m.dead, position, func(letter deadRow, position int64) int {
		return cmp.Compare(letter.row.Position, position)
	})
}
