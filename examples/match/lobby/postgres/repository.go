package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/settleonce/settleonce/pgstore"

	"github.com/settleonce/settleonce/examples/match/lobby"
)

// Repository is a settlement's unit of work, in a transaction of pgstore. What
// it reads takes a round trip each; what it writes travels with the commit.
type Repository struct{ tx pgx.Tx }

var _ lobby.Repository = Repository{}

// NewRepository wraps tx. It is what receipt.Map wants.
func NewRepository(tx pgx.Tx) lobby.Repository { return Repository{tx} }

// Room locks and returns a persisted room.
func (r Repository) Room(ctx context.Context, id string) (lobby.Room, error) {
	return selectRoom(ctx, r.tx, id)
}

func selectRoom(ctx context.Context, tx pgx.Tx, id string) (lobby.Room, error) {
	room := lobby.Room{ID: id}
	err := tx.QueryRow(ctx, `SELECT node, ended FROM rooms WHERE room_id = $1 FOR UPDATE`, id).Scan(&room.Node, &room.Ended)
	if errors.Is(err, pgx.ErrNoRows) {
		return lobby.Room{}, fmt.Errorf("%w %s", lobby.ErrUnknownRoom, id)
	}
	if err != nil {
		return lobby.Room{}, fmt.Errorf("postgres: room %s: %w", id, err)
	}
	rows, err := tx.Query(ctx, `SELECT team, player FROM room_seats WHERE room_id = $1 ORDER BY seat`, id)
	if err != nil {
		return lobby.Room{}, fmt.Errorf("postgres: roster of %s: %w", id, err)
	}
	var team int
	var player string
	_, err = pgx.ForEachRow(rows, []any{&team, &player}, func() error {
		if team == 1 {
			room.TeamOne = append(room.TeamOne, player)
		} else {
			room.TeamTwo = append(room.TeamTwo, player)
		}
		return nil
	})
	if err != nil {
		return lobby.Room{}, fmt.Errorf("postgres: roster of %s: %w", id, err)
	}
	return room, nil
}

// Ratings locks and returns the ratings of players.
func (r Repository) Ratings(ctx context.Context, players []string) (map[string]int, error) {
	rows, err := r.tx.Query(ctx, `SELECT player, rating FROM ratings WHERE player = ANY($1) ORDER BY player FOR UPDATE`, players)
	if err != nil {
		return nil, fmt.Errorf("postgres: ratings: %w", err)
	}
	ratings, err := collectRatings(rows)
	if err != nil {
		return nil, err
	}
	if len(ratings) != len(players) {
		return nil, fmt.Errorf("postgres: ratings: found %d of the players %q", len(ratings), players)
	}
	return ratings, nil
}

func collectRatings(rows pgx.Rows) (map[string]int, error) {
	ratings := make(map[string]int)
	var player string
	var rating int
	_, err := pgx.ForEachRow(rows, []any{&player, &rating}, func() error {
		ratings[player] = rating
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("postgres: ratings: %w", err)
	}
	return ratings, nil
}

// EarlyRelease returns the early release of a room, nil where there was none.
func (r Repository) EarlyRelease(ctx context.Context, roomID string) (*lobby.EarlyRelease, error) {
	rows, err := r.tx.Query(ctx, `
		SELECT e.operator, e.reason, e.released_at, f.player, f.rating
		FROM early_releases e JOIN early_release_ratings f USING (room_id)
		WHERE room_id = $1`, roomID)
	if err != nil {
		return nil, fmt.Errorf("postgres: early release of %s: %w", roomID, err)
	}
	found := lobby.EarlyRelease{RoomID: roomID, Frozen: make(map[string]int)}
	var player string
	var rating int
	_, err = pgx.ForEachRow(rows, []any{&found.Operator, &found.Reason, &found.At, &player, &rating}, func() error {
		found.Frozen[player] = rating
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("postgres: early release of %s: %w", roomID, err)
	}
	if len(found.Frozen) == 0 {
		return nil, nil
	}
	return &found, nil
}

// InsertMatch writes the match row.
func (r Repository) InsertMatch(ctx context.Context, m lobby.Match) error {
	return r.write(ctx, `INSERT INTO matches (room_id, winner, suspect, aborted, reason) VALUES ($1, $2, $3, $4, $5)`,
		m.RoomID, int(m.Decision.Winner), m.Decision.Suspect, m.Decision.Aborted, m.Reason)
}

// InsertPlayerResults writes what the match did to each player.
func (r Repository) InsertPlayerResults(ctx context.Context, results []lobby.PlayerResult) error {
	for _, result := range results {
		err := r.write(ctx, `INSERT INTO match_players (room_id, player, team, rated, change) VALUES ($1, $2, $3, $4, $5)`,
			result.RoomID, result.Player, result.Team, result.Rated, result.Change)
		if err != nil {
			return err
		}
	}
	return nil
}

// ChangeRatings adds each result's change to the player's rating.
func (r Repository) ChangeRatings(ctx context.Context, results []lobby.PlayerResult) error {
	for _, result := range results {
		err := r.write(ctx, `UPDATE ratings SET rating = rating + $2 WHERE player = $1`, result.Player, result.Change)
		if err != nil {
			return err
		}
	}
	return nil
}

// InsertReplay writes the replay row.
func (r Repository) InsertReplay(ctx context.Context, replay lobby.Replay) error {
	return r.write(ctx, `INSERT INTO replays (room_id, path) VALUES ($1, $2)`, replay.RoomID, replay.Path)
}

// DeleteRoom deletes a persisted room; its roster goes with it.
func (r Repository) DeleteRoom(ctx context.Context, id string) error {
	return r.write(ctx, `DELETE FROM rooms WHERE room_id = $1`, id)
}

// write has a statement travel with the commit, since nobody waits for what it
// says. It must change exactly one row, or nothing is committed.
func (r Repository) write(ctx context.Context, statement string, arguments ...any) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("postgres: %w", err) // Defer sends nothing, so it would not notice
	}
	if err := pgstore.Defer(r.tx, 1, statement, arguments...); err != nil { //nolint:contextcheck // Defer takes none
		return fmt.Errorf("postgres: %w", err)
	}
	return nil
}
