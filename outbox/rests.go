package outbox

import (
	"slices"
	"time"
)

// maxResting bounds how many ordering keys rest after a failure at once, and so
// what they take of memory. Past it, the relay takes on no further ones until
// one may be tried again: that many keys that fail alone can hold back others.
const maxResting = 1 << 16

// minOver is how many rests that are over are not worth a look.
const minOver = 64

// history is what is known of an ordering key since its last success.
type history struct {
	// failures is how often its first record failed.
	failures int
	// losses is how often the source handed it out and then said that it is
	// another relay's.
	losses int
	// unsettled says that the source could not let go of a record.
	unsettled bool
}

// rest is an ordering key whose last attempt did not make it.
type rest struct {
	history
	ordering string
	due      time.Time
	// over says that the source may return the key's records again.
	over bool
}

// rests are the ordering keys that are left alone after a failure, and those
// whose rest is over, until it is known what came of them. It knows no clock.
// One goroutine owns it.
type rests struct {
	all   map[string]*rest
	alone heap[*rest] // those that are not over, by their ends
	over  []*rest     // not all of them are in all any more
	// unsettled counts those in all of whose records the source could not let
	// go.
	unsettled int
}

func newRests() *rests {
	return &rests{
		all:   make(map[string]*rest),
		alone: heap[*rest]{before: func(a, b *rest) bool { return a.due.Before(b.due) }},
	}
}

// of returns the rest of an ordering key, nil if it has none.
func (r *rests) of(ordering string) *rest {
	if len(r.all) == 0 {
		return nil
	}
	return r.all[ordering]
}

// begin leaves an ordering key alone, which has no rest or one that is over.
func (r *rests) begin(ordering string, past history, due time.Time) {
	r.forget(ordering)
	rest := &rest{history: past, ordering: ordering, due: due}
	r.all[ordering] = rest
	r.alone.push(rest)
	if past.unsettled {
		r.unsettled++
	}
}

// forget ends what is known of an ordering key whose rest is over, if it had
// one.
func (r *rests) forget(ordering string) {
	rest := r.of(ordering)
	if rest == nil {
		return
	}
	delete(r.all, ordering)
	if rest.unsettled {
		r.unsettled--
	}
}

// end returns an ordering key whose rest ends by now, which is over then.
func (r *rests) end(now time.Time) (ordering string, found bool) {
	if r.alone.len() == 0 || now.Before(r.alone.first().due) {
		return "", false
	}
	rest := r.alone.pop()
	rest.over = true
	r.over = append(r.over, rest)
	r.compact()
	return rest.ordering, true
}

// again leaves the ordering keys alone once more whose rest is over and for which
// may says so, and returns them.
func (r *rests) again(may func(ordering string) bool) (orderings []string) {
	r.over = slices.DeleteFunc(r.over, func(rest *rest) bool {
		if r.all[rest.ordering] != rest {
			return true
		}
		if !may(rest.ordering) {
			return false
		}
		rest.over = false
		r.alone.push(rest)
		orderings = append(orderings, rest.ordering)
		return true
	})
	return orderings
}

// compact lets go of rests that are over and were forgotten since. Nobody sweeps
// them while the source always has more.
func (r *rests) compact() {
	if len(r.over) > minOver && len(r.over) > 2*len(r.all) {
		r.over = slices.DeleteFunc(r.over, func(rest *rest) bool { return r.all[rest.ordering] != rest })
	}
}

// next returns when the next rest ends.
func (r *rests) next() (time.Time, bool) {
	if r.alone.len() == 0 {
		return time.Time{}, false
	}
	return r.alone.first().due, true
}

// sweep forgets each rest that is over unless its ordering key is in use.
func (r *rests) sweep(inUse func(ordering string) bool) {
	r.over = slices.DeleteFunc(r.over, func(rest *rest) bool {
		if r.all[rest.ordering] != rest {
			return true
		}
		if inUse(rest.ordering) {
			return false
		}
		r.forget(rest.ordering)
		return true
	})
}
