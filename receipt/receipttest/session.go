package receipttest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/receipt"
)

// session is one open transaction that has its key. Its fake's mu guards it.
type session[Tx any] struct {
	fake            *Fake[Tx]
	claim           receipt.Claim
	tx              Tx
	claimed, newest *receipt.Receipt
	ended           bool
}

var _ receipt.Session[int] = (*session[int])(nil)

func (s *session[Tx]) Tx() Tx { return s.tx }

func (s *session[Tx]) Prior() (claimed, newest *receipt.Receipt) { return s.claimed, s.newest }

func (s *session[Tx]) Commit(ctx context.Context, r receipt.Receipt, events ...event.Event) (receipt.Receipt, error) {
	s.fake.mu.Lock()
	defer s.fake.mu.Unlock()
	if s.ended {
		return receipt.Receipt{}, notCommitted(ErrSessionEnded)
	}
	s.ended = true
	w := &work[Tx]{key: s.claim.Key, tx: s.tx, receipt: r.Clone(), events: cloneEvents(events)}
	if err := s.check(ctx, w); err != nil {
		s.fake.rollBack(w)
		return receipt.Receipt{}, notCommitted(err)
	}
	w.receipt.RecordedAt = s.fake.config.Now().UTC().Truncate(time.Microsecond)
	if err := s.fake.finish(w); err != nil {
		return receipt.Receipt{}, err
	}
	return w.receipt.Clone(), nil
}

// check reports why the transaction cannot commit, all causes at once.
func (s *session[Tx]) check(ctx context.Context, w *work[Tx]) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	broken := []error{w.receipt.Validate()}
	if w.receipt.Key != s.claim.Key || w.receipt.Revision != s.claim.Revision || w.receipt.Attempt != s.claim.Attempt {
		broken = append(broken, errors.New("the receipt's key, revision and attempt must be the claim's"))
	}
	for i := range w.events {
		if err := w.events[i].Validate(); err != nil {
			broken = append(broken, fmt.Errorf("event %d: %w", i, err))
		}
	}
	return errors.Join(broken...)
}

func (s *session[Tx]) Rollback(context.Context) error {
	s.fake.mu.Lock()
	defer s.fake.mu.Unlock()
	if s.ended {
		return nil
	}
	s.ended = true
	s.fake.rollBack(&work[Tx]{key: s.claim.Key, tx: s.tx})
	return nil
}
