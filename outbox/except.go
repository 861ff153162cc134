package outbox

// except is the set of ordering keys that [Source.Next] must leave out. While
// a Next has the set it stays as it is; what changes meanwhile takes effect
// when it is back. One goroutine owns it.
type except struct {
	keys   map[string]struct{}
	lent   bool
	change map[string]bool // while lent: whether the key is a member
}

func newExcept() *except {
	return &except{keys: make(map[string]struct{}), change: make(map[string]bool)}
}

// lend returns the set for one call, which ends with takeBack.
func (e *except) lend() map[string]struct{} {
	e.lent = true
	return e.keys
}

func (e *except) takeBack() {
	e.lent = false
	for ordering, member := range e.change {
		e.set(ordering, member)
	}
	clear(e.change)
}

func (e *except) set(ordering string, member bool) {
	switch {
	case e.lent:
		e.change[ordering] = member
	case member:
		e.keys[ordering] = struct{}{}
	default:
		delete(e.keys, ordering)
	}
}
