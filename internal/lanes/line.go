package lanes

import (
	"math"
	"slices"
)

// unknownLane is the lane of a line that no row was seen of.
const unknownLane = -1

// line is what is remembered of one ordering key while anything of it is
// handed out, or was passed over by the frontier and is still to be handed out.
type line struct {
	ordering string
	lane     int
	// out are the positions that are handed out.
	out []int64
	// owed is where the rows begin that are below the frontier and not handed
	// out. Zero: there are none.
	owed int64
	// deep says that there may be more owed rows than the one at owed.
	deep bool
	// broken is where a row is that is no event and waits until nothing is out.
	// Zero: none is known.
	broken int64
	// place is the line's in the book's owing, where owed is not zero.
	place int
	one   [1]int64
}

// settled reports whether nothing of the line that is out stands at or behind
// what is owed. Only then what a query finds from there on is what was not
// handed out: what is out could be removed between the query and its answer.
func (l *line) settled() bool { return l.newest() < l.owed }

// newest is the highest position that is out. Zero: none is.
func (l *line) newest() int64 {
	newest := int64(0)
	for _, position := range l.out {
		newest = max(newest, position)
	}
	return newest
}

// book holds the lines. It takes about 200 bytes, and the key's name, for each
// ordering key that is in it. The source's mutex guards it.
type book struct {
	lines map[string]*line
	// out finds the line of each position that is handed out.
	out map[int64]*line
	// owing are the lines with owed rows, in no order.
	owing []*line
	// turn is where in owing the next look begins, and fruitless how many
	// lines were looked at since one was of use, or other keys were excepted.
	turn       int
	fruitless  int
	exceptions int

	// held are the ordering keys that a dead letter holds back, each with
	// when it was last known to be: holds, which counts that.
	held  map[string]uint64
	holds uint64
}

func newBook() book {
	return book{
		lines: make(map[string]*line),
		out:   make(map[int64]*line),
		held:  make(map[string]uint64),
	}
}

// line returns the ordering key's line, a new one if there is none.
func (b *book) line(ordering string, lane int) *line {
	l := b.lines[ordering]
	if l == nil {
		l = &line{ordering: ordering, lane: lane}
		l.out = l.one[:0]
		b.lines[ordering] = l
	} else if l.lane == unknownLane {
		l.lane = lane
	}
	return l
}

// tidy forgets a line that nothing is to be remembered of.
func (b *book) tidy(l *line) {
	if l.owed == 0 && len(l.out) == 0 {
		delete(b.lines, l.ordering)
	}
}

// handOut notes that the row is handed out.
func (b *book) handOut(l *line, position int64) {
	l.out = append(l.out, position)
	b.out[position] = l
}

// takeBack notes that the position is not handed out any more, and returns its
// line, which the caller tidies. Nil: it was not.
func (b *book) takeBack(position int64) *line {
	l := b.out[position]
	if l == nil {
		return nil
	}
	delete(b.out, position)
	switch at := slices.Index(l.out, position); {
	case len(l.out) == 1:
		l.out = l.one[:0]
	case at == 0: // the common case: the oldest first
		l.out = l.out[1:]
	default:
		l.out = slices.Delete(l.out, at, at+1)
	}
	return l
}

// owe notes that the row at the position is to be handed out. What a held key
// owes is found when it is let go.
func (b *book) owe(l *line, position int64) {
	if b.holdsBack(l.ordering) {
		return
	}
	switch {
	case l.owed == 0:
		l.owed, l.deep = position, false
		l.place = len(b.owing)
		b.owing = append(b.owing, l)
	case position != l.owed:
		l.owed, l.deep = min(l.owed, position), true
	}
}

// oweFrom notes that whatever there is of the ordering key from the position on
// is to be handed out.
func (b *book) oweFrom(l *line, position int64) {
	b.owe(l, position)
	if l.owed != 0 {
		l.deep = true
	}
}

// acquit notes that nothing is owed any more.
func (b *book) acquit(l *line) {
	if l.owed == 0 {
		return
	}
	last := b.owing[len(b.owing)-1]
	b.owing[l.place], last.place = last, l.place
	b.owing[len(b.owing)-1] = nil
	b.owing = b.owing[:len(b.owing)-1]
	l.owed, l.deep = 0, false
}

// reclaim takes back what is handed out of an ordering key from a position on:
// it is still to be handed out.
func (b *book) reclaim(ordering string, position int64) {
	l := b.lines[ordering]
	if l == nil {
		return
	}
	for _, out := range slices.Clone(l.out) {
		if out >= position {
			b.takeBack(out)
			b.owe(l, out)
		}
	}
	b.tidy(l)
}

// knows reports whether the row is handed out, or will be.
func (b *book) knows(head *Head) bool {
	if b.out[head.Position] != nil || b.holdsBack(head.Ordering) {
		return true
	}
	l := b.lines[head.Ordering]
	return l != nil && l.owed != 0 &&
		(head.Position == l.owed || head.Position > l.owed && l.deep)
}

func (b *book) holdsBack(ordering string) bool {
	if len(b.held) == 0 {
		return false
	}
	_, held := b.held[ordering]
	return held
}

// untilTold is a hold that no list of held keys ends.
const untilTold = math.MaxUint64

// hold keeps back the ordering key until a list that is asked for from now on
// does not have it. With untilTold, not even then.
func (b *book) hold(ordering string, stamp uint64) {
	b.held[ordering] = stamp
	if l := b.lines[ordering]; l != nil {
		b.acquit(l)
		b.tidy(l)
	}
}

// nextHold returns the stamp of a hold that is known from now on.
func (b *book) nextHold() uint64 {
	b.holds++
	return b.holds
}

// setHeld takes the list of the held keys, which was asked for when asked was
// the newest hold. It reports whether it let keys go: what there is of them is
// owed from the start, since a dead letter returns to its old place.
func (b *book) setHeld(list []string, asked uint64) (letGo bool) {
	listed := make(map[string]struct{}, len(list))
	for _, ordering := range list {
		listed[ordering] = struct{}{}
		if !b.holdsBack(ordering) {
			b.hold(ordering, asked)
		}
	}
	for ordering, stamp := range b.held {
		if _, still := listed[ordering]; still || stamp > asked {
			continue
		}
		delete(b.held, ordering)
		b.oweFrom(b.line(ordering, unknownLane), 1)
		letGo = true
	}
	return letGo
}

// drop forgets the lines of the lanes.
func (b *book) drop(gone func(Lane) bool) {
	for _, l := range b.lines {
		if l.lane == unknownLane || !gone(Lane(l.lane)) { //nolint:gosec // G115: it was a Lane.
			continue
		}
		for _, position := range l.out {
			delete(b.out, position)
		}
		b.acquit(l)
		delete(b.lines, l.ordering)
	}
}
