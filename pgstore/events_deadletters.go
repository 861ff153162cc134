package pgstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/settleonce/settleonce/outbox"
)

// positionDigits writes every position of 64 bits.
const positionDigits = 19

// letterID is the position in a fixed width, so that the IDs sort as it does.
func letterID(position int64) string { return fmt.Sprintf("%0*d", positionDigits, position) }

// letterPosition also takes a position without its zeros, as records have it.
func letterPosition(id string) (position int64, ok bool) {
	position, err := strconv.ParseInt(id, 10, 64)
	return position, err == nil && position > 0 && id[0] != '+'
}

// letters lists dead letters after a position.
func (t *table) letters(ctx context.Context, after int64, limit int) ([]outbox.DeadLetter, error) {
	var found []outbox.DeadLetter
	err := t.run(ctx, statement{doing: "reading dead letters", opening: fleeting, sql: t.sql.letters, arguments: []any{after, limit}},
		func(rows pgx.Rows) error {
			var scanner rowScanner
			var letter outbox.DeadLetter
			places := append(scanner.places(), &letter.Reason, &letter.Attempts, &letter.Time, &letter.HoldsBack, &letter.Size)
			for rows.Next() {
				if err := rows.Scan(places...); err != nil {
					return err
				}
				letter.ID, letter.Event = letterID(scanner.current.Position), nil
				if row, err := scanner.row(); err == nil {
					letter.Event = &row.Event
				}
				found = append(found, letter)
			}
			return nil
		})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// requeue makes a dead letter pending and returns its ordering key.
func (t *table) requeue(ctx context.Context, id string) (ordering string, err error) {
	return t.change(ctx, id, statement{doing: "requeueing a dead letter", sql: t.sql.requeue})
}

// discard ends a dead letter and returns its ordering key.
func (t *table) discard(ctx context.Context, id, reason string) (ordering string, err error) {
	if err := validateReason(reason); err != nil {
		return "", fmt.Errorf("pgstore: reason %w", err)
	}
	return t.change(ctx, id, statement{doing: "discarding a dead letter", sql: t.sql.discard, arguments: []any{reason}})
}

// change runs a statement that returns the ordering key of the dead letter that
// it changed.
func (t *table) change(ctx context.Context, id string, s statement) (ordering string, err error) {
	position, ok := letterPosition(id)
	if !ok {
		return "", fmt.Errorf("pgstore: %w: %q", outbox.ErrNoDeadLetter, id)
	}
	s.opening = lasting
	s.arguments = append([]any{position}, s.arguments...)
	err = t.run(ctx, s, readOne(&ordering))
	if errors.Is(err, pgx.ErrNoRows) {
		return "", fmt.Errorf("pgstore: %w: %q", outbox.ErrNoDeadLetter, id)
	}
	return ordering, err
}

func validateReason(reason string) error {
	switch {
	case reason == "":
		return errors.New("must not be empty")
	case !utf8.ValidString(reason):
		return errors.New("must be valid UTF-8")
	case strings.ContainsRune(reason, 0):
		return errors.New("must not hold U+0000")
	default:
		return nil
	}
}
