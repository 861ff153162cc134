package receipt

import "context"

// Map returns a store whose transactions are what repo makes of the ones of
// store: the caller's own unit of work, usually an interface. The same
// callback then runs on PostgreSQL in production and on a fake in tests.
//
// repo is called once a transaction, before the callback; it must do nothing
// but wrap. Where it panics the transaction is rolled back.
func Map[Tx, Repo any](store Store[Tx], repo func(Tx) Repo) Store[Repo] {
	return mappedStore[Tx, Repo]{store, repo}
}

type mappedStore[Tx, Repo any] struct {
	store Store[Tx]
	repo  func(Tx) Repo
}

var _ Store[int] = mappedStore[string, int]{}

func (s mappedStore[Tx, Repo]) History(ctx context.Context, keys ...Key) ([]Receipt, error) {
	return s.store.History(ctx, keys...)
}

func (s mappedStore[Tx, Repo]) Retryable(err error) bool { return s.store.Retryable(err) }

func (s mappedStore[Tx, Repo]) Begin(ctx context.Context, claim Claim) (Session[Repo], error) {
	session, err := s.store.Begin(ctx, claim)
	if err != nil {
		return nil, err
	}
	wrapped := false
	defer func() {
		if !wrapped { // repo panicked: nothing may stay open and hold the key.
			_ = session.Rollback(context.WithoutCancel(ctx))
		}
	}()
	mapped := &mappedSession[Tx, Repo]{session, s.repo(session.Tx())}
	wrapped = true
	return mapped, nil
}

type mappedSession[Tx, Repo any] struct {
	inner[Tx]
	repo Repo
}

var _ Session[int] = (*mappedSession[string, int])(nil)

// inner names the embedded session so that its Tx can be replaced.
type inner[Tx any] interface{ Session[Tx] }

func (s *mappedSession[Tx, Repo]) Tx() Repo { return s.repo }
