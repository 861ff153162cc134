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
	beside          []receipt.Receipt
	beganAt         time.Time
	added           []receipt.Receipt
	ended           bool
}

var _ receipt.Session[int] = (*session[int])(nil)

func (s *session[Tx]) Tx() Tx { return s.tx }

func (s *session[Tx]) Prior() (claimed, newest *receipt.Receipt) { return s.claimed, s.newest }

func (s *session[Tx]) Beside() []receipt.Receipt { return s.beside }

func (s *session[Tx]) BeganAt() time.Time { return s.beganAt }

func (s *session[Tx]) Add(receipts ...receipt.Receipt) {
	s.added = append(s.added, cloneReceipts(receipts)...)
}

func (s *session[Tx]) Commit(ctx context.Context, r receipt.Receipt, events ...event.Event) (receipt.Receipt, error) {
	s.fake.mu.Lock()
	defer s.fake.mu.Unlock()
	if s.ended {
		return receipt.Receipt{}, notCommitted(ErrSessionEnded)
	}
	s.ended = true
	receipts := append([]receipt.Receipt{r.Clone()}, s.added...)
	w := &work[Tx]{key: s.claim.Key, tx: s.tx, receipts: receipts, events: cloneEvents(events)}
	if err := s.check(ctx, w); err != nil {
		s.fake.rollBack(w)
		return receipt.Receipt{}, notCommitted(err)
	}
	now := s.fake.now()
	for i := range w.receipts {
		w.receipts[i].RecordedAt = now
	}
	w.outdated = s.outdated()
	if err := s.fake.finish(w); err != nil {
		return receipt.Receipt{}, err
	}
	return w.receipts[0].Clone(), nil
}

// check reports why the transaction cannot commit, all causes at once.
func (s *session[Tx]) check(ctx context.Context, w *work[Tx]) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	broken := []error{s.claim.CheckReceipts(w.receipts...)}
	for i := range w.events {
		if err := w.events[i].Validate(); err != nil {
			broken = append(broken, fmt.Errorf("event %d: %w", i, err))
		}
	}
	return errors.Join(broken...)
}

// outdated reports whether a key beside got its receipt after the snapshot of
// a serializable transaction, which then decided without it.
func (s *session[Tx]) outdated() bool {
	return s.claim.Isolation == receipt.Serializable && len(s.fake.firstOf(s.claim.Beside)) != len(s.beside)
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
