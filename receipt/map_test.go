package receipt_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/receipt"
)

// recorder is a store that notes what it is asked.
type recorder struct {
	calls []string
	err   error
}

var (
	errStore = errors.New("store is away")

	_ receipt.Store[int]   = (*recorder)(nil)
	_ receipt.Session[int] = (*recorder)(nil)
)

func (s *recorder) note(call string) { s.calls = append(s.calls, call) }

func (s *recorder) History(_ context.Context, keys ...receipt.Key) ([]receipt.Receipt, error) {
	var history []receipt.Receipt
	for _, key := range keys {
		s.note("history " + key.ID)
		history = append(history, receipt.Receipt{Key: key})
	}
	return history, s.err
}

func (s *recorder) Retryable(err error) bool { return errors.Is(err, errStore) }

func (s *recorder) Begin(_ context.Context, claim receipt.Claim) (receipt.Session[int], error) {
	s.note("begin " + claim.Key.ID)
	if s.err != nil {
		return nil, s.err
	}
	return s, nil
}

func (s *recorder) Tx() int { return 7 }

func (s *recorder) Prior() (claimed, newest *receipt.Receipt) {
	return &receipt.Receipt{Revision: 1}, &receipt.Receipt{Revision: 2}
}

func (s *recorder) Beside() []receipt.Receipt { return []receipt.Receipt{{Revision: 3}} }

func (s *recorder) BeganAt() time.Time { return time.Unix(4, 0) }

func (s *recorder) Add(receipts ...receipt.Receipt) { s.note("add " + receipts[0].Attempt) }

func (s *recorder) Commit(_ context.Context, r receipt.Receipt, events ...event.Event) (receipt.Receipt, error) {
	s.note("commit " + r.Attempt + " with " + events[0].ID)
	r.Revision = 9
	return r, s.err
}

func (s *recorder) Rollback(ctx context.Context) error {
	if ctx.Err() != nil {
		s.note("rollback that cannot reach the database")
		return ctx.Err()
	}
	s.note("rollback")
	return nil
}

// repository stands for a caller's own unit of work.
type repository struct{ tx int }

func TestMap(t *testing.T) {
	t.Parallel()
	store, made := &recorder{}, 0
	mapped := receipt.Map(store, func(tx int) *repository {
		made++
		return &repository{tx}
	})
	ctx := t.Context()
	history, err := mapped.History(ctx, receipt.Key{ID: "k"}, receipt.Key{ID: "l"})
	if err != nil || len(history) != 2 || history[0].Key.ID != "k" || history[1].Key.ID != "l" {
		t.Errorf("history %v, error %v", history, err)
	}
	if !mapped.Retryable(errStore) || mapped.Retryable(errors.New("other")) {
		t.Error("Retryable is not the store's")
	}
	session, err := mapped.Begin(ctx, receipt.Claim{Key: receipt.Key{ID: "k"}})
	if err != nil {
		t.Fatal(err)
	}
	first, second := session.Tx(), session.Tx()
	if first.tx != 7 || first != second || made != 1 {
		t.Errorf("repositories %v and %v, made %d times, want one around transaction 7", first, second, made)
	}
	if claimed, newest := session.Prior(); claimed.Revision != 1 || newest.Revision != 2 {
		t.Errorf("prior receipts %v and %v are not the store's", claimed, newest)
	}
	if beside := session.Beside(); len(beside) != 1 || beside[0].Revision != 3 {
		t.Errorf("receipts beside %v are not the store's", beside)
	}
	if began := session.BeganAt(); !began.Equal(time.Unix(4, 0)) {
		t.Errorf("began at %v, which is not the store's clock", began)
	}
	session.Add(receipt.Receipt{Attempt: "b"})
	committed, err := session.Commit(ctx, receipt.Receipt{Attempt: "a"}, event.Event{ID: "e"})
	if err != nil || committed.Revision != 9 {
		t.Errorf("committed %v, error %v, want the store's receipt", committed, err)
	}
	if err := session.Rollback(ctx); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"history k", "history l", "begin k", "add b", "commit a with e", "rollback"}, store.calls); diff != "" {
		t.Errorf("calls of the store (-want +got):\n%s", diff)
	}
}

func TestMapPassesErrorsOn(t *testing.T) {
	t.Parallel()
	mapped := receipt.Map(&recorder{err: errStore}, func(int) repository {
		t.Error("a repository was made without a transaction")
		return repository{}
	})
	if session, err := mapped.Begin(t.Context(), receipt.Claim{}); !errors.Is(err, errStore) || session != nil {
		t.Errorf("session %v, error %v", session, err)
	}
	if _, err := mapped.History(t.Context(), receipt.Key{}); !errors.Is(err, errStore) {
		t.Errorf("error %v", err)
	}
}

// TestMapRollsBackWhenRepositoryPanics also cancels the context, which must
// not keep the transaction open.
func TestMapRollsBackWhenRepositoryPanics(t *testing.T) {
	t.Parallel()
	store := &recorder{}
	ctx, cancel := context.WithCancel(t.Context())
	mapped := receipt.Map(store, func(int) repository {
		cancel()
		panic("no repository")
	})
	func() {
		defer func() {
			if cause := recover(); cause != "no repository" {
				t.Errorf("recovered %v", cause)
			}
		}()
		_, _ = mapped.Begin(ctx, receipt.Claim{Key: receipt.Key{ID: "k"}})
	}()
	if diff := cmp.Diff([]string{"begin k", "rollback"}, store.calls); diff != "" {
		t.Errorf("calls of the store (-want +got):\n%s", diff)
	}
}
