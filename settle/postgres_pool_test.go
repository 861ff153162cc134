package settle_test

import (
	"context"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/settleonce/settleonce/settle"
)

// signalled is a context that says when somebody begins to wait for its end. A
// follower of a flight does, and so does whoever asks the pool for a connection.
type signalled struct {
	context.Context //nolint:containedctx // It is a context.
	waited          func()
}

func (s signalled) Done() <-chan struct{} {
	s.waited()
	return s.Context.Done()
}

// TestDuplicatesHoldOneConnection has a hundred duplicates in one process,
// with a pool of two. They wait without a connection, so another key gets the
// second one.
func TestDuplicatesHoldOneConnection(t *testing.T) {
	t.Parallel()
	l := newDatabase(t).newLobby(t, setup{pool: func(cfg *pgxpool.Config) { cfg.MaxConns = 2 }})
	inside, release := make(chan struct{}), make(chan struct{})
	leader := l.start(t.Context(), l.winAnd(func(context.Context, *pgAttempt) error {
		close(inside)
		<-release
		return nil
	}))
	<-inside
	const followers = 99
	var waiting sync.WaitGroup
	waiting.Add(followers)
	answers := make([]<-chan answer, followers)
	for i := range answers {
		answers[i] = l.start(signalled{t.Context(), sync.OnceFunc(waiting.Done)}, l.win)
	}
	waiting.Wait()
	if held := l.pool.Stat().AcquiredConns(); held != 1 {
		t.Errorf("%d connections held, want 1", held)
	}
	other := request()
	other.Key.ID = "8"
	if _, err := settle.Do(t.Context(), l.runner, other, func(context.Context, *pgAttempt) (int, error) { return 0, nil }); err != nil {
		t.Errorf("another key: %v", err)
	}
	close(release)
	first := <-leader
	if first.err != nil || first.result.Replayed {
		t.Errorf("the first: %+v", first)
	}
	for i := range answers {
		follower := <-answers[i]
		if diff := cmp.Diff(first.result.Receipt, follower.result.Receipt); diff != "" || follower.err != nil || !follower.result.Replayed {
			t.Fatalf("duplicate %d: %v, replayed = %v, receipt (-first +its):\n%s", i, follower.err, follower.result.Replayed, diff)
		}
	}
	want := outcome{Calls: 1, Hooks: 1, OnReceipt: 2 + followers, OnReplay: followers, Rating: 10, Events: 1, Receipts: 2}
	if diff := cmp.Diff(want, l.seen(t)); diff != "" {
		t.Errorf("outcome (-want +got):\n%s", diff)
	}
}
