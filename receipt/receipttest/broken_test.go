package receipttest_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/settleonce/settleonce/fingerprint"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/receipt"
	"github.com/settleonce/settleonce/receipt/receipttest"
)

type (
	store   = receipt.Store[memoryTx]
	session = receipt.Session[memoryTx]
	subject = receipttest.Subject[memoryTx]
)

// brokenStore is a good store in which single calls are replaced. Nil: as the
// good one does.
type brokenStore struct {
	store
	begin     func(context.Context, receipt.Claim) (session, error)
	history   func(context.Context, ...receipt.Key) ([]receipt.Receipt, error)
	retryable func(error) bool
	session   func(receipt.Claim, session) session
}

func (b *brokenStore) Begin(ctx context.Context, claim receipt.Claim) (session, error) {
	begin := b.store.Begin
	if b.begin != nil {
		begin = b.begin
	}
	opened, err := begin(ctx, claim)
	if err != nil || b.session == nil {
		return opened, err
	}
	return b.session(claim, opened), nil
}

func (b *brokenStore) History(ctx context.Context, keys ...receipt.Key) ([]receipt.Receipt, error) {
	if b.history != nil {
		return b.history(ctx, keys...)
	}
	return b.store.History(ctx, keys...)
}

func (b *brokenStore) Retryable(err error) bool {
	if b.retryable != nil {
		return b.retryable(err)
	}
	return b.store.Retryable(err)
}

// brokenSession is a good session in which single calls are replaced.
type brokenSession struct {
	session
	tx       func() memoryTx
	prior    func() (claimed, newest *receipt.Receipt)
	beside   func() []receipt.Receipt
	beganAt  func() time.Time
	add      func([]receipt.Receipt)
	commit   func(context.Context, receipt.Receipt, []event.Event) (receipt.Receipt, error)
	rollback func(context.Context) error
}

func (b *brokenSession) Tx() memoryTx {
	if b.tx != nil {
		return b.tx()
	}
	return b.session.Tx()
}

func (b *brokenSession) Prior() (claimed, newest *receipt.Receipt) {
	if b.prior != nil {
		return b.prior()
	}
	return b.session.Prior()
}

func (b *brokenSession) Beside() []receipt.Receipt {
	if b.beside != nil {
		return b.beside()
	}
	return b.session.Beside()
}

func (b *brokenSession) BeganAt() time.Time {
	if b.beganAt != nil {
		return b.beganAt()
	}
	return b.session.BeganAt()
}

func (b *brokenSession) Add(receipts ...receipt.Receipt) {
	if b.add != nil {
		b.add(receipts)
		return
	}
	b.session.Add(receipts...)
}

func (b *brokenSession) Commit(ctx context.Context, r receipt.Receipt, events ...event.Event) (receipt.Receipt, error) {
	if b.commit != nil {
		return b.commit(ctx, r, events)
	}
	return b.session.Commit(ctx, r, events...)
}

func (b *brokenSession) Rollback(ctx context.Context) error {
	if b.rollback != nil {
		return b.rollback(ctx)
	}
	return b.session.Rollback(ctx)
}

// world is a Memory in which single calls are replaced.
type world struct {
	*receipttest.Memory[int]
	begin    func() memoryTx
	commit   func(memoryTx) error
	rollback func(memoryTx)
}

func (w *world) Begin() memoryTx {
	if w.begin != nil {
		return w.begin()
	}
	return w.Memory.Begin()
}

func (w *world) Commit(tx memoryTx) error {
	if w.commit != nil {
		return w.commit(tx)
	}
	return w.Memory.Commit(tx)
}

func (w *world) Rollback(tx memoryTx) {
	if w.rollback != nil {
		w.rollback(tx)
		return
	}
	w.Memory.Rollback(tx)
}

// openOver returns a good store over w.
func openOver(tb testing.TB, w *world) subject {
	tb.Helper()
	fake, err := receipttest.New(receipttest.Config[memoryTx]{World: w})
	if err != nil {
		tb.Fatal(err)
	}
	return subjectOf(fake, w.Memory)
}

// breakWorld returns an opener of stores whose world is changed.
func breakWorld(change func(*world)) func(testing.TB) subject {
	return func(tb testing.TB) subject {
		tb.Helper()
		w := &world{Memory: &receipttest.Memory[int]{}}
		change(w)
		return openOver(tb, w)
	}
}

// breakSubject returns an opener of good stores that are then changed.
func breakSubject(change func(*subject)) func(testing.TB) subject {
	return func(tb testing.TB) subject {
		tb.Helper()
		s := openOver(tb, &world{Memory: &receipttest.Memory[int]{}})
		change(&s)
		return s
	}
}

// breakStore returns an opener of good stores in which change replaces calls.
func breakStore(change func(*brokenStore)) func(testing.TB) subject {
	return breakSubject(func(s *subject) {
		broken := &brokenStore{store: s.Store}
		change(broken)
		s.Store = broken
	})
}

