package outbox

import "slices"

// heap hands out its items in the order of before, the first one first.
type heap[T any] struct {
	items  []T
	before func(a, b T) bool
}

func (h *heap[T]) len() int { return len(h.items) }

// first returns the item that pop would take. There must be one.
func (h *heap[T]) first() T { return h.items[0] }

func (h *heap[T]) push(item T) {
	h.items = append(h.items, item)
	at := len(h.items) - 1
	for at > 0 {
		parent := (at - 1) / 2
		if !h.before(h.items[at], h.items[parent]) {
			return
		}
		h.items[at], h.items[parent] = h.items[parent], h.items[at]
		at = parent
	}
}

// pop takes the first item out. There must be one.
func (h *heap[T]) pop() T {
	first, last := h.items[0], len(h.items)-1
	h.items[0] = h.items[last]
	var none T
	h.items[last] = none
	h.items = h.items[:last]
	h.sink(0)
	return first
}

// keep leaves out what wanted does not want.
func (h *heap[T]) keep(wanted func(item T) bool) {
	h.items = slices.DeleteFunc(h.items, func(item T) bool { return !wanted(item) })
	h.order()
}

// order makes the heap right again after before has changed its mind.
func (h *heap[T]) order() {
	for at := len(h.items)/2 - 1; at >= 0; at-- {
		h.sink(at)
	}
}

// sink moves an item away from the front until none behind it goes before it.
func (h *heap[T]) sink(at int) {
	for {
		child := 2*at + 1
		if child >= len(h.items) {
			return
		}
		if child+1 < len(h.items) && h.before(h.items[child+1], h.items[child]) {
			child++
		}
		if !h.before(h.items[child], h.items[at]) {
			return
		}
		h.items[at], h.items[child] = h.items[child], h.items[at]
		at = child
	}
}
