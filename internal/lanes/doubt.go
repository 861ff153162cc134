package lanes

import "context"

// headChunk is how many heads, or at most rows by ordering key, are asked for at
// once when it is looked for what became visible late.
const headChunk = 1000

// resolve makes sure that nothing earlier of the ordering keys of rows, which were
// just read past the frontier, is pending unseen: afterwards their lines owe
// it. See [reader].
func (c *call) resolve(ctx context.Context, r *reader, rows []Row, open []uint64) error {
	s, t := c.source, c.tenure
	s.mu.Lock()
	if s.tenure != t {
		s.mu.Unlock()
		return nil
	}
	near := r.see(open, s.narrow)
	lanes := r.lanes
	s.mu.Unlock()

	if !near.empty() {
		if err := c.sweep(ctx, lanes, near); err != nil {
			s.mu.Lock()
			r.doubt = r.doubt.union(near)
			s.mu.Unlock()
			return err
		}
	}
	s.mu.Lock()
	doubt := r.doubtful()
	unscanned := !r.doubt.empty()
	s.mu.Unlock()
	if unscanned {
		s.scanner.kick()
	}
	if doubt.empty() {
		return nil
	}
	return c.lookFor(ctx, rows, doubt)
}

// sweep looks at all heads of a narrow span.
func (c *call) sweep(ctx context.Context, lanes []Lane, within span) error {
	for !within.empty() {
		c.queries--
		heads, err := c.source.cfg.Table.Heads(ctx, lanes, within.after, within.last, headChunk)
		if err != nil {
			return err
		}
		c.oweLate(heads)
		if len(heads) < headChunk {
			return nil
		}
		within.after = heads[len(heads)-1].Position
	}
	return nil
}

// lookFor looks in a wide span for the ordering keys of rows alone.
func (c *call) lookFor(ctx context.Context, rows []Row, within span) error {
	orderings := c.unowed(rows)
	chunk := rowsLike(rows, headChunk)
	for len(orderings) > 0 && !within.empty() {
		c.queries--
		found, err := c.source.cfg.Table.ReadOf(ctx, orderings, within.after+1, within.last, chunk)
		if err != nil {
			return err
		}
		heads := make([]Head, len(found))
		for i := range found {
			heads[i] = Head{Position: found[i].Position, Lane: found[i].Lane, Ordering: found[i].Ordering}
		}
		c.oweLate(heads)
		if len(found) < chunk {
			return nil
		}
		within.after = found[len(found)-1].Position
	}
	return nil
}

func (c *call) oweLate(heads []Head) {
	if c.source.oweLate(c.tenure, heads) {
		c.look = true
	}
}

// unowed returns the distinct ordering keys of rows that nothing is known to
// be owed of.
func (c *call) unowed(rows []Row) []string {
	s, t := c.source, c.tenure
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := make(map[string]struct{}, len(rows))
	var orderings []string
	for i := range rows {
		ordering := rows[i].Ordering
		if _, again := seen[ordering]; again {
			continue
		}
		seen[ordering] = struct{}{}
		l := t.lines[ordering]
		if !t.holdsBack(ordering) && (l == nil || l.owed == 0) {
			orderings = append(orderings, ordering)
		}
	}
	return orderings
}

// oweLate notes the rows below the frontier that nothing is known of. It
// reports whether there were any.
//
// One that is removed between the query and its answer is taken for late, too;
// it is asked for again before it is handed out, and is gone then.
//
// Where there is doubt, what was found need not be the first of its ordering
// key that is unseen. So all that may be is owed: nothing of it stands before
// what is handed out, or that would not have been.
func (s *Source) oweLate(t *tenure, heads []Head) (late bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tenure != t {
		return false
	}
	for i := range heads {
		head := &heads[i]
		r := t.reader[head.Lane]
		if r == nil || head.Position > r.frontier || t.knows(head) {
			continue
		}
		l := t.line(head.Ordering, int(head.Lane))
		t.owe(l, head.Position)
		if doubt := r.doubtful(); !doubt.empty() {
			t.oweFrom(l, min(head.Position, max(doubt.after, l.newest())+1))
		}
		late = true
	}
	return late
}
