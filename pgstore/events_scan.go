package pgstore

import (
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/settleonce/settleonce/fingerprint"
	"github.com/settleonce/settleonce/internal/lanes"
)

// collectEvents reads rows of eventTexts, of which there are so many at most,
// into the place of what is in into, if that has room.
func collectEvents(rows pgx.Rows, most int, into []lanes.Row) ([]lanes.Row, error) {
	var scanner rowScanner
	places := scanner.places()
	found := into[:0]
	for rows.Next() {
		if err := rows.Scan(places...); err != nil {
			return nil, err
		}
		row, err := scanner.row()
		if err != nil {
			broken := &scanner.current
			row = lanes.Row{
				Position: broken.Position, Lane: lanes.Lane(scanner.lane), //nolint:gosec // events_lane_check
				Ordering: broken.Ordering, RecordedAt: scanner.recordedAt.Time, Broken: err,
			}
		}
		if len(found) == 0 {
			found = slices.Grow(found, most)
		}
		found = append(found, row)
	}
	return found, nil
}

// rowScanner is where the columns of one row go.
type rowScanner struct {
	current           lanes.Row
	lane              int16
	texts             texts
	time, fingerprint string
	extensions        []byte
	recordedAt        pgtype.Timestamptz
}

// places are for eventTexts.
func (s *rowScanner) places() []any {
	r, e := &s.current, &s.current.Event
	text := s.texts.place
	return []any{
		&r.Position, &s.lane, text(&r.Ordering), text(&e.OrderingKey), text(&e.Source), text(&e.ID), text(&e.Type), text(&e.Subject),
		text(&s.time), text(&e.DataSchema), text(&e.DataContentType), &e.Data, text(&s.fingerprint), &s.extensions,
		text(&e.Key.Tenant), text(&e.Key.Scope), text(&e.Key.Operation), text(&e.Key.ID), &s.recordedAt,
	}
}

// row returns what was scanned last. It shares no memory with the next.
func (s *rowScanner) row() (lanes.Row, error) {
	s.texts.divide()
	row := s.current
	row.Lane = lanes.Lane(s.lane) //nolint:gosec // events_lane_check
	row.Event.Position = row.Position
	row.RecordedAt = s.recordedAt.Time
	var broken [4]error
	row.Event.Time, broken[0] = timeFrom(s.time)
	row.Event.Fingerprint, broken[1] = fingerprint.Parse(s.fingerprint)
	row.Event.Extensions, broken[2] = extensionsFrom(s.extensions)
	if s.recordedAt.InfinityModifier != pgtype.Finite {
		broken[3] = errors.New("recorded_at: is no time")
	}
	if err := errors.Join(broken[:]...); err != nil {
		return lanes.Row{}, fmt.Errorf("stored event at position %d: %w", row.Position, err)
	}
	return row, nil
}

// texts puts the texts of one row into one string, of which each then is a part:
// strings of their own are half of the objects that a relay has in memory, and
// the garbage collector looks at each of them.
type texts struct {
	joined  []byte
	columns []*textColumn
}

// textColumn is where one of them goes.
type textColumn struct {
	texts *texts
	into  *string
	end   int // in joined
}

var _ pgtype.BytesScanner = (*textColumn)(nil)

// place returns where to scan a text that is meant for into.
func (t *texts) place(into *string) *textColumn {
	column := &textColumn{texts: t, into: into}
	t.columns = append(t.columns, column)
	return column
}

// ScanBytes implements [pgtype.BytesScanner]. Columns are scanned in the order in
// which they got their places.
func (c *textColumn) ScanBytes(text []byte) error {
	c.texts.joined = append(c.texts.joined, text...)
	c.end = len(c.texts.joined)
	return nil
}

// divide gives each its part, and is ready for the next row.
func (t *texts) divide() {
	whole, start := string(t.joined), 0
	for _, column := range t.columns {
		*column.into = whole[start:column.end]
		start = column.end
	}
	t.joined = t.joined[:0]
}
