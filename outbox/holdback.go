package outbox

import "slices"

// holdBack knows the dead letters of a directory that hold back what follows
// them in their ordering keys. Its owner guards it with a mutex.
type holdBack struct {
	byFile map[string]heldLine
	// times has, by ordering key, the places of its dead letters, in order.
	times map[string][]int64
	// passes counts the walks along the pending records that are going on, and
	// ended has the ordering keys of which a dead letter stopped holding back
	// meanwhile. A walk may have passed some of their records by then, and must
	// not hand out the rest before those.
	passes int
	ended  map[string]struct{}
}

// heldLine is where in which ordering key a dead letter stands.
type heldLine struct {
	ordering string
	time     int64
}

func newHoldBack() holdBack {
	return holdBack{
		byFile: make(map[string]heldLine),
		times:  make(map[string][]int64),
		ended:  make(map[string]struct{}),
	}
}

func (h *holdBack) beginPass() { h.passes++ }

func (h *holdBack) endPass() {
	if h.passes--; h.passes == 0 {
		clear(h.ended)
	}
}

// add reports false, and changes nothing, if the file holds back already.
func (h *holdBack) add(file string, line heldLine) bool {
	if h.has(file) {
		return false
	}
	h.byFile[file] = line
	times := h.times[line.ordering]
	at, _ := slices.BinarySearch(times, line.time)
	h.times[line.ordering] = slices.Insert(times, at, line.time)
	return true
}

// remove ends what a file holds back. Removing one twice changes nothing.
func (h *holdBack) remove(file string) {
	line, found := h.byFile[file]
	if !found {
		return
	}
	delete(h.byFile, file)
	if h.passes > 0 {
		h.ended[line.ordering] = struct{}{}
	}
	times := h.times[line.ordering]
	at, _ := slices.BinarySearch(times, line.time)
	if times = slices.Delete(times, at, at+1); len(times) == 0 {
		delete(h.times, line.ordering)
		return
	}
	h.times[line.ordering] = times
}

// has reports whether a file holds back its ordering key.
func (h *holdBack) has(file string) bool {
	_, found := h.byFile[file]
	return found
}

// holds reports whether a record waits for a dead letter before it, or did as a
// walk that is going on began. Those behind it are no reason to wait.
func (h *holdBack) holds(ordering string, time int64) bool {
	if _, ended := h.ended[ordering]; ended {
		return true
	}
	times := h.times[ordering]
	return len(times) > 0 && times[0] < time
}

// lines returns how many ordering keys wait.
func (h *holdBack) lines() int { return len(h.times) }
