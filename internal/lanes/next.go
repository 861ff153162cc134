package lanes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/settleonce/settleonce/outbox"
)

// everything is above all positions.
const everything = math.MaxInt64

// Bounds of one call of Next. Where one of them ends it early, Wake says at
// once that there is more.
const (
	// maxQueries is how many times it asks the table for rows.
	maxQueries = 32
	// maxRows is how many rows it asks for at once beyond its limit, where it
	// has to pass over what is not to be handed out.
	maxRows = 1000
	// maxLooks is how many lines that owe rows it looks at before each query.
	maxLooks = 8192
	// maxBytes is what the data of those rows may take that are asked for beyond
	// its limit, as far as the rows before them tell.
	maxBytes = 16 << 20
)

// call is one call of Next.
type call struct {
	source  *Source
	tenure  *tenure
	limit   int
	except  map[string]struct{}
	records []outbox.Record
	// broken are handed out to nobody but setAsideBroken.
	broken []brokenRecord
	// unordered says that they are not in the order of their positions: what
	// was owed comes first, and what became visible late comes last.
	unordered bool
	// queries counts down.
	queries int
	// size is how many rows the next read past the frontier asks for.
	size int
	// look says that lines may owe rows that can be handed out.
	look bool
}

// Next hands out records as [outbox.Source] says. The first call joins the
// table and starts the work in the background. The records of one call are in
// the order of their positions. Lanes that were taken later are caught up with
// before the others go on.
//
// It may return fewer than limit where there are more, so that no call takes
// long; then Wake delivers at once. Errors are the table's, and
// [outbox.ErrClosed] after Close.
func (s *Source) Next(ctx context.Context, limit int, except map[string]struct{}) ([]outbox.Record, error) {
	if limit <= 0 {
		return nil, nil
	}
	select {
	case s.nexts <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("lanes: waiting for another call of Next: %w", context.Cause(ctx))
	}
	defer func() { <-s.nexts }()
	t, err := s.member(ctx)
	if t == nil {
		s.failed(err)
		s.poll.looked(false)
		return nil, err
	}
	c := &call{source: s, tenure: t, limit: limit, except: except, queries: maxQueries, size: limit, look: true}
	err = errors.Join(c.run(ctx), c.setAsideBroken(ctx))
	s.failed(err)
	s.poll.looked(len(c.records) > 0)
	if c.unordered {
		slices.SortFunc(c.records, func(a, b outbox.Record) int {
			return cmp.Compare(a.Event.Position, b.Event.Position)
		})
	}
	return c.records, err
}

func (c *call) full() bool { return len(c.records) >= c.limit }

// run hands out first what is owed, then what is past the frontier, and then
// what became visible late, if reading on has found some.
func (c *call) run(ctx context.Context) (err error) {
	for exhausted := false; !c.full(); {
		switch {
		case c.queries <= 0:
			c.source.poke()
			return nil
		case c.look:
			c.look, err = c.payOwed(ctx)
		case exhausted:
			return nil
		default:
			exhausted, err = c.readOn(ctx)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *call) handOut(l *line, row *Row) {
	c.tenure.handOut(l, row.Position)
	if row.Broken != nil {
		c.handOutBroken(row)
		return
	}
	if last := len(c.records) - 1; last >= 0 && row.Position < c.records[last].Event.Position {
		c.unordered = true
	}
	c.records = append(c.records, outbox.Record{
		ID:    strconv.FormatInt(row.Position, 10),
		Event: row.Event,
		Added: row.RecordedAt,
	})
}

// readOn reads past the frontier of the reader that is furthest behind. It
// reports whether there is no more.
func (c *call) readOn(ctx context.Context) (exhausted bool, err error) {
	s, t := c.source, c.tenure
	s.mu.Lock()
	if s.tenure != t {
		s.mu.Unlock()
		return true, nil
	}
	r, upTo := t.behind()
	if r == nil {
		s.mu.Unlock()
		return true, nil
	}
	lanes, after := r.lanes, r.frontier
	s.mu.Unlock()

	c.queries--
	rows, open, err := s.cfg.Table.Read(ctx, lanes, after, c.size, s.rows)
	if err != nil {
		return false, err
	}
	s.rows = rows
	defer clear(rows) // Nothing of what was delivered stays in memory for it.
	complete := len(rows) < c.size
	if met := slices.IndexFunc(rows, func(row Row) bool { return row.Position > upTo }); met >= 0 {
		rows, complete = rows[:met], true
	}
	if err := c.resolve(ctx, r, rows, open); err != nil {
		return false, err
	}
	handled, passed := c.admit(r, rows)
	if complete && handled == len(rows) && upTo != everything {
		// It has met the next reader, and both go on as one.
		s.mu.Lock()
		r.frontier = upTo
		s.mu.Unlock()
		return false, nil
	}
	// What is not to be handed out is passed in greater steps.
	if passed > len(rows)/2 {
		c.size = min(2*c.size, max(rowsLike(rows, maxRows), c.limit))
	} else {
		c.size = min(c.limit, max(1, c.limit-len(c.records)))
	}
	return complete && handled == len(rows), nil
}

// admit hands rows past the frontier out, and moves it. It returns how many
// rows it handled, and how many of them it passed without handing them out.
func (c *call) admit(r *reader, rows []Row) (handled, passed int) {
	s, t := c.source, c.tenure
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tenure != t {
		return 0, 0
	}
	c.records = slices.Grow(c.records, min(len(rows), c.limit-len(c.records)))
	for i := range rows {
		if c.full() {
			return i, passed
		}
		row := &rows[i]
		r.frontier = row.Position
		if t.reader[row.Lane] != r || t.holdsBack(row.Ordering) {
			passed++
			continue
		}
		l := t.line(row.Ordering, int(row.Lane))
		switch {
		case l.owed != 0 || c.excepted(row.Ordering):
			t.owe(l, row.Position)
			passed++
		case c.waits(l, row):
			passed++
		default:
			c.handOut(l, row)
		}
	}
	return len(rows), passed
}

// rowsLike returns how many rows may be asked for, if they are like these: up to
// most, and no more than take maxBytes.
func rowsLike(rows []Row, most int) int {
	bytes := 0
	for i := range rows {
		bytes += len(rows[i].Event.Data)
	}
	if bytes == 0 {
		return most
	}
	return max(1, min(most, maxBytes*len(rows)/bytes))
}
