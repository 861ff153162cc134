package faults

import (
	"math/rand/v2"
	"slices"
	"sync"
)

// Plan says which delivery meets which fault. Results are numbered as they
// first come by; each number has its faults, one for each of its first
// deliveries. The same seed gives the same plan.
//
// Safe for concurrent use.
type Plan struct {
	mu    sync.Mutex
	due   map[int][]Name // by number
	seen  map[string]int // from room to number
	again []Name         // put back, for the next that has none of its own
	tries map[Name]int   // how often each was put back
	spare map[string]bool
}

// NewPlan spreads the faults of single deliveries over so many matches: each
// about once in twenty-five, and at least once; those that stop the traffic
// less often. Faults of other kinds are left out.
func NewPlan(seed uint64, matches int, faults []Name) *Plan {
	plan := &Plan{due: make(map[int][]Name), seen: make(map[string]int), tries: make(map[Name]int), spare: make(map[string]bool)}
	if matches < 1 {
		return plan
	}
	random := rand.New(rand.NewPCG(seed, 0xfa17)) //nolint:gosec // a plan is to repeat
	numbers := random.Perm(matches)
	next := 0
	for _, fault := range inOrder() {
		if !slices.Contains(faults, fault) {
			continue
		}
		for range occurrences(fault, matches) {
			number := numbers[next%matches]
			next++
			plan.due[number] = append(plan.due[number], fault)
		}
	}
	return plan
}

// inOrder returns the faults of single deliveries in the order in which one
// result can meet them all: first those that keep it from the lobby, then the
// one that needs it unsettled, last the one that answers.
func inOrder() []Name {
	return []Name{Unavailable, BareOK, BareNotFound, KillLobby, LostAnswer, DuplicateStorm}
}

func occurrences(fault Name, matches int) int {
	switch fault {
	case LostAnswer, Unavailable, BareOK, BareNotFound:
		return max(1, matches/25)
	case DuplicateStorm:
		return max(1, matches/50)
	case KillLobby:
		return max(1, min(2, matches/50))
	default:
		return 0
	}
}

// Next takes the fault of this delivery of a room's result; "" is none.
func (p *Plan) Next(room string) Name {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.spare[room] {
		return ""
	}
	number, known := p.seen[room]
	if !known {
		number = len(p.seen)
		p.seen[room] = number
	}
	// Its own faults come first: one that was put back may end in a receipt,
	// and then the result does not come by again.
	if due := p.due[number]; len(due) > 0 {
		p.due[number] = due[1:]
		return due[0]
	}
	if len(p.again) > 0 {
		fault := p.again[0]
		p.again = p.again[1:]
		return fault
	}
	return ""
}

// Spare keeps further faults from a room's result, which is part of another
// fault already.
func (p *Plan) Spare(room string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.spare[room] = true
}

// maxTries bounds how often a fault is put back: one that cannot happen must not
// hold up the run for ever.
const maxTries = 8

// PutBack gives a fault that came to nothing to a later delivery.
func (p *Plan) PutBack(fault Name) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.tries[fault]++; p.tries[fault] <= maxTries {
		p.again = append(p.again, fault)
	}
}
