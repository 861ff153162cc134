package lanestest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/settleonce/settleonce/internal/lanes"
	"github.com/settleonce/settleonce/outbox/event"
)

// Transaction has put events that nobody sees yet.
type Transaction struct {
	memory    *Memory
	number    uint64
	orderings []string // whose locks it holds
	rows      []*lanes.Row
	// ready says that it holds the locks and has the positions.
	ready bool
}

// errCrashed is what a transaction gets that was under way at a crash.
var errCrashed = errors.New("lanestest: the table crashed")

// Begin starts a transaction and puts the events, in their order. It counts as
// open from the start; it waits for the transactions that are open and share an
// ordering key with it, as the real store's last flush does, and only then
// takes positions (I8). An error, which is about an event or says that ctx
// ended first, leaves nothing. The events remain the caller's. Without events
// it is a transaction that has nothing to do with the outbox.
func (m *Memory) Begin(ctx context.Context, events ...event.Event) (*Transaction, error) {
	tx := &Transaction{memory: m}
	for i := range events {
		if err := events[i].Validate(); err != nil {
			return nil, fmt.Errorf("lanestest: put event %d: %w", i, err)
		}
		tx.orderings = append(tx.orderings, events[i].Ordering())
	}
	slices.Sort(tx.orderings)
	tx.orderings = slices.Compact(tx.orderings)
	if m.cfg.NoOrderingLocks {
		tx.orderings = nil
	}
	m.start(tx)
	if err := m.ordering.lock(ctx, tx.orderings); err != nil {
		tx.Rollback()
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.open[tx.number] != tx {
		m.ordering.unlock(tx.orderings)
		return nil, errCrashed
	}
	for i := range events {
		tx.rows = append(tx.rows, m.newRow(&events[i]))
	}
	tx.ready = true
	return tx, nil
}

// start numbers a transaction.
func (m *Memory) start(tx *Transaction) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.number++
	tx.number = m.number
	m.open[tx.number] = tx
}

// newRow gives an event the next position. The caller holds mu.
func (m *Memory) newRow(e *event.Event) *lanes.Row {
	m.position++
	ordering := e.Ordering()
	row := &lanes.Row{
		Position:   m.position,
		Lane:       m.cfg.LaneOf(ordering),
		Ordering:   ordering,
		Event:      e.Clone(),
		RecordedAt: m.cfg.Now(),
	}
	row.Event.Position = row.Position
	return row
}

// Positions returns the positions of the events, in the order of Begin.
func (tx *Transaction) Positions() []int64 {
	positions := make([]int64, len(tx.rows))
	for i, row := range tx.rows {
		positions[i] = row.Position
	}
	return positions
}

// Commit makes the events visible, durably, all at once. It reports whether it
// did: false says that the transaction had ended before.
func (tx *Transaction) Commit() bool {
	tx.memory.mu.Lock()
	defer tx.memory.mu.Unlock()
	if !tx.memory.end(tx) {
		return false
	}
	for _, row := range tx.rows {
		tx.memory.insert(row)
	}
	tx.memory.undone = nil // This write reached the disk behind those before it.
	return true
}

// Rollback drops the events, and leaves a gap in the positions. After the end
// of the transaction it does nothing.
func (tx *Transaction) Rollback() {
	tx.memory.mu.Lock()
	defer tx.memory.mu.Unlock()
	tx.memory.end(tx)
}

// end reports whether the transaction was open. The caller holds mu; nobody
// who waits for an ordering lock does.
func (m *Memory) end(tx *Transaction) bool {
	if m.open[tx.number] != tx {
		return false
	}
	delete(m.open, tx.number)
	if tx.ready {
		m.ordering.unlock(tx.orderings)
	}
	return true
}

// Put is [Memory.Begin] and [Transaction.Commit]. It returns the positions.
func (m *Memory) Put(ctx context.Context, events ...event.Event) ([]int64, error) {
	tx, err := m.Begin(ctx, events...)
	if err != nil {
		return nil, err
	}
	tx.Commit()
	return tx.Positions(), nil
}
