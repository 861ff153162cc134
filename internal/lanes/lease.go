package lanes

import (
	"time"

	"github.com/settleonce/settleonce/outbox"
)

// Lease leases the records whose lanes are held and not about to be given up,
// as [outbox.LeasedSource] says. Those that it does not lease and that are still
// this relay's are pending again, as is all that is handed out behind them in
// their ordering keys: the relay forgets it too. until is by the wall clock.
func (s *Source) Lease(records []outbox.Record) (leased []outbox.Record, until time.Time, done func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.cfg.Clock.Now()
	t := s.tenure
	if t == nil {
		return nil, now.Wall, func() {}
	}
	left := t.left(now, s.terms.valid)
	lanes := make([]Lane, 0, len(records))
	leased = records[:0:0]
	for i := range records {
		position, lane, ok := t.find(records[i].ID)
		switch {
		case !ok || left <= 0 || t.state[lane] != ours:
			t.reclaim(records[i].Event.Ordering(), position)
			s.poke()
		case len(leased) == i: // All are leased so far: no copy.
			t.users[lane]++
			lanes = append(lanes, lane)
			leased = records[: i+1 : i+1]
		default:
			t.users[lane]++
			lanes = append(lanes, lane)
			leased = append(leased, records[i])
		}
	}
	return leased, now.Wall.Add(max(0, left)), s.releaser(t, lanes)
}

// find returns the position of a record that is handed out, and its lane.
func (t *tenure) find(id string) (position int64, lane Lane, ok bool) {
	position, err := parsePosition(id)
	if err != nil {
		return 0, 0, false
	}
	l := t.out[position]
	if l == nil {
		return position, 0, false
	}
	return position, Lane(l.lane), true //nolint:gosec // G115: it was a Lane.
}

// releaser returns a function that ends the use of lanes, at its first call.
func (s *Source) releaser(t *tenure, lanes []Lane) func() {
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(lanes) == 0 {
			return
		}
		waited := false
		for _, lane := range lanes {
			t.users[lane]--
			waited = waited || t.state[lane] == giving && t.users[lane] == 0
		}
		lanes = nil
		if waited && t.quiet() {
			notify(s.kicks)
		}
	}
}

// Release implements [outbox.Source].
func (s *Source) Release(records []outbox.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tenure
	if t == nil {
		return
	}
	for i := range records {
		position, err := parsePosition(records[i].ID)
		if err != nil {
			continue
		}
		if l := t.takeBack(position); l != nil {
			t.owe(l, position)
			t.tidy(l)
		}
	}
}
