package lanes

import (
	"errors"
	"time"
)

// State is where a [Source] stands at one moment.
type State struct {
	// Held is how many lanes it holds, and Giving how many of them it is about
	// to give up.
	Held   int
	Giving int
	// Relays is how many relays there were at the last renewal, this one
	// included, and Free how many lanes nobody held. Zero: not joined.
	Relays int
	Free   int
	// Lease is how long the membership lasts, if nothing renews it. Zero: it
	// has ended, or never began.
	Lease time.Duration
	// Frontier is the position up to which everything that was visible has
	// been seen. Below Floor nothing can become visible any more, for all that
	// is known: no transaction that was open when the frontier passed there
	// still is.
	Frontier int64
	Floor    int64
	// Keys counts the ordering keys that something is remembered of, HeldBack
	// those of them that wait for a dead letter.
	Keys     int
	HeldBack int
	// Err is what the work in the background fails with. Nil: it goes well.
	Err error
}

// State returns where the source stands.
func (s *Source) State() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	state := State{Err: errors.Join(s.roundErr, s.scanErr)}
	t := s.tenure
	if t == nil {
		return state
	}
	state.Held = t.count(ours, unread)
	state.Giving = t.count(giving)
	state.Relays, state.Free = t.roster.Relays, t.roster.Free
	state.Lease = t.left(s.cfg.Clock.Now(), s.terms.valid)
	state.Frontier = t.frontier()
	state.Keys, state.HeldBack = len(t.lines), len(t.held)
	for i, r := range t.readers {
		if floor := r.floor(); i == 0 || floor < state.Floor {
			state.Floor = floor
		}
	}
	return state
}
