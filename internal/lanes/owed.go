package lanes

import (
	"cmp"
	"context"
	"slices"
)

// debt is a line with owed rows, as it was when they were asked for.
type debt struct {
	line *line
	from int64
	deep bool
}

// payOwed asks for rows that the frontier has passed. It reports whether there
// were any to ask for.
func (c *call) payOwed(ctx context.Context) (some bool, err error) {
	single, deep := c.debts()
	if len(single) > 0 {
		if err := c.payPositions(ctx, single); err != nil {
			return true, err
		}
	}
	if len(deep) > 0 && !c.full() {
		if err := c.payLines(ctx, deep); err != nil {
			return true, err
		}
	}
	return len(single)+len(deep) > 0, nil
}

// debts picks lines whose owed rows may be handed out, the oldest of those that
// it looks at: those whose rows are asked for by their positions, and those that
// are asked for by their ordering keys. The first kind owe one row each. They
// are asked for with the second kind where there are such, in one query, which
// finds the oldest rows of all.
func (c *call) debts() (single, deep []debt) {
	s, t := c.source, c.tenure
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tenure != t {
		return nil, nil
	}
	if t.exceptions != len(c.except) {
		t.exceptions, t.fruitless = len(c.except), 0
	}
	looks := min(len(t.owing), maxLooks)
	for range looks {
		t.turn++
		if t.turn >= len(t.owing) {
			t.turn = 0
		}
		l := t.owing[t.turn]
		t.fruitless++
		switch {
		case l.lane != unknownLane && t.reader[l.lane] == nil:
		case c.excepted(l.ordering):
		case l.owed == l.broken && len(l.out) > 0:
		case !l.deep:
			single = append(single, debt{line: l, from: l.owed})
		case l.settled():
			deep = append(deep, debt{line: l, from: l.owed, deep: true})
		}
	}
	if len(deep) > 0 {
		single = slices.DeleteFunc(single, func(d debt) bool {
			settled := d.line.settled()
			if settled {
				deep = append(deep, d)
			}
			return settled
		})
	}
	if len(single)+len(deep) > 0 {
		t.fruitless = 0
	} else if t.fruitless < len(t.owing) {
		s.poke() // There are others to look at.
	}
	// Where a key's rows begin is only a lower bound, so more of them are asked
	// for than may be handed out.
	return oldest(single, c.limit), oldest(deep, max(c.limit, minKeys))
}

// minKeys is of how many ordering keys the oldest rows are asked for at least.
const minKeys = 100

// oldest returns up to limit of the debts, those that begin first.
func oldest(debts []debt, limit int) []debt {
	if len(debts) <= limit {
		return debts
	}
	slices.SortFunc(debts, func(a, b debt) int { return cmp.Compare(a.from, b.from) })
	return debts[:limit]
}

func (c *call) excepted(ordering string) bool {
	if len(c.except) == 0 {
		return false
	}
	_, excepted := c.except[ordering]
	return excepted
}

// payPositions hands out single rows.
func (c *call) payPositions(ctx context.Context, debts []debt) error {
	slices.SortFunc(debts, func(a, b debt) int { return cmp.Compare(a.from, b.from) })
	debts = debts[:min(len(debts), c.limit-len(c.records))]
	positions := make([]int64, len(debts))
	for i, d := range debts {
		positions[i] = d.from
	}
	c.queries--
	rows, err := c.source.cfg.Table.ReadAt(ctx, positions)
	if err != nil {
		return err
	}
	s, t := c.source, c.tenure
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tenure != t {
		return nil
	}
	for _, d := range debts {
		l := d.line
		for len(rows) > 0 && rows[0].Position < d.from {
			rows = rows[1:]
		}
		found := len(rows) > 0 && rows[0].Position == d.from
		if l.owed != d.from {
			continue // An earlier one was released meanwhile, or the lane is gone.
		}
		deep := l.deep
		t.acquit(l)
		if found && t.readable(&rows[0]) && !c.waits(l, &rows[0]) {
			c.handOut(t.line(l.ordering, int(rows[0].Lane)), &rows[0])
		}
		if deep { // More came while the table was asked.
			t.oweFrom(l, d.from+1)
		}
		t.tidy(l)
	}
	return nil
}

// payLines hands out what lines owe from somewhere on.
func (c *call) payLines(ctx context.Context, debts []debt) error {
	s, t := c.source, c.tenure
	orderings := make([]string, len(debts))
	first := int64(everything)
	for i, d := range debts {
		orderings[i] = d.line.ordering
		first = min(first, d.from)
	}
	c.queries--
	limit := c.limit - len(c.records)
	rows, err := s.cfg.Table.ReadOf(ctx, orderings, first, c.last(), limit)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tenure != t {
		return nil
	}
	// Where an earlier row was released meanwhile, all waits for that.
	debts = slices.DeleteFunc(debts, func(d debt) bool { return d.line.owed != d.from })
	from := make(map[string]int64, len(debts))
	for i, d := range debts {
		debts[i].deep = d.line.deep
		t.acquit(d.line)
		from[d.line.ordering] = d.from
	}
	for i := range rows {
		row := &rows[i]
		begins, asked := from[row.Ordering]
		if !asked || row.Position < begins || !t.readable(row) || t.holdsBack(row.Ordering) {
			continue
		}
		l := t.line(row.Ordering, int(row.Lane))
		if c.waits(l, row) {
			t.oweFrom(l, row.Position)
			delete(from, row.Ordering) // And all that follows it.
			continue
		}
		c.handOut(l, row)
	}
	for _, d := range debts {
		d.stillOwed(t, rows, limit)
	}
	return nil
}

// stillOwed notes what the rows that came, up to limit of them, did not reach.
func (d *debt) stillOwed(t *tenure, rows []Row, limit int) {
	if len(rows) == limit {
		last := rows[len(rows)-1].Position
		if d.deep {
			t.oweFrom(d.line, max(d.from, last+1))
		} else if d.from > last {
			t.owe(d.line, d.from)
		}
	}
	t.tidy(d.line)
}

// last is the highest frontier.
func (c *call) last() int64 {
	c.source.mu.Lock()
	defer c.source.mu.Unlock()
	return c.tenure.frontier()
}
