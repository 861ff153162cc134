package lanes

import (
	"cmp"
	"slices"
	"time"
)

// laneState is what a lane is to this relay.
type laneState uint8

const (
	// notOurs is another relay's, or nobody's.
	notOurs laneState = iota
	// unread is ours, and which ordering keys in it are held back is not known
	// yet. Nothing of it is read before.
	unread
	// ours is handed out from.
	ours
	// giving is ours until the calls that are out have ended. Nothing more of
	// it is handed out or leased.
	giving
)

// tenure is one membership and all that is known under it. Whoever loses the
// membership drops it as a whole; answers to questions that were asked under an
// earlier one find out by comparing pointers. The source's mutex guards it.
type tenure struct {
	book

	ticket Ticket
	// renewed is when the last renewal that succeeded was sent.
	renewed Instant
	// lapsed says that the lease was found to be over. Only a renewal ends
	// that, so a wall clock that is set back can't.
	lapsed bool
	roster Roster
	// lanes are those that are not notOurs.
	lanes []Lane
	state [Count]laneState
	// users counts, for each lane, open leases and writes in progress.
	users [Count]int
	// readers have distinct frontiers, but for a moment. Lanes that were taken
	// later get a reader of their own, which starts from nothing and joins
	// that of the others when it has caught up.
	readers []*reader
	reader  [Count]*reader
	// askHeld says that the held keys must be asked for.
	askHeld bool
	// unsure says that a dead letter may be made yet by a call that has been
	// given up. Only another epoch ends that.
	unsure bool
	// leaving says that the membership is to end as soon as nothing is in use.
	leaving bool
}

func newTenure(ticket Ticket, joined Instant) *tenure {
	return &tenure{book: newBook(), ticket: ticket, renewed: joined}
}

// left returns how long the lease still lasts by both clocks: at most valid
// since the last renewal was sent. Not above zero: it is over.
//
// The wall clock runs on in a suspended machine, where the monotonic one stands
// still, and the monotonic one can't be set. A wall clock that has fallen behind
// the monotonic one has been set back, and would tell nothing of a suspension;
// that ends the lease too. What remains is a wall clock that is set back, within
// one lease, by just as much as a suspension took.
func (t *tenure) left(now Instant, valid time.Duration) time.Duration {
	wall := now.Wall.Sub(t.renewed.Wall)
	monotonic := now.Monotonic - t.renewed.Monotonic
	left := valid - max(wall, monotonic)
	if left <= 0 || wall < monotonic-valid/wallSlack {
		t.lapsed = true
	}
	if t.lapsed {
		return 0
	}
	return left
}

// wallSlack is what part of a lease the wall clock may fall behind the
// monotonic one, as it does where it is slowed down to be corrected.
const wallSlack = 32

func (t *tenure) renew(sent Instant) {
	t.renewed, t.lapsed = sent, false
}

// count returns how many lanes are in one of the states.
func (t *tenure) count(states ...laneState) int {
	n := 0
	for _, lane := range t.lanes {
		if slices.Contains(states, t.state[lane]) {
			n++
		}
	}
	return n
}

// in returns the lanes in a state.
func (t *tenure) in(state laneState) []Lane {
	var lanes []Lane
	for _, lane := range t.lanes {
		if t.state[lane] == state {
			lanes = append(lanes, lane)
		}
	}
	return lanes
}

func (t *tenure) take(lanes []Lane) {
	for _, lane := range lanes {
		t.state[lane] = unread
		t.lanes = append(t.lanes, lane)
	}
}

// open lets the unread lanes be read, from the start.
func (t *tenure) open(lanes []Lane) {
	if len(lanes) == 0 {
		return
	}
	r := newReader(lanes)
	for _, lane := range lanes {
		t.state[lane] = ours
		t.reader[lane] = r
	}
	t.readers = append(t.readers, r)
}

// giveUp stops handing out of the lanes.
func (t *tenure) giveUp(lanes []Lane) {
	for _, lane := range lanes {
		t.state[lane] = giving
		t.reader[lane] = nil
	}
	for _, r := range t.readers {
		kept := make([]Lane, 0, len(r.lanes))
		for _, lane := range r.lanes {
			if t.reader[lane] == r {
				kept = append(kept, lane)
			}
		}
		r.lanes = kept
	}
	t.readers = slices.DeleteFunc(t.readers, func(r *reader) bool { return len(r.lanes) == 0 })
}

// lose forgets the lanes.
func (t *tenure) lose(lanes []Lane) {
	for _, lane := range lanes {
		t.state[lane] = notOurs
	}
	t.lanes = slices.DeleteFunc(t.lanes, func(lane Lane) bool { return t.state[lane] == notOurs })
	t.drop(func(lane Lane) bool { return t.state[lane] == notOurs })
}

// quiet reports whether nobody uses the lanes that are being given up.
func (t *tenure) quiet() bool {
	for _, lane := range t.lanes {
		if t.state[lane] == giving && t.users[lane] > 0 {
			return false
		}
	}
	return true
}

// behind returns the reader that is furthest behind, and how far it may read
// before it meets another. Nil: there is none.
func (t *tenure) behind() (r *reader, upTo int64) {
	slices.SortFunc(t.readers, func(a, b *reader) int { return cmp.Compare(a.frontier, b.frontier) })
	for len(t.readers) > 1 && t.readers[0].frontier == t.readers[1].frontier {
		met := t.readers[1]
		t.readers[0].absorb(met)
		for _, lane := range met.lanes {
			t.reader[lane] = t.readers[0]
		}
		t.readers = slices.Delete(t.readers, 1, 2)
	}
	switch len(t.readers) {
	case 0:
		return nil, 0
	case 1:
		return t.readers[0], everything
	default:
		return t.readers[0], t.readers[1].frontier
	}
}

// leave hands out nothing more, and lets the next rounds end the membership.
func (t *tenure) leave() {
	t.leaving = true
	t.giveUp(append(t.in(unread), t.in(ours)...))
}

// share is how many lanes each relay should hold at most.
func (t *tenure) share() int {
	relays := max(1, t.roster.Relays)
	return (Count + relays - 1) / relays
}

// leastUsed returns n lanes to give up: first those that are quiet.
func (t *tenure) leastUsed(n int) []Lane {
	lanes := append(t.in(unread), t.in(ours)...)
	slices.SortStableFunc(lanes, func(a, b Lane) int { return cmp.Compare(t.users[a], t.users[b]) })
	return lanes[:min(n, len(lanes))]
}

// frontier is the highest one.
func (t *tenure) frontier() int64 {
	frontier := int64(0)
	for _, r := range t.readers {
		frontier = max(frontier, r.frontier)
	}
	return frontier
}

// readable reports whether the row, which is owed, is of a lane that may be handed
// out from, and below that lane's frontier.
func (t *tenure) readable(row *Row) bool {
	r := t.reader[row.Lane]
	return r != nil && row.Position <= r.frontier
}
