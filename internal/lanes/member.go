package lanes

import (
	"context"
	"fmt"
	"time"

	"github.com/settleonce/settleonce/outbox"
)

// terms are the times that follow from [Config.Lease]. Another relay has taken
// over within the Lease, since a membership ends after three quarters of it and
// everybody renews, and looks for what is free, within the next fifth.
type terms struct {
	// membership is what the table is asked for.
	membership time.Duration
	// valid is how long the relay itself takes a renewal to last.
	valid time.Duration
	// renewal is the pause between two renewals, and retry that after one that
	// failed, both less up to a fifth by chance.
	renewal time.Duration
	retry   time.Duration
	// call bounds each call about the membership.
	call time.Duration
}

func termsOf(lease time.Duration) terms {
	return terms{
		membership: lease * 3 / 4,
		valid:      lease * 5 / 8,
		renewal:    lease / 5,
		retry:      lease / 20,
		call:       lease / 5,
	}
}

// member returns the tenure, with a lease that lasts. It joins, or renews, where
// there is none. Nil without an error: the source waits for what is in use, to
// end a membership of which it does not know which lanes it has.
func (s *Source) member(ctx context.Context) (*tenure, error) {
	t, err := s.lasting()
	if t != nil || err != nil {
		return t, err
	}
	if err := s.enterRound(ctx); err != nil {
		return nil, err
	}
	defer s.leaveRound()
	// The first round may find that the membership is lost, the second is then
	// that of a new one.
	for range 2 {
		if t, err := s.lasting(); t != nil || err != nil {
			return t, err
		}
		if err := s.join(ctx); err != nil {
			return nil, err
		}
		if err := s.round(ctx); err != nil {
			return nil, err
		}
	}
	return s.lasting()
}

// lasting returns the tenure where there is nothing to do about it: its lease
// lasts, it goes on, and it is known what is held back.
func (s *Source) lasting() (*tenure, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tenure
	switch {
	case s.closed:
		return nil, outbox.ErrClosed
	case t == nil || t.leaving || t.askHeld || t.left(s.cfg.Clock.Now(), s.terms.valid) <= 0:
		return nil, nil
	default:
		return t, nil
	}
}

func (s *Source) enterRound(ctx context.Context) error {
	select {
	case s.rounds <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *Source) leaveRound() { <-s.rounds }

// join becomes a member, where the source is none.
func (s *Source) join(ctx context.Context) error {
	s.mu.Lock()
	member := s.tenure != nil
	s.start() //nolint:contextcheck // The work in the background outlives the call that started it.
	s.mu.Unlock()
	if member {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.terms.call)
	defer cancel()
	sent := s.cfg.Clock.Now()
	ticket, err := s.cfg.Table.Join(ctx, s.terms.membership)
	if err != nil {
		return fmt.Errorf("lanes: join: %w", err)
	}
	s.mu.Lock()
	s.tenure = newTenure(ticket, sent)
	if s.closed {
		s.tenure.leave()
	}
	s.mu.Unlock()
	s.cfg.Logger.Info("lanes: joined", "relay", ticket.ID)
	return nil
}

// start starts the work in the background, once. The caller holds mu.
func (s *Source) start() {
	if s.stopScan != nil {
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	s.stopScan, s.left = stop, make(chan struct{})
	s.background.Go(func() { s.scan(ctx) })
	s.background.Go(func() { s.keep(context.WithoutCancel(ctx)) })
}
