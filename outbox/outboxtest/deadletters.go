package outboxtest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/settleonce/settleonce/outbox"
)

// Aside is a record that was set aside.
type Aside struct {
	Record outbox.Record
	Why    outbox.Refusal
}

// Discarded is a dead letter that was discarded.
type Discarded struct {
	Record outbox.Record
	Why    outbox.Refusal
	// Reason is the one that Discard was given.
	Reason string
}

var _ outbox.DeadLetters = (*Source)(nil)

// Aside returns what was set aside and not requeued or discarded since, in the
// order in which it was.
func (s *Source) Aside() []Aside {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.aside)
}

// Discarded returns what was discarded, in the order in which it was.
func (s *Source) Discarded() []Discarded {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.discarded)
}

// DeadLetters lists dead letters, as [outbox.DeadLetters] says. The ID of one
// is its record's.
func (s *Source) DeadLetters(ctx context.Context, after string, limit int) ([]outbox.DeadLetter, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("outboxtest: DeadLetters: %w", err)
	}
	from := 0
	if after != "" {
		at, found := position(s.dead, after)
		from = at
		if found {
			from++
		}
	}
	var letters []outbox.DeadLetter
	for _, r := range s.dead[from:] {
		if len(letters) >= limit {
			break
		}
		letters = append(letters, r.deadLetter())
	}
	return letters, nil
}

func (r *row) deadLetter() outbox.DeadLetter {
	e := r.record.Event.Clone()
	return outbox.DeadLetter{
		ID:        r.record.ID,
		Event:     &e,
		Size:      int64(len(e.Data)),
		Time:      r.asideAt,
		Reason:    r.why.Reason,
		Attempts:  r.why.Attempts,
		HoldsBack: r.holdsBack,
	}
}

// Requeue makes a dead letter pending again, as [outbox.DeadLetters] says.
func (s *Source) Requeue(ctx context.Context, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.fault(ctx, Requeue); err != nil {
		return err
	}
	r, err := s.exhume(id)
	if err != nil {
		return err
	}
	s.pending = insert(s.pending, r)
	s.poke()
	return nil
}

// Discard ends a dead letter, as [outbox.DeadLetters] says. [Source.Discarded]
// shows it.
func (s *Source) Discard(ctx context.Context, id, reason string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.fault(ctx, Discard); err != nil {
		return err
	}
	if reason == "" {
		return errors.New("outboxtest: Discard: the reason must not be empty")
	}
	r, err := s.exhume(id)
	if err != nil {
		return err
	}
	s.discarded = append(s.discarded, Discarded{r.record, r.why, reason})
	s.poke()
	return nil
}

func (s *Source) bury(r *row, why outbox.Refusal) {
	r.out, r.why, r.asideAt = false, why, s.clock()
	r.holdsBack = s.Policy == outbox.HoldBack
	s.dead = insert(s.dead, r)
	s.aside = append(s.aside, Aside{r.record, why})
}

func (s *Source) exhume(id string) (*row, error) {
	rest, r := take(s.dead, id)
	if r == nil {
		return nil, fmt.Errorf("%w: %q", outbox.ErrNoDeadLetter, id)
	}
	s.dead = rest
	s.aside = slices.DeleteFunc(s.aside, func(a Aside) bool { return a.Record.ID == id })
	return r, nil
}

// holding returns the ordering keys that wait for a dead letter, and the number
// of the first that each waits for.
func (s *Source) holding() map[string]int {
	holding := make(map[string]int)
	for _, r := range s.dead {
		if _, known := holding[r.record.Event.Ordering()]; r.holdsBack && !known {
			holding[r.record.Event.Ordering()] = r.number
		}
	}
	return holding
}
