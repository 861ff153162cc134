package lanes

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/settleonce/settleonce/outbox"
)

// parsePosition reads a [outbox.Record.ID].
func parsePosition(id string) (int64, error) {
	position, err := strconv.ParseInt(id, 10, 64)
	if err != nil || position <= 0 {
		return 0, fmt.Errorf("lanes: the record's ID must be a position, is %q", id)
	}
	return position, nil
}

// Remove implements [outbox.Source]. A database crash may bring back what was
// removed shortly before; it is found by a rescan, and handed out once more.
func (s *Source) Remove(ctx context.Context, records []outbox.Record) error {
	positions := make([]int64, len(records))
	for i := range records {
		position, err := parsePosition(records[i].ID)
		if err != nil {
			return err
		}
		positions[i] = position
	}
	err := s.write(ctx, positions, func(t Ticket, positions []int64) error {
		return s.cfg.Table.Delete(ctx, t, positions)
	})
	s.reclaimLost(err, records...)
	s.failed(err)
	return err
}

// reclaimLost takes back what is handed out of the records' ordering keys where
// a write found one of them lost: the caller forgets all of it.
func (s *Source) reclaimLost(err error, records ...outbox.Record) {
	if !errors.Is(err, outbox.ErrLeaseLost) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tenure == nil {
		return
	}
	for i := range records {
		s.tenure.reclaim(records[i].Event.Ordering(), 0)
	}
	s.poke()
}

// SetAside implements [outbox.Source].
//
// Where it holds back what follows, that begins before the table is asked, and
// after an error ends only when the table was asked what it holds back. Before
// that the epoch is raised: a call that was given up could take effect
// afterwards, and what it holds back would be handed out (I8), or the record
// itself, which an operator then finds among the dead letters though it was
// delivered.
func (s *Source) SetAside(ctx context.Context, record outbox.Record, why outbox.Refusal) error {
	position, err := parsePosition(record.ID)
	if err != nil {
		return err
	}
	t, ordering := s.holdUntilTold(position)
	err = s.write(ctx, []int64{position}, func(t Ticket, positions []int64) error {
		return s.cfg.Table.Bury(ctx, t, positions[0], why, s.cfg.HoldBack)
	})
	s.reclaimLost(err, record)
	s.failed(err)
	if t != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.cfg.HoldBack {
			t.hold(ordering, t.nextHold())
		}
		if err != nil {
			t.askHeld, t.unsure = true, true
			notify(s.kicks)
		}
	}
	return err
}

// holdUntilTold holds back the ordering key of a position that is handed out,
// where the policy is to. A nil tenure: it is not handed out.
func (s *Source) holdUntilTold(position int64) (t *tenure, ordering string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t = s.tenure
	if t == nil || t.out[position] == nil {
		return nil, ""
	}
	ordering = t.out[position].ordering
	if s.cfg.HoldBack {
		t.hold(ordering, untilTold)
	}
	return t, ordering
}

// write carries out a guarded write about rows that are handed out, and forgets
// them. Their lanes count as in use meanwhile, so they can't be given up under
// it; the membership can be lost, and then the write does nothing.
//
// Rows that are not handed out may be gone, which is no error, or another
// relay's. The others are dealt with all the same.
func (s *Source) write(ctx context.Context, positions []int64, do func(Ticket, []int64) error) error {
	known, strange, t, done := s.use(positions)
	defer done()
	lost := false
	if len(strange) > 0 {
		pending, err := s.cfg.Table.ReadAt(ctx, strange)
		if err != nil {
			return fmt.Errorf("lanes: %w", err)
		}
		lost = len(pending) > 0
	}
	if len(known) > 0 {
		if err := s.writeKnown(ctx, t, known, do); err != nil {
			return err
		}
	}
	if lost {
		return fmt.Errorf("lanes: %w", outbox.ErrLeaseLost)
	}
	return nil
}

// use counts the lanes of those positions that are handed out as in use.
func (s *Source) use(positions []int64) (known, strange []int64, t *tenure, done func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t = s.tenure
	if t == nil {
		return nil, positions, nil, func() {}
	}
	known = make([]int64, 0, len(positions))
	lanes := make([]Lane, 0, len(positions))
	for _, position := range positions {
		l := t.out[position]
		if l == nil {
			strange = append(strange, position)
			continue
		}
		lane := Lane(l.lane) //nolint:gosec // G115: it was a Lane.
		t.users[lane]++
		lanes = append(lanes, lane)
		known = append(known, position)
	}
	return known, strange, t, s.releaser(t, lanes)
}

// writeKnown writes about rows whose lanes are in use. One epoch may end while
// it does, because other lanes are given up; then it tries with the next.
func (s *Source) writeKnown(ctx context.Context, t *tenure, positions []int64, do func(Ticket, []int64) error) error {
	ticket, current := s.ticketOf(t)
	for current {
		err := do(ticket, positions)
		if err == nil {
			s.forget(t, positions)
			return nil
		}
		if !errors.Is(err, ErrFenced) {
			return fmt.Errorf("lanes: %w", err)
		}
		var next Ticket
		if next, current, err = s.nextTicket(ctx, t); err != nil {
			return err
		}
		if current && next == ticket {
			s.lost(t)
			break
		}
		ticket = next
	}
	return fmt.Errorf("lanes: %w", outbox.ErrLeaseLost)
}

func (s *Source) ticketOf(t *tenure) (ticket Ticket, current bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return t.ticket, s.tenure == t
}

// nextTicket returns the ticket when no round is going on that could change it.
func (s *Source) nextTicket(ctx context.Context, t *tenure) (ticket Ticket, current bool, err error) {
	if err := s.enterRound(ctx); err != nil {
		return Ticket{}, false, err
	}
	defer s.leaveRound()
	ticket, current = s.ticketOf(t)
	return ticket, current, nil
}

func (s *Source) forget(t *tenure, positions []int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, position := range positions {
		l := t.takeBack(position)
		if l == nil {
			continue
		}
		if l.owed != 0 && l.settled() {
			s.poke() // What it owes may have waited for this.
		}
		t.tidy(l)
	}
}
