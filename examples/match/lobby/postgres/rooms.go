package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/settleonce/settleonce/examples/match/lobby"
)

// Rooms makes rooms and keeps track of players, in PostgreSQL.
type Rooms struct{ pool *pgxpool.Pool }

var _ lobby.Rooms = Rooms{}

// NewRooms uses a pool of [Connect].
func NewRooms(pool *pgxpool.Pool) Rooms { return Rooms{pool} }

// Open persists a room for idle players: those who have waited longest.
func (r Rooms) Open(ctx context.Context, id, node string, teamSize int) (room lobby.Room, existed bool, err error) {
	err = pgx.BeginFunc(ctx, r.pool, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `INSERT INTO rooms (room_id, node) VALUES ($1, $2) ON CONFLICT DO NOTHING`, id, node)
		if err != nil {
			return err
		}
		// Asked after the insert, which has waited for a settlement that is
		// deleting the room.
		if err := refuseSettled(ctx, tx, id); err != nil {
			return err
		}
		if existed = tag.RowsAffected() == 0; !existed {
			if err := seatIdlePlayers(ctx, tx, id, teamSize); err != nil {
				return err
			}
		}
		room, err = selectRoom(ctx, tx, id)
		return err
	})
	if err != nil {
		return lobby.Room{}, false, fmt.Errorf("postgres: open room %s: %w", id, err)
	}
	return room, existed, nil
}

func refuseSettled(ctx context.Context, tx pgx.Tx, id string) error {
	var settled bool
	if err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM matches WHERE room_id = $1)`, id).Scan(&settled); err != nil {
		return err
	}
	if settled {
		return lobby.ErrRoomSettled
	}
	return nil
}

func seatIdlePlayers(ctx context.Context, tx pgx.Tx, id string, teamSize int) error {
	rows, err := tx.Query(ctx, `
		SELECT player FROM presence WHERE room_id IS NULL
		ORDER BY since, player LIMIT $1 FOR UPDATE SKIP LOCKED`, 2*teamSize)
	if err != nil {
		return err
	}
	players, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	if len(players) < 2*teamSize {
		return fmt.Errorf("%w: %d of %d", lobby.ErrTooFewPlayers, len(players), 2*teamSize)
	}
	_, err = tx.Exec(ctx, `
		INSERT INTO room_seats (room_id, seat, team, player)
		SELECT $1, seat, CASE WHEN seat <= $3 THEN 1 ELSE 2 END, player
		FROM unnest($2::text[]) WITH ORDINALITY AS seated (player, seat)`, id, players, teamSize)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `UPDATE presence SET room_id = $1, since = clock_timestamp() WHERE player = ANY($2)`, id, players)
	return err
}

// Ended notes that the battle has ended.
func (r Rooms) Ended(ctx context.Context, id string) error {
	if _, err := r.pool.Exec(ctx, `UPDATE rooms SET ended = true WHERE room_id = $1`, id); err != nil {
		return fmt.Errorf("postgres: room %s: %w", id, err)
	}
	return nil
}

// Release frees the players who are still in this room. Whether the match had
// committed is what the same statement sees.
func (r Rooms) Release(ctx context.Context, id string) (freed int, err error) {
	freed, err = release(ctx, r.pool, id, lobby.BySettlement)
	if err != nil {
		return 0, fmt.Errorf("postgres: release room %s: %w", id, err)
	}
	return freed, nil
}

// executor is a pool or a transaction.
type executor interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// release locks in the order of names, so that duplicates of one receipt cannot
// deadlock each other.
func release(ctx context.Context, on executor, id, by string) (int, error) {
	rows, err := on.Query(ctx, `
		WITH leaving AS (
			SELECT player FROM presence WHERE room_id = $1 ORDER BY player FOR UPDATE
		), freed AS (
			UPDATE presence SET room_id = NULL, since = clock_timestamp()
			WHERE room_id = $1 AND player IN (SELECT player FROM leaving)
			RETURNING player
		)
		INSERT INTO releases (room_id, player, released_by, settled)
		SELECT $1, player, $2, EXISTS (SELECT FROM matches WHERE room_id = $1) FROM freed
		RETURNING player`, id, by)
	if err != nil {
		return 0, err
	}
	freed, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return len(freed), err
}

// ReleaseEarly frees the players of a room whose settlement is pending. It
// holds the room against a settlement that comes at the same moment.
func (r Rooms) ReleaseEarly(ctx context.Context, id, operator, reason string) (freed int, err error) {
	err = pgx.BeginFunc(ctx, r.pool, func(tx pgx.Tx) error {
		room, err := selectRoom(ctx, tx, id)
		if errors.Is(err, lobby.ErrUnknownRoom) {
			if settled := refuseSettled(ctx, tx, id); settled != nil {
				return settled
			}
		}
		if err != nil {
			return err
		}
		if !room.Ended {
			return lobby.ErrNotPending
		}
		tag, err := tx.Exec(ctx, `
			INSERT INTO early_releases (room_id, operator, reason) VALUES ($1, $2, $3)
			ON CONFLICT DO NOTHING`, id, operator, reason)
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 1 {
			_, err = tx.Exec(ctx, `
				INSERT INTO early_release_ratings (room_id, player, rating)
				SELECT $1, player, rating FROM ratings WHERE player = ANY($2)`, id, room.Players())
			if err != nil {
				return err
			}
		}
		freed, err = release(ctx, tx, id, operator)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("postgres: release room %s early: %w", id, err)
	}
	return freed, nil
}

// Status says what a client is shown.
func (r Rooms) Status(ctx context.Context, id string) (lobby.Status, error) {
	var open, ended, occupied, settled bool
	err := r.pool.QueryRow(ctx, `
		SELECT EXISTS (SELECT FROM rooms WHERE room_id = $1),
			EXISTS (SELECT FROM rooms WHERE room_id = $1 AND ended),
			EXISTS (SELECT FROM presence WHERE room_id = $1),
			EXISTS (SELECT FROM matches WHERE room_id = $1)`, id).Scan(&open, &ended, &occupied, &settled)
	if err != nil {
		return "", fmt.Errorf("postgres: room %s: %w", id, err)
	}
	switch {
	case open && !ended:
		return lobby.InBattle, nil
	case open, occupied:
		return lobby.SettlementPending, nil
	case settled:
		return lobby.Done, nil
	default:
		return "", fmt.Errorf("%w %s", lobby.ErrUnknownRoom, id)
	}
}
