package lanes

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// keep makes a round every so often, until the source is closed and no member
// any more.
func (s *Source) keep(ctx context.Context) {
	pause := s.terms.renewal
	for {
		timer := time.NewTimer(s.jitter(pause))
		select {
		case <-timer.C:
		case <-s.kicks:
		}
		timer.Stop()
		leaving, err := s.backgroundRound(ctx)
		s.report(&s.roundErr, err)
		if s.gone(err) {
			return
		}
		pause = s.terms.renewal
		if err != nil || leaving {
			pause = s.terms.retry
		}
	}
}

// gone reports whether the source is closed and no member any more, and tells
// Close.
func (s *Source) gone(err error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed || s.tenure != nil {
		return false
	}
	s.leaveErr = err
	close(s.left)
	return true
}

func (s *Source) jitter(pause time.Duration) time.Duration {
	return pause - time.Duration(s.cfg.Random()*float64(pause)/5)
}

// backgroundRound reports whether the source waits to leave.
func (s *Source) backgroundRound(ctx context.Context) (leaving bool, err error) {
	if err := s.enterRound(ctx); err != nil {
		return false, err
	}
	defer s.leaveRound()
	err = s.round(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tenure != nil && s.tenure.leaving, err
}

// round renews the membership, learns what others did, and moves towards a fair
// share of the lanes. Only one runs at a time. None waits for anything but the
// table.
func (s *Source) round(ctx context.Context) error {
	s.mu.Lock()
	t := s.tenure
	leaving := t != nil && t.leaving
	s.mu.Unlock()
	switch {
	case t == nil:
		return nil
	case leaving:
		return s.leaveIfQuiet(ctx, t)
	}
	err := s.renew(ctx, t)
	for _, step := range []func(context.Context, *tenure) error{s.give, s.take, s.readHeld} {
		if err == nil {
			err = step(ctx, t)
		}
	}
	if errors.Is(err, ErrFenced) {
		s.lost(t)
		return nil // The next Next joins.
	}
	return err
}

// lost drops the membership, of which somebody else has disposed.
func (s *Source) lost(t *tenure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tenure != t {
		return
	}
	s.tenure = nil
	s.cfg.Logger.Warn("lanes: the membership was lost: it was not renewed in time", "relay", t.ticket.ID)
	s.poke()
}

func (s *Source) renew(ctx context.Context, t *tenure) error {
	ctx, cancel := context.WithTimeout(ctx, s.terms.call)
	defer cancel()
	sent := s.cfg.Clock.Now()
	roster, err := s.cfg.Table.Renew(ctx, t.ticket, s.terms.membership)
	if err != nil {
		return fmt.Errorf("lanes: renew: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t.renew(sent)
	if t.roster.Relays > 0 && roster.Requeued != t.roster.Requeued || s.shaken {
		s.shaken, t.askHeld = false, true
		s.scanner.rescan()
	}
	t.roster = roster
	return nil
}

// give gives up the lanes above the share: it marks them, and lets go of them
// in the first round that finds none of them in use. It also raises the epoch
// where nothing else makes sure what became of a write.
func (s *Source) give(ctx context.Context, t *tenure) error {
	s.mu.Lock()
	if excess := t.count(ours, unread) - t.share(); excess > 0 {
		t.giveUp(t.leastUsed(excess))
	}
	lanes := t.in(giving)
	if !t.quiet() {
		lanes = nil
	}
	if len(lanes) == 0 && !t.unsure {
		s.mu.Unlock()
		return nil
	}
	// Nobody can use them any more from here on.
	t.lose(lanes)
	t.unsure = false
	s.mu.Unlock()

	ctx, cancel := context.WithTimeout(ctx, s.terms.call)
	defer cancel()
	ticket, err := s.cfg.Table.Give(ctx, t.ticket, lanes)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		t.leave()
		return fmt.Errorf("lanes: give %d lanes: %w", len(lanes), err)
	}
	t.ticket = ticket
	if len(lanes) > 0 {
		s.cfg.Logger.Info("lanes: gave up lanes", "relay", ticket.ID, "lanes", len(lanes), "held", len(t.lanes))
	}
	return nil
}

// take takes free lanes up to the share.
func (s *Source) take(ctx context.Context, t *tenure) error {
	s.mu.Lock()
	missing := t.share() - t.count(ours, unread)
	free := t.roster.Free
	s.mu.Unlock()
	if missing <= 0 || free == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.terms.call)
	defer cancel()
	lanes, err := s.cfg.Table.Take(ctx, t.ticket, missing)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		t.leave()
		return fmt.Errorf("lanes: take %d lanes: %w", missing, err)
	}
	if len(lanes) > 0 {
		t.take(lanes)
		t.askHeld = true
		s.cfg.Logger.Info("lanes: took lanes", "relay", t.ticket.ID, "lanes", len(lanes), "held", len(t.lanes))
	}
	return nil
}

// readHeld asks which ordering keys are held back, where that may have changed,
// and then lets lanes be read that were taken.
func (s *Source) readHeld(ctx context.Context, t *tenure) error {
	s.mu.Lock()
	if !t.askHeld || t.unsure { // The next round makes sure first.
		s.mu.Unlock()
		return nil
	}
	lanes, asked := append(t.in(unread), t.in(ours)...), t.holds
	t.askHeld = false
	s.mu.Unlock()
	var held []string
	if len(lanes) > 0 {
		ctx, cancel := context.WithTimeout(ctx, s.terms.call)
		defer cancel()
		var err error
		if held, err = s.cfg.Table.HeldBack(ctx, lanes); err != nil {
			s.mu.Lock()
			t.askHeld = true
			s.mu.Unlock()
			return fmt.Errorf("lanes: read what is held back: %w", err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t.setHeld(held, asked)
	t.open(t.in(unread))
	s.poke()
	return nil
}

// leaveIfQuiet ends the membership once nothing is in use, or nothing may be.
func (s *Source) leaveIfQuiet(ctx context.Context, t *tenure) error {
	s.mu.Lock()
	waiting := !t.quiet() && t.left(s.cfg.Clock.Now(), s.terms.valid) > 0
	if !waiting {
		s.tenure = nil
	}
	s.mu.Unlock()
	if waiting {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.terms.call)
	defer cancel()
	s.poke()
	if err := s.cfg.Table.Leave(ctx, t.ticket); err != nil {
		return fmt.Errorf("lanes: leave: %w; the lanes stay taken until the lease is over", err)
	}
	return nil
}
