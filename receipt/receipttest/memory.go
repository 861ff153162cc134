package receipttest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
)

// ErrTxEnded is true for every use of a [MemoryTx] whose session has ended.
// Nothing was read or changed.
var ErrTxEnded = errors.New("receipttest: the transaction has ended")

// Memory is the simple [World]: a map from text to V.
//
// A transaction sees the map as it was when the transaction began, and its own
// writes. It commits only if nothing that it read has changed since, so the
// committed transactions are serializable; otherwise Commit returns
// [ErrSerialization]. There are no row locks: of several transactions that
// change one hot entry at the same time one commits and the others run again.
//
// Values are copied by assignment. A V with pointers or slices in it must be
// treated as immutable. The zero Memory is empty and ready. Safe for
// concurrent use; must not be copied.
type Memory[V any] struct {
	mu sync.Mutex
	// entries is never changed, only replaced: open transactions share it.
	entries map[string]entry[V]
	// version counts the commits that wrote.
	version uint64
}

// entry is a committed value and the version that wrote it, which is never 0.
type entry[V any] struct {
	value   V
	version uint64
}

var _ World[*MemoryTx[int]] = (*Memory[int])(nil)

// Get returns the committed value of key, and whether there is one.
func (m *Memory[V]) Get(key string) (value V, found bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	stored, found := m.entries[key]
	return stored.value, found
}

// All returns a copy of everything committed.
func (m *Memory[V]) All() map[string]V {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := make(map[string]V, len(m.entries))
	for key, stored := range m.entries {
		all[key] = stored.value
	}
	return all
}

// Begin opens a transaction on the map as it is now.
func (m *Memory[V]) Begin() *MemoryTx[V] {
	m.mu.Lock()
	defer m.mu.Unlock()
	return &MemoryTx[V]{
		memory:   m,
		snapshot: m.entries,
		version:  m.version,
		seen:     make(map[string]uint64),
		writes:   make(map[string]*V),
	}
}

// Commit applies what tx wrote. errors.Is(err, [ErrSerialization]) is true
// where another commit changed what tx read, and nothing was applied then.
func (m *Memory[V]) Commit(tx *MemoryTx[V]) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if tx.ended {
		return ErrTxEnded
	}
	tx.ended = true
	if err := m.checkReads(tx); err != nil {
		return err
	}
	m.apply(tx.writes)
	return nil
}

func (m *Memory[V]) checkReads(tx *MemoryTx[V]) error {
	if tx.listed && tx.version != m.version {
		return fmt.Errorf("%w: entries changed after the transaction listed them", ErrSerialization)
	}
	for key, version := range tx.seen {
		if m.entries[key].version != version {
			return fmt.Errorf("%w: %q changed after the transaction read it", ErrSerialization, key)
		}
	}
	return nil
}

func (m *Memory[V]) apply(writes map[string]*V) {
	if len(writes) == 0 {
		return
	}
	m.version++
	entries := maps.Clone(m.entries)
	if entries == nil {
		entries = make(map[string]entry[V])
	}
	for key, value := range writes {
		if value == nil {
			delete(entries, key)
			continue
		}
		entries[key] = entry[V]{*value, m.version}
	}
	m.entries = entries
}

// Rollback drops what tx wrote.
func (m *Memory[V]) Rollback(tx *MemoryTx[V]) {
	m.mu.Lock()
	defer m.mu.Unlock()
	tx.ended = true
}

// MemoryTx is a transaction on a [Memory]. It has no Commit and no Rollback:
// the session ends it. It belongs to one goroutine.
type MemoryTx[V any] struct {
	memory   *Memory[V]
	snapshot map[string]entry[V]
	version  uint64 // of the snapshot
	// seen holds the version of each entry that was read, 0 where there was
	// none.
	seen   map[string]uint64
	listed bool
	writes map[string]*V // nil: deleted
	ended  bool
}

// Get returns the value of key, and whether there is one.
func (tx *MemoryTx[V]) Get(key string) (value V, found bool, err error) {
	tx.memory.mu.Lock()
	defer tx.memory.mu.Unlock()
	if tx.ended {
		return value, false, ErrTxEnded
	}
	if written, ok := tx.writes[key]; ok {
		if written == nil {
			return value, false, nil
		}
		return *written, true, nil
	}
	stored, found := tx.snapshot[key]
	tx.seen[key] = stored.version
	return stored.value, found, nil
}

// Set gives key a value.
func (tx *MemoryTx[V]) Set(key string, value V) error { return tx.write(key, &value) }

// Delete removes key, if it is there.
func (tx *MemoryTx[V]) Delete(key string) error { return tx.write(key, nil) }

func (tx *MemoryTx[V]) write(key string, value *V) error {
	tx.memory.mu.Lock()
	defer tx.memory.mu.Unlock()
	if tx.ended {
		return ErrTxEnded
	}
	tx.writes[key] = value
	return nil
}

// Keys returns the keys that have a value, sorted. Any commit of another
// transaction that writes, after this one began, is then a conflict.
func (tx *MemoryTx[V]) Keys() ([]string, error) {
	tx.memory.mu.Lock()
	defer tx.memory.mu.Unlock()
	if tx.ended {
		return nil, ErrTxEnded
	}
	tx.listed = true
	present := make(map[string]bool, len(tx.snapshot))
	for key := range tx.snapshot {
		present[key] = true
	}
	for key, value := range tx.writes {
		present[key] = value != nil
	}
	maps.DeleteFunc(present, func(_ string, there bool) bool { return !there })
	return slices.Sorted(maps.Keys(present)), nil
}