// breakSession returns an opener of stores in whose sessions change replaces
// calls.
func breakSession(change func(receipt.Claim, *brokenSession)) func(testing.TB) subject {
	return breakStore(func(b *brokenStore) {
		b.session = func(claim receipt.Claim, opened session) session {
			broken := &brokenSession{session: opened}
			change(claim, broken)
			return broken
		}
	})
}

// breakCommit returns an opener of stores whose Commit gets other arguments.
func breakCommit(
	change func(context.Context, receipt.Claim, *receipt.Receipt, []event.Event) (context.Context, []event.Event),
) func(testing.TB) subject {
	return breakSession(func(claim receipt.Claim, b *brokenSession) {
		b.commit = func(ctx context.Context, r receipt.Receipt, events []event.Event) (receipt.Receipt, error) {
			ctx, events = change(ctx, claim, &r, events)
			return b.session.Commit(ctx, r, events...)
		}
	})
}

// breakReceipts returns an opener of stores that give back every receipt
// changed, whichever way it is read.
func breakReceipts(change func(*receipt.Receipt)) func(testing.TB) subject {
	return breakStore(func(b *brokenStore) {
		b.history = func(ctx context.Context, keys ...receipt.Key) ([]receipt.Receipt, error) {
			found, err := b.store.History(ctx, keys...)
			for i := range found {
				change(&found[i])
			}
			return found, err
		}
		b.session = func(_ receipt.Claim, opened session) session {
			broken := &brokenSession{session: opened}
			broken.prior = func() (claimed, newest *receipt.Receipt) { return changeEach(opened, change) }
			broken.beside = func() []receipt.Receipt {
				beside := opened.Beside()
				for i := range beside {
					change(&beside[i])
				}
				return beside
			}
			return broken
		}
	})
}

// changeEach returns the session's prior receipts, each changed.
func changeEach(opened session, change func(*receipt.Receipt)) (claimed, newest *receipt.Receipt) {
	claimed, newest = opened.Prior()
	for _, found := range []*receipt.Receipt{claimed, newest} {
		if found != nil {
			change(found)
		}
	}
	return claimed, newest
}

// breakPrior returns an opener of stores whose sessions mix up their prior
// receipts.
func breakPrior(mix func(claimed, newest *receipt.Receipt) (a, b *receipt.Receipt)) func(testing.TB) subject {
	return breakSession(func(_ receipt.Claim, b *brokenSession) {
		b.prior = func() (claimed, newest *receipt.Receipt) { return mix(b.session.Prior()) }
	})
}

// breakHistory returns an opener of stores that read histories in another way.
func breakHistory(
	read func(ctx context.Context, good store, keys []receipt.Key) ([]receipt.Receipt, error),
) func(testing.TB) subject {
	return breakStore(func(b *brokenStore) {
		b.history = func(ctx context.Context, keys ...receipt.Key) ([]receipt.Receipt, error) {
			return read(ctx, b.store, keys)
		}
	})
}

// breakBeganAt returns an opener of stores whose clock is changed.
func breakBeganAt(change func(time.Time) time.Time) func(testing.TB) subject {
	return breakSession(func(_ receipt.Claim, b *brokenSession) {
		b.beganAt = func() time.Time { return change(b.session.BeganAt()) }
	})
}

// breakBeside returns an opener of stores that give back other receipts beside.
func breakBeside(change func(receipt.Claim, []receipt.Receipt) []receipt.Receipt) func(testing.TB) subject {
	return breakSession(func(claim receipt.Claim, b *brokenSession) {
		b.beside = func() []receipt.Receipt { return change(claim, b.session.Beside()) }
	})
}

// breakAdded returns an opener of stores that commit other receipts than those
// that were given and added.
func breakAdded(
	change func(claim receipt.Claim, given *receipt.Receipt, added []receipt.Receipt) []receipt.Receipt,
) func(testing.TB) subject {
	return breakSession(func(claim receipt.Claim, b *brokenSession) {
		var added []receipt.Receipt
		b.add = func(receipts []receipt.Receipt) {
			for _, r := range receipts {
				added = append(added, r.Clone())
			}
		}
		b.commit = func(ctx context.Context, r receipt.Receipt, events []event.Event) (receipt.Receipt, error) {
			b.session.Add(change(claim, &r, added)...)
			return b.session.Commit(ctx, r, events...)
		}
	})
}

// openWithCache returns a store that gives every caller the same slices.
func openWithCache(tb testing.TB) subject {
	tb.Helper()
	var mu sync.Mutex
	cache := make(map[string][]receipt.Receipt)
	return breakStore(func(b *brokenStore) {
		b.history = func(ctx context.Context, keys ...receipt.Key) ([]receipt.Receipt, error) {
			mu.Lock()
			defer mu.Unlock()
			asked := fmt.Sprint(keys)
			if found := cache[asked]; len(found) > 0 {
				return found, nil
			}
			found, err := b.store.History(ctx, keys...)
			cache[asked] = found
			return found, err
		}
	})(tb)
}

// validReceipt returns a receipt that the claim's session may commit.
func validReceipt(claim receipt.Claim) receipt.Receipt {
	sum, err := fingerprint.Parse("broken/1:" + strings.Repeat("0a", sha256.Size))
	if err != nil {
		panic(err) // the text is a constant
	}
	return receipt.Receipt{
		Key: claim.Key, Revision: claim.Revision, Attempt: claim.Attempt,
		Requested: "settled", Outcome: "settled", Fingerprint: sum,
	}
}

