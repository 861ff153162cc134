package lobby

import (
	"context"
	"errors"
)

// Errors of the repository and the rooms.
var (
	// ErrUnknownRoom is true where no such room is persisted.
	ErrUnknownRoom = errors.New("lobby: unknown room")
	// ErrRoomSettled is true for opening or releasing a room whose match is
	// settled already.
	ErrRoomSettled = errors.New("lobby: the room is settled")
	// ErrTooFewPlayers is true while not enough players are idle for a room.
	ErrTooFewPlayers = errors.New("lobby: too few idle players")
	// ErrNotPending is true for an early release of a room whose battle has
	// not ended.
	ErrNotPending = errors.New("lobby: the room's settlement is not pending")
)

// Repository is the unit of work of one settlement. Everything it reads and
// writes belongs to the transaction that also holds the receipt, so that all of
// it commits or none.
//
// A Repository belongs to one goroutine, and is used no longer than the
// callback that was given it.
type Repository interface {
	// Room locks and returns a persisted room, or [ErrUnknownRoom].
	Room(ctx context.Context, id string) (Room, error)
	// Ratings locks and returns the ratings of players. It locks in the
	// order of the players' names, whatever the order of the argument, so
	// that two settlements with players in common cannot deadlock.
	Ratings(ctx context.Context, players []string) (map[string]int, error)
	// EarlyRelease returns the early release of a room, nil where there was
	// none.
	EarlyRelease(ctx context.Context, roomID string) (*EarlyRelease, error)

	// InsertMatch writes how the match ended.
	InsertMatch(ctx context.Context, match Match) error
	// InsertPlayerResults writes what it did to each player.
	InsertPlayerResults(ctx context.Context, results []PlayerResult) error
	// ChangeRatings adds each result's change to the player's rating.
	ChangeRatings(ctx context.Context, results []PlayerResult) error
	// InsertReplay writes the replay row.
	InsertReplay(ctx context.Context, replay Replay) error
	// DeleteRoom deletes a persisted room with its roster.
	DeleteRoom(ctx context.Context, id string) error
}

// Rooms is what the lobby does outside of settlements: it makes rooms, and
// keeps track of where players are.
//
// Where players are is no part of a settlement's transaction. In most games it
// lives in memory or in a cache; whatever frees a player must therefore compare
// and clear.
//
// Safe for concurrent use.
type Rooms interface {
	// Open persists a room for idle players, who are in battle from then on.
	// A room that is open already is returned as it is, with true: a battle
	// node that lost the answer asks again. [ErrTooFewPlayers] is true where
	// it must wait, [ErrRoomSettled] where the room has been played.
	Open(ctx context.Context, id, node string, teamSize int) (room Room, existed bool, err error)
	// Ended notes that the battle has ended. It does nothing to a room that
	// is settled already.
	Ended(ctx context.Context, id string) error
	// Release frees the players who are still in this room, and no others,
	// and returns how many. Calling it again is safe at any time.
	Release(ctx context.Context, id string) (freed int, err error)
	// ReleaseEarly frees the players of a room whose settlement is pending
	// on an operator's word, and notes it with the ratings of that moment.
	ReleaseEarly(ctx context.Context, id, operator, reason string) (freed int, err error)
	// Status says what a client is shown.
	Status(ctx context.Context, id string) (Status, error)
	// Tables returns everything, for the audit.
	Tables(ctx context.Context) (Tables, error)
}

// Status is what clients are shown about a room.
type Status string

// The states of a room, as clients see them.
const (
	// InBattle: the battle is being fought.
	InBattle Status = "in_battle"
	// SettlementPending: the battle has ended, and the players stay in it
	// until its settlement has committed and they have been freed.
	SettlementPending Status = "settlement_pending"
	// Done: the match is settled and its players are free.
	Done Status = "done"
)
