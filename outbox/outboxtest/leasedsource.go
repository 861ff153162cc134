package outboxtest

import (
	"sync"
	"time"

	"github.com/settleonce/settleonce/outbox"
)

// LeasedSource is a [Source] that shares its records with relays that aren't
// there: the test takes ordering keys away and gives them back. The zero
// LeasedSource is empty and ready.
//
// Safe for concurrent use, except setting its fields. Do not copy one after its
// first use.
type LeasedSource struct {
	Source

	// Term is how long each lease lasts, by time.Now. Zero means a minute; a
	// negative one is over before it begins.
	Term time.Duration

	open int // leases that are not done; guarded by Source.mu
}

var (
	_ outbox.LeasedSource = (*LeasedSource)(nil)
	_ outbox.LagSource    = (*LeasedSource)(nil)
	_ outbox.DeadLetters  = (*LeasedSource)(nil)
)

// Lease leaves out the records of ordering keys that were taken away, and those
// that are not handed out, as [outbox.LeasedSource] says.
func (s *LeasedSource) Lease(records []outbox.Record) (leased []outbox.Record, until time.Time, done func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, record := range records {
		r, found := find(s.pending, record.ID)
		if found && r.out && !s.lost[record.Event.Ordering()] {
			leased = append(leased, record)
		}
	}
	term := s.Term
	if term == 0 {
		term = time.Minute
	}
	now := time.Now
	s.open++
	return leased, now().Add(term), sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.open--
	})
}

// TakeAway makes ordering keys another relay's, as a relay's death or pause
// does. The names are what [event.Event.Ordering] returns. What is handed out
// of them is not leased any more, Remove and SetAside answer
// [outbox.ErrLeaseLost], and Next leaves them out.
func (s *LeasedSource) TakeAway(orderings ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lost == nil {
		s.lost = make(map[string]bool)
	}
	for _, ordering := range orderings {
		s.lost[ordering] = true
	}
}

// GiveBack undoes TakeAway, as a takeover does: what is pending of the ordering
// keys is handed out again, from the oldest on.
func (s *LeasedSource) GiveBack(orderings ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, ordering := range orderings {
		if !s.lost[ordering] {
			continue
		}
		delete(s.lost, ordering)
		for _, r := range s.pending {
			if r.record.Event.Ordering() == ordering {
				r.out = false
			}
		}
	}
	s.poke()
}

// Leases counts the calls to Lease whose done was not called yet.
func (s *LeasedSource) Leases() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open
}
