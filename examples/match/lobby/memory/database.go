// Package memory keeps the lobby's tables in memory, for tests and for a
// demonstration without a database. They die with the process.
//
// It is the world of a receipttest.Fake: the same callbacks run on it as on
// PostgreSQL. One settlement at a time takes the turn that stands for all row
// locks.
package memory

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/settleonce/settleonce/receipt/receipttest"

	"github.com/settleonce/settleonce/examples/match/elo"
	"github.com/settleonce/settleonce/examples/match/lobby"
)

// Database is the tables. Safe for concurrent use.
type Database struct {
	turn chan struct{} // holds one token: the lock of the settlements

	mu       sync.Mutex
	rooms    map[string]lobby.Room
	presence map[string]string // player to room
	idle     []string          // players in no room, longest first
	ratings  map[string]int
	tables   lobby.Tables // what is only ever added to
}

var (
	_ receipttest.World[lobby.Repository] = (*Database)(nil)
	_ lobby.Rooms                         = (*Database)(nil)
)

// New returns a database with players who are idle and new.
func New(players []string) *Database {
	db := &Database{
		turn: make(chan struct{}, 1), rooms: make(map[string]lobby.Room), presence: make(map[string]string),
		idle: slices.Clone(players), ratings: make(map[string]int),
	}
	for _, player := range players {
		db.ratings[player] = elo.Start
	}
	return db
}

// Begin opens a transaction, which takes its turn at its first lock.
func (d *Database) Begin() lobby.Repository { return &transaction{database: d} }

// Commit makes everything that was done through repository visible.
func (d *Database) Commit(repository lobby.Repository) error {
	tx := repository.(*transaction) // the only kind that Begin makes
	d.mu.Lock()
	for _, write := range tx.writes {
		write()
	}
	d.mu.Unlock()
	tx.end()
	return nil
}

// Rollback leaves nothing of what was done through repository.
func (d *Database) Rollback(repository lobby.Repository) {
	repository.(*transaction).end()
}

func (d *Database) takeTurn(ctx context.Context) error {
	select {
	case d.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("memory: %w", context.Cause(ctx))
	}
}

func (d *Database) endTurn() { <-d.turn }

// Open persists a room for idle players: those who have waited longest.
func (d *Database) Open(_ context.Context, id, node string, teamSize int) (lobby.Room, bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if room, open := d.rooms[id]; open {
		return room, true, nil
	}
	if d.settled(id) {
		return lobby.Room{}, false, lobby.ErrRoomSettled
	}
	if len(d.idle) < 2*teamSize {
		return lobby.Room{}, false, fmt.Errorf("%w: %d of %d", lobby.ErrTooFewPlayers, len(d.idle), 2*teamSize)
	}
	room := lobby.Room{
		ID: id, Node: node,
		TeamOne: slices.Clone(d.idle[:teamSize]), TeamTwo: slices.Clone(d.idle[teamSize : 2*teamSize]),
	}
	d.idle = slices.Clone(d.idle[2*teamSize:])
	for _, player := range room.Players() {
		d.presence[player] = id
	}
	d.rooms[id] = room
	return room, false, nil
}

// Ended notes that the battle has ended.
func (d *Database) Ended(_ context.Context, id string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if room, open := d.rooms[id]; open {
		room.Ended = true
		d.rooms[id] = room
	}
	return nil
}

// Release frees the players who are still in this room.
func (d *Database) Release(_ context.Context, id string) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.release(id, lobby.BySettlement), nil
}

// ReleaseEarly frees the players of a room whose settlement is pending.
func (d *Database) ReleaseEarly(ctx context.Context, id, operator, reason string) (int, error) {
	if err := d.takeTurn(ctx); err != nil {
		return 0, err
	}
	defer d.endTurn()
	d.mu.Lock()
	defer d.mu.Unlock()
	room, open := d.rooms[id]
	switch {
	case !open && d.settled(id):
		return 0, lobby.ErrRoomSettled
	case !open:
		return 0, fmt.Errorf("%w %s", lobby.ErrUnknownRoom, id)
	case !room.Ended:
		return 0, lobby.ErrNotPending
	}
	if d.earlyRelease(id) == nil {
		frozen := make(map[string]int)
		for _, player := range room.Players() {
			frozen[player] = d.ratings[player]
		}
		d.tables.EarlyReleases = append(d.tables.EarlyReleases, lobby.EarlyRelease{
			RoomID: id, Operator: operator, Reason: reason, At: time.Now().UTC(), Frozen: frozen,
		})
	}
	return d.release(id, operator), nil
}

// Status says what a client is shown.
func (d *Database) Status(_ context.Context, id string) (lobby.Status, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	room, open := d.rooms[id]
	switch {
	case open && !room.Ended:
		return lobby.InBattle, nil
	case open, slices.Contains(slices.Collect(maps.Values(d.presence)), id):
		return lobby.SettlementPending, nil
	case d.settled(id):
		return lobby.Done, nil
	default:
		return "", fmt.Errorf("%w %s", lobby.ErrUnknownRoom, id)
	}
}

// Settled returns how many matches are settled.
func (d *Database) Settled() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.tables.Matches)
}

// Tables returns a copy of everything. Events are the fake's, and are not
// among it.
func (d *Database) Tables(_ context.Context) (lobby.Tables, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	tables := d.tables
	tables.Matches = slices.Clone(tables.Matches)
	tables.PlayerResults = slices.Clone(tables.PlayerResults)
	tables.Replays = slices.Clone(tables.Replays)
	tables.Releases = slices.Clone(tables.Releases)
	tables.EarlyReleases = slices.Clone(tables.EarlyReleases)
	for _, id := range slices.Sorted(maps.Keys(d.rooms)) {
		tables.Rooms = append(tables.Rooms, d.rooms[id])
	}
	for _, player := range slices.Sorted(maps.Keys(d.ratings)) {
		tables.Ratings = append(tables.Ratings, lobby.Rating{Player: player, Initial: elo.Start, Current: d.ratings[player]})
	}
	tables.InBattle = slices.Sorted(maps.Keys(d.presence))
	return tables, nil
}

// The functions below are called with mu held.

func (d *Database) settled(id string) bool {
	return slices.ContainsFunc(d.tables.Matches, func(m lobby.Match) bool { return m.RoomID == id })
}

func (d *Database) earlyRelease(id string) *lobby.EarlyRelease {
	for _, released := range d.tables.EarlyReleases {
		if released.RoomID == id {
			return &released
		}
	}
	return nil
}

func (d *Database) release(id, by string) (freed int) {
	for _, player := range slices.Sorted(maps.Keys(d.presence)) {
		if d.presence[player] != id {
			continue
		}
		delete(d.presence, player)
		d.idle = append(d.idle, player)
		d.tables.Releases = append(d.tables.Releases, lobby.Release{RoomID: id, Player: player, By: by, Settled: d.settled(id)})
		freed++
	}
	return freed
}
