package lanes

import "slices"

// span is the positions above after and up to last.
type span struct{ after, last int64 }

func (s span) empty() bool { return s.after >= s.last }

func (s span) union(other span) span {
	switch {
	case s.empty():
		return other
	case other.empty():
		return s
	default:
		return span{min(s.after, other.after), max(s.last, other.last)}
	}
}

// narrowSpan is how many positions are swept before anything is handed out. In
// a wider span the rows that are about to be handed out are looked for by their
// ordering keys, and the sweep is left to the scanner.
const narrowSpan = 8192

// reader is how far some lanes have been read.
//
// What it must not do is hand out a row while an earlier one of the same
// ordering key is pending below the frontier, unseen (I8). Such a row became
// visible after the frontier had passed it, so its transaction was open then.
// And it was visible when the later one was read, since the later one's
// transaction waited for the earlier one's to end. So a transaction must have
// been open in the snapshot of an earlier read, and have ended before that of
// this one. Each such end makes a doubt, which is resolved before what was read
// is handed out; where there is none, which is always so with a backlog that
// nobody adds to, nothing is to be looked for.
//
// The source's mutex guards it.
type reader struct {
	// lanes is replaced and never changed.
	lanes []Lane
	// frontier is the position up to which everything that was visible has
	// been seen.
	frontier int64
	// open are the transactions that were open when the frontier passed
	// positions which they may have drawn: all above the one given here. It is
	// the frontier before the first read that found the transaction open,
	// because positions rise, and whatever began after a read draws positions
	// above all that the read saw.
	open map[uint64]int64
	// doubt is where rows may have become visible unseen, and sweeping is the
	// part of it that the scanner is at.
	doubt    span
	sweeping span
}

func newReader(lanes []Lane) *reader {
	return &reader{lanes: lanes, open: make(map[uint64]int64)}
}

// see takes the open transactions of the snapshot of a read past the frontier,
// before the frontier moves. It returns the narrow span in which rows may have
// become visible since they were passed, and adds a wider one to doubt.
func (r *reader) see(open []uint64, narrow int64) (near span) {
	for transaction, after := range r.open {
		if _, still := slices.BinarySearch(open, transaction); still {
			continue
		}
		delete(r.open, transaction)
		ended := span{after, r.frontier}
		if r.frontier-after <= narrow {
			near = near.union(ended)
		} else {
			r.doubt = r.doubt.union(ended)
		}
	}
	for _, transaction := range open {
		if _, known := r.open[transaction]; !known {
			r.open[transaction] = r.frontier
		}
	}
	return near
}

// doubtful is everything in doubt.
func (r *reader) doubtful() span { return r.doubt.union(r.sweeping) }

// floor is the position below which nothing can become visible unseen.
func (r *reader) floor() int64 {
	floor := r.frontier
	for _, after := range r.open {
		floor = min(floor, after)
	}
	if doubt := r.doubtful(); !doubt.empty() {
		floor = min(floor, doubt.after)
	}
	return floor
}

// absorb takes over the lanes of another reader with the same frontier.
func (r *reader) absorb(other *reader) {
	r.lanes = slices.Concat(r.lanes, other.lanes)
	for transaction, after := range other.open {
		if known, ok := r.open[transaction]; !ok || after < known {
			r.open[transaction] = after
		}
	}
	r.doubt = r.doubt.union(other.doubtful())
}