// breakKeys returns an opener of stores that know a key only by its name.
func breakKeys(name func(receipt.Key) string) func(testing.TB) subject {
	rename := func(key receipt.Key) receipt.Key {
		sum := sha256.Sum256([]byte(name(key)))
		return receipt.Key{Tenant: "t", Scope: "s", Operation: "o", ID: hex.EncodeToString(sum[:])}
	}
	return breakStore(func(b *brokenStore) {
		b.history = func(ctx context.Context, keys ...receipt.Key) ([]receipt.Receipt, error) {
			var history []receipt.Receipt
			for _, key := range keys {
				found, err := b.store.History(ctx, rename(key))
				if err != nil {
					return nil, err
				}
				for i := range found {
					found[i].Key = key
				}
				history = append(history, found...)
			}
			return history, nil
		}
		b.begin = func(ctx context.Context, claim receipt.Claim) (session, error) {
			renamed := claim
			renamed.Key, renamed.Beside = rename(claim.Key), nil
			for _, key := range claim.Beside {
				renamed.Beside = append(renamed.Beside, rename(key))
			}
			opened, err := b.store.Begin(ctx, renamed)
			if err != nil {
				return nil, err
			}
			return renamedSession(claim, rename, opened), nil
		}
	})
}

// renamedSession knows the claim's keys by the names that rename gives them.
func renamedSession(claim receipt.Claim, rename func(receipt.Key) receipt.Key, opened session) session {
	names := map[receipt.Key]receipt.Key{rename(claim.Key): claim.Key}
	for _, key := range claim.Beside {
		names[rename(key)] = key
	}
	broken := &brokenSession{session: opened}
	broken.prior = func() (claimed, newest *receipt.Receipt) {
		return changeEach(opened, func(found *receipt.Receipt) { found.Key = names[found.Key] })
	}
	broken.beside = func() []receipt.Receipt {
		beside := opened.Beside()
		for i := range beside {
			beside[i].Key = names[beside[i].Key]
		}
		return beside
	}
	broken.add = func(receipts []receipt.Receipt) {
		for _, r := range receipts {
			r.Key = rename(r.Key)
			opened.Add(r)
		}
	}
	broken.commit = func(ctx context.Context, r receipt.Receipt, events []event.Event) (receipt.Receipt, error) {
		r.Key = rename(r.Key)
		stored, err := opened.Commit(ctx, r, events...)
		stored.Key = names[stored.Key]
		return stored, err
	}
	return broken
}

// openWithoutLock returns a store that takes the key at Commit, not at Begin.
func openWithoutLock(tb testing.TB) subject {
	tb.Helper()
	var mu sync.Mutex
	var next memoryTx
	w := &world{Memory: &receipttest.Memory[int]{}}
	w.begin = func() memoryTx { return next }
	s := openOver(tb, w)
	good := s.Store
	broken := &brokenStore{store: good}
	broken.begin = func(ctx context.Context, claim receipt.Claim) (session, error) {
		found, err := good.History(ctx, claim.Key)
		if err != nil {
			return nil, err
		}
		var prior *receipt.Receipt
		if len(found) > 0 {
			prior = &found[0]
		}
		tx := w.Memory.Begin()
		return &brokenSession{
			tx:       func() memoryTx { return tx },
			prior:    func() (claimed, newest *receipt.Receipt) { return prior, prior },
			rollback: func(context.Context) error { w.Memory.Rollback(tx); return nil },
			commit: func(ctx context.Context, r receipt.Receipt, events []event.Event) (receipt.Receipt, error) {
				mu.Lock()
				defer mu.Unlock()
				next = tx
				late, err := good.Begin(ctx, claim)
				if err != nil {
					return receipt.Receipt{}, err
				}
				return late.Commit(ctx, r, events...)
			},
		}, nil
	}
	s.Store = broken
	return s
}

// openWithOneLock returns a store in which all keys wait for each other.
func openWithOneLock(tb testing.TB) subject {
	tb.Helper()
	lock := make(chan struct{}, 1)
	return breakStore(func(b *brokenStore) {
		b.begin = func(ctx context.Context, claim receipt.Claim) (session, error) {
			ctx, cancel := context.WithTimeoutCause(ctx, 100*time.Millisecond, receipt.ErrInFlight)
			defer cancel()
			select {
			case lock <- struct{}{}:
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
			return b.store.Begin(ctx, claim)
		}
		b.session = func(_ receipt.Claim, opened session) session {
			var once sync.Once
			unlock := func() { once.Do(func() { <-lock }) }
			return &brokenSession{
				session: opened,
				commit: func(ctx context.Context, r receipt.Receipt, events []event.Event) (receipt.Receipt, error) {
					defer unlock()
					return opened.Commit(ctx, r, events...)
				},
				rollback: func(ctx context.Context) error {
					defer unlock()
					return opened.Rollback(ctx)
				},
			}
		}
	})(tb)
}
