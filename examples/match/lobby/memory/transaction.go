package memory

import (
	"context"
	"errors"
	"fmt"

	"github.com/settleonce/settleonce/examples/match/lobby"
)

var errEnded = errors.New("memory: the transaction has ended")

// transaction holds its writes back until it commits.
type transaction struct {
	database *Database
	writes   []func()
	hasTurn  bool
	ended    bool
}

var _ lobby.Repository = (*transaction)(nil)

func (t *transaction) end() {
	t.ended = true
	t.writes = nil
	if t.hasTurn {
		t.hasTurn = false
		t.database.endTurn()
	}
}

// lock takes the turn, if the transaction does not have it, for what it is
// about to read.
func (t *transaction) lock(ctx context.Context) error {
	if t.ended {
		return errEnded
	}
	if t.hasTurn {
		return nil
	}
	if err := t.database.takeTurn(ctx); err != nil {
		return err
	}
	t.hasTurn = true
	return nil
}

func (t *transaction) write(f func()) error {
	if t.ended {
		return errEnded
	}
	t.writes = append(t.writes, f)
	return nil
}

func (t *transaction) Room(ctx context.Context, id string) (lobby.Room, error) {
	if err := t.lock(ctx); err != nil {
		return lobby.Room{}, err
	}
	t.database.mu.Lock()
	defer t.database.mu.Unlock()
	room, open := t.database.rooms[id]
	if !open {
		return lobby.Room{}, fmt.Errorf("%w %s", lobby.ErrUnknownRoom, id)
	}
	return room, nil
}

func (t *transaction) Ratings(ctx context.Context, players []string) (map[string]int, error) {
	if err := t.lock(ctx); err != nil {
		return nil, err
	}
	t.database.mu.Lock()
	defer t.database.mu.Unlock()
	ratings := make(map[string]int)
	for _, player := range players {
		rating, known := t.database.ratings[player]
		if !known {
			return nil, fmt.Errorf("memory: ratings: no player %q", player)
		}
		ratings[player] = rating
	}
	return ratings, nil
}

func (t *transaction) EarlyRelease(ctx context.Context, roomID string) (*lobby.EarlyRelease, error) {
	if err := t.lock(ctx); err != nil {
		return nil, err
	}
	t.database.mu.Lock()
	defer t.database.mu.Unlock()
	return t.database.earlyRelease(roomID), nil
}

func (t *transaction) InsertMatch(_ context.Context, match lobby.Match) error {
	tables := &t.database.tables
	return t.write(func() { tables.Matches = append(tables.Matches, match) })
}

func (t *transaction) InsertPlayerResults(_ context.Context, results []lobby.PlayerResult) error {
	tables := &t.database.tables
	return t.write(func() { tables.PlayerResults = append(tables.PlayerResults, results...) })
}

func (t *transaction) ChangeRatings(_ context.Context, results []lobby.PlayerResult) error {
	return t.write(func() {
		for _, result := range results {
			t.database.ratings[result.Player] += result.Change
		}
	})
}

func (t *transaction) InsertReplay(_ context.Context, replay lobby.Replay) error {
	tables := &t.database.tables
	return t.write(func() { tables.Replays = append(tables.Replays, replay) })
}

func (t *transaction) DeleteRoom(_ context.Context, id string) error {
	return t.write(func() { delete(t.database.rooms, id) })
}
