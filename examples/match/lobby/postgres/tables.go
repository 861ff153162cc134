package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/settleonce/settleonce/examples/match/lobby"
)

// Tables reads everything in one snapshot. Events are the store's, see
// pgstore, and are not among it.
func (r Rooms) Tables(ctx context.Context) (tables lobby.Tables, err error) {
	snapshot := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	err = pgx.BeginTxFunc(ctx, r.pool, snapshot, func(tx pgx.Tx) error {
		return readTables(ctx, tx, &tables)
	})
	if err != nil {
		return lobby.Tables{}, fmt.Errorf("postgres: tables: %w", err)
	}
	return tables, nil
}

func readTables(ctx context.Context, tx pgx.Tx, tables *lobby.Tables) (err error) {
	if tables.Rooms, err = readRooms(ctx, tx); err != nil {
		return err
	}
	tables.Matches, err = readAll(ctx, tx, `SELECT room_id, winner, suspect, aborted, reason FROM matches`,
		func(m *lobby.Match) []any {
			return []any{&m.RoomID, (*int)(&m.Decision.Winner), &m.Decision.Suspect, &m.Decision.Aborted, &m.Reason}
		})
	if err != nil {
		return err
	}
	tables.PlayerResults, err = readAll(ctx, tx, `SELECT room_id, player, team, rated, change FROM match_players`,
		func(p *lobby.PlayerResult) []any {
			return []any{&p.RoomID, &p.Player, &p.Team, &p.Rated, &p.Change}
		})
	if err != nil {
		return err
	}
	tables.Replays, err = readAll(ctx, tx, `SELECT room_id, path FROM replays`,
		func(p *lobby.Replay) []any { return []any{&p.RoomID, &p.Path} })
	if err != nil {
		return err
	}
	tables.Ratings, err = readAll(ctx, tx, `SELECT player, initial, rating FROM ratings`,
		func(p *lobby.Rating) []any { return []any{&p.Player, &p.Initial, &p.Current} })
	if err != nil {
		return err
	}
	tables.Releases, err = readAll(ctx, tx, `SELECT room_id, player, released_by, settled FROM releases`,
		func(p *lobby.Release) []any { return []any{&p.RoomID, &p.Player, &p.By, &p.Settled} })
	if err != nil {
		return err
	}
	tables.InBattle, err = readAll(ctx, tx, `SELECT player FROM presence WHERE room_id IS NOT NULL ORDER BY player`,
		func(player *string) []any { return []any{player} })
	if err != nil {
		return err
	}
	return readEarlyReleases(ctx, tx, tables)
}

func readRooms(ctx context.Context, tx pgx.Tx) ([]lobby.Room, error) {
	ids, err := readAll(ctx, tx, `SELECT room_id FROM rooms ORDER BY room_id`, func(id *string) []any { return []any{id} })
	if err != nil {
		return nil, err
	}
	var rooms []lobby.Room
	for _, id := range ids {
		room := lobby.Room{ID: id}
		err := tx.QueryRow(ctx, `
			SELECT node, ended, array(SELECT player FROM room_seats WHERE room_id = $1 AND team = 1 ORDER BY seat),
				array(SELECT player FROM room_seats WHERE room_id = $1 AND team = 2 ORDER BY seat)
			FROM rooms WHERE room_id = $1`, id).Scan(&room.Node, &room.Ended, &room.TeamOne, &room.TeamTwo)
		if err != nil {
			return nil, err
		}
		rooms = append(rooms, room)
	}
	return rooms, nil
}

func readEarlyReleases(ctx context.Context, tx pgx.Tx, tables *lobby.Tables) error {
	ids, err := readAll(ctx, tx, `SELECT room_id FROM early_releases ORDER BY room_id`, func(id *string) []any { return []any{id} })
	if err != nil {
		return err
	}
	for _, id := range ids {
		found, err := Repository{tx}.EarlyRelease(ctx, id)
		if err != nil {
			return err
		}
		tables.EarlyReleases = append(tables.EarlyReleases, *found)
	}
	return nil
}

// readAll scans each row into the fields of a T.
func readAll[T any](ctx context.Context, tx pgx.Tx, statement string, fields func(*T) []any) ([]T, error) {
	rows, err := tx.Query(ctx, statement)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (T, error) {
		var read T
		err := row.Scan(fields(&read)...)
		return read, err
	})
}
