package outbox

import (
	"slices"
	"sort"
)

// entry is one record of a directory, as far as it is known without reading
// its file.
type entry struct {
	name recordName
	size int64
	// ordering is the record's ordering key; "" until the file was read.
	ordering string
	// writing says that the record is not durable yet.
	writing bool
	// resting says that its file could not be read or moved a moment ago.
	resting bool
	// out says that Next has handed it out, and nobody has released it.
	out     bool
	removed bool
}

// index knows every pending record of a directory, in order. Its owner guards
// it with a mutex.
type index struct {
	// entries is sorted by time. Removed ones stay in it until they are at
	// its head or make up half of it.
	entries []*entry
	removed int
	byKey   map[string][]*entry
	bytes   int64
	// last is the latest time that any name has had.
	last int64
}

func newIndex() *index { return &index{byKey: make(map[string][]*entry)} }

// len returns the number of pending records.
func (x *index) len() int { return len(x.entries) - x.removed }

// note keeps later records later than a name that is not pending.
func (x *index) note(name recordName) { x.last = max(x.last, name.time) }

// nextTime returns the time for a new record: now, or what follows the latest
// one where the clock went back or stood still.
func (x *index) nextTime(now int64) int64 { return max(now, x.last+1) }

// timeAfter returns the first time after t that no pending record has.
func (x *index) timeAfter(t int64) int64 {
	for i := x.search(t + 1); ; i++ {
		t++
		if i == len(x.entries) || x.entries[i].name.time != t {
			return t
		}
	}
}

// search returns the position of the first entry whose time is t or later.
func (x *index) search(t int64) int {
	return sort.Search(len(x.entries), func(i int) bool { return x.entries[i].name.time >= t })
}

// insert adds a record at its place. It reports false, and changes nothing, if
// its time is taken.
func (x *index) insert(e *entry) bool {
	i := x.search(e.name.time)
	switch taken := i < len(x.entries) && x.entries[i].name.time == e.name.time; {
	case taken && !x.entries[i].removed:
		return false
	case taken: // By one that was set aside and comes back.
		x.entries[i] = e
		x.removed--
	default:
		x.entries = slices.Insert(x.entries, i, e)
	}
	x.byKey[e.name.key] = append(x.byKey[e.name.key], e)
	x.bytes += e.size
	x.note(e.name)
	return true
}

// remove takes a record out. Removing one twice changes nothing.
func (x *index) remove(e *entry) {
	if e.removed {
		return
	}
	e.removed = true
	x.removed++
	x.bytes -= e.size
	rest := slices.DeleteFunc(x.byKey[e.name.key], func(other *entry) bool { return other == e })
	if len(rest) == 0 {
		delete(x.byKey, e.name.key)
	} else {
		x.byKey[e.name.key] = rest
	}
	x.compact()
}

func (x *index) compact() {
	for len(x.entries) > 0 && x.entries[0].removed {
		x.entries = x.entries[1:]
		x.removed--
	}
	if x.removed > len(x.entries)/2 {
		x.entries = slices.DeleteFunc(x.entries, func(e *entry) bool { return e.removed })
		x.removed = 0
	}
}

// find returns the pending record of a name, or nil.
func (x *index) find(name recordName) *entry {
	for _, e := range x.byKey[name.key] {
		if e.name == name {
			return e
		}
	}
	return nil
}

// after returns the first pending record later than t that is not skipped, or
// nil.
func (x *index) after(t int64, skip func(*entry) bool) *entry {
	for _, e := range x.entries[x.search(t+1):] {
		if !e.removed && !skip(e) {
			return e
		}
	}
	return nil
}

// oldest returns the time of the oldest pending record.
func (x *index) oldest() (int64, bool) {
	if len(x.entries) == 0 {
		return 0, false
	}
	return x.entries[0].name.time, true // compact left no removed one at the head.
}
