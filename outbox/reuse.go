package outbox

import (
	"slices"
	"sync"
)

// reuse keeps the memory of slices from call to call. An event is large and full
// of pointers, and with a backlog to drain the garbage collector would take as
// much of the time as the relay.
//
// Safe for concurrent use. The zero reuse is ready.
type reuse[T any] struct{ kept sync.Pool }

// borrow returns an empty slice with room for so many.
func (r *reuse[T]) borrow(room int) []T {
	kept, found := r.kept.Get().(*[]T)
	if !found {
		return make([]T, 0, room)
	}
	return slices.Grow(*kept, room)
}

// giveBack keeps the slice's memory, and nothing of what is in it. Nobody else
// may have it any more.
func (r *reuse[T]) giveBack(slice []T) {
	clear(slice)
	slice = slice[:0]
	r.kept.Put(&slice)
}
