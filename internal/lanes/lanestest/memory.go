package lanestest

import (
	"cmp"
	"hash/fnv"
	"slices"
	"sync"
	"time"

	"github.com/settleonce/settleonce/internal/lanes"
	"github.com/settleonce/settleonce/outbox"
)

// MemoryConfig configures [NewMemory]. The zero value is ready.
type MemoryConfig struct {
	// Now is the table's clock. Nil means time.Now.
	Now func() time.Time
	// LaneOf says which lane an ordering key is in. Nil means by a hash.
	LaneOf func(ordering string) lanes.Lane
	// Written is told of every event that was deleted or made a dead letter,
	// while the table is locked: it must not call the table. Nil: nobody is.
	Written func(Write)
	// NoOrderingLocks leaves out what makes positions of one ordering key rise
	// with its commits. It is there for tests that must notice.
	NoOrderingLocks bool
}

// Write is one event that a relay took out of those that are pending.
type Write struct {
	Position int64
	Lane     lanes.Lane
	// Buried tells a dead letter from a deletion.
	Buried bool
	// By is the ticket that the relay showed, and Holder the member that held
	// the lane at that moment. Zero: none did.
	By     lanes.Ticket
	Holder int64
}

// Memory is a [lanes.Table] in memory, with the other ends of it: transactions
// that put events ([Memory.Begin]), an operator's view of the dead letters
// ([outbox.DeadLetters], whose IDs are decimal positions), and what a test
// wants to look at.
//
// Safe for concurrent use.
type Memory struct {
	cfg      MemoryConfig
	ordering orderingLocks

	mu       sync.Mutex
	position int64  // the last one taken
	number   uint64 // the last transaction's
	open     map[uint64]*Transaction
	pending  []*lanes.Row // visible, by position; a row never changes
	dead     []deadRow    // by position
	ended    []deadRow    // discarded
	requeued int64
	undone   []*lanes.Row // deleted since the last durable write

	members  map[int64]*member
	memberID int64 // the last one given
	holders  [lanes.Count]int64
}

// member is a relay's membership.
type member struct {
	epoch   int64
	expires time.Time
}

// deadRow is a dead letter.
type deadRow struct {
	row      *lanes.Row
	why      outbox.Refusal
	at       time.Time
	holdBack bool
}

var (
	_ lanes.Table        = (*Memory)(nil)
	_ outbox.DeadLetters = (*Memory)(nil)
)

// NewMemory returns an empty table.
func NewMemory(cfg MemoryConfig) *Memory {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.LaneOf == nil {
		cfg.LaneOf = hashLane
	}
	return &Memory{
		cfg:     cfg,
		open:    make(map[uint64]*Transaction),
		members: make(map[int64]*member),
	}
}

func hashLane(ordering string) lanes.Lane {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(ordering)) // A hash takes every byte.
	return lanes.Lane(hash.Sum32() % lanes.Count)
}

// LaneOf returns the lane that an ordering key is in.
func (m *Memory) LaneOf(ordering string) lanes.Lane { return m.cfg.LaneOf(ordering) }

// HolderOf returns the id of the member that holds a lane, and zero for none.
func (m *Memory) HolderOf(lane lanes.Lane) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.holders[lane]
}

// Pending returns the events that are committed and neither deleted nor dead
// letters, by position.
func (m *Memory) Pending() []lanes.Row {
	m.mu.Lock()
	defer m.mu.Unlock()
	return cloneRows(m.pending)
}

// Expire makes the time of a membership be up. Somebody must still notice.
func (m *Memory) Expire(id int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if found := m.members[id]; found != nil {
		found.expires = m.cfg.Now()
	}
}

// Crash does to the table what a crash of a database does that commits
// deletions without waiting for its disk: the deletions since the last durable
// write are undone, and so are all transactions that are open. It returns the
// positions that came back.
func (m *Memory) Crash() []int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	var back []int64
	for _, row := range m.undone {
		m.insert(row)
		back = append(back, row.Position)
	}
	m.undone = nil
	for _, tx := range m.open {
		m.end(tx)
	}
	return back
}

// insert makes a row visible. The caller holds mu.
func (m *Memory) insert(row *lanes.Row) {
	i, found := m.find(row.Position)
	if !found {
		m.pending = slices.Insert(m.pending, i, row)
	}
}

// find returns where a position is, or would be. The caller holds mu.
func (m *Memory) find(position int64) (int, bool) {
	return slices.BinarySearchFunc(m.pending, position, func(row *lanes.Row, position int64) int {
		return cmp.Compare(row.Position, position)
	})
}

// cloneRows returns rows that belong to the caller.
func cloneRows(rows []*lanes.Row) []lanes.Row {
	var clones []lanes.Row
	for _, row := range rows {
		clone := *row
		clone.Event = row.Event.Clone()
		clones = append(clones, clone)
	}
	return clones
}
