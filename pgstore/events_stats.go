package pgstore

import "time"

// EventsStats is where [Events] stands at one moment, for an operator.
type EventsStats struct {
	// Lanes is how many of the 256 lanes it holds, and Giving how many of them
	// it is about to give up.
	Lanes  int
	Giving int
	// Relays is how many relays share the table, this one included, and Free
	// how many lanes nobody held, both at the last renewal. Zero: it has not
	// joined.
	Relays int
	Free   int
	// Lease is how long its lanes stay its own, if nothing renews the lease.
	// Zero: it holds none.
	Lease time.Duration
	// Frontier is the position up to which it has seen all that was visible,
	// and Floor the one from which it looks for what became visible late.
	Frontier int64
	Floor    int64
	// Keys counts the ordering keys that it remembers anything of, HeldBack
	// those of them that wait for a dead letter.
	Keys     int
	HeldBack int
	// Err is what its work in the background last failed with. Nil: the last
	// round went well.
	Err error
}

// Stats returns where it stands. It sends nothing.
func (e *Events) Stats() EventsStats {
	state := e.source.State()
	return EventsStats{
		Lanes: state.Held, Giving: state.Giving, Relays: state.Relays, Free: state.Free, Lease: state.Lease,
		Frontier: state.Frontier, Floor: state.Floor, Keys: state.Keys, HeldBack: state.HeldBack, Err: state.Err,
	}
}
