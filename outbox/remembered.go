package outbox

import (
	"container/list"
	"time"
)

// Acknowledged is the last event of an ordering key that a [Relay] delivered.
type Acknowledged struct {
	// RecordID is the source's name for it.
	RecordID string
	EventID  string
	// Position is the event's, zero if it has none.
	Position int64
	// Time is when the source had let go of it, by the relay's clock.
	Time time.Time
}

// remembered holds what was acknowledged last of the ordering keys that were
// acknowledged last, up to a number of them.
type remembered struct {
	most  int
	byKey map[string]*list.Element
	order *list.List // of *memory; the one that was acknowledged last is in front
}

type memory struct {
	ordering string
	last     Acknowledged
}

func newRemembered(most int) *remembered {
	return &remembered{most: most, byKey: make(map[string]*list.Element), order: list.New()}
}

func (r *remembered) add(ordering string, last Acknowledged) {
	element := r.byKey[ordering]
	switch {
	case element != nil:
		r.order.MoveToFront(element)
	case r.order.Len() < r.most:
		element = r.order.PushFront(&memory{ordering: ordering})
		r.byKey[ordering] = element
	default:
		element = r.order.Back()
		delete(r.byKey, element.Value.(*memory).ordering)
		element.Value.(*memory).ordering = ordering
		r.order.MoveToFront(element)
		r.byKey[ordering] = element
	}
	element.Value.(*memory).last = last
}

func (r *remembered) of(ordering string) (Acknowledged, bool) {
	element := r.byKey[ordering]
	if element == nil {
		return Acknowledged{}, false
	}
	return element.Value.(*memory).last, true
}
