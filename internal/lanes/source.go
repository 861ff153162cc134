package lanes

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/settleonce/settleonce/outbox"
)

// Source hands out the events of the lanes that it holds.
//
// Safe for concurrent use; calls of Next wait for each other. No mutex is held
// over a call to the table.
type Source struct {
	cfg   Config
	terms terms
	wake  chan struct{}
	poll  *poller
	// narrow is narrowSpan, but in tests.
	narrow int64

	// nexts has room for one call of Next, which owns the memory of rows.
	nexts chan struct{}
	rows  []Row
	// rounds has room for the one that changes the membership. It is held over
	// calls to the table, and taken after nexts and before mu.
	rounds chan struct{}
	// kicks asks for a round of the background at once.
	kicks      chan struct{}
	scanner    scanner
	background sync.WaitGroup
	// stopScan ends the scanner, and left is closed when the membership was
	// given back after Close. Both are nil before the first Next.
	stopScan context.CancelFunc
	left     chan struct{}

	mu     sync.Mutex
	closed bool
	tenure *tenure // nil: no member
	// shaken says that a call to the table has failed since the last renewal.
	shaken bool
	// roundErr, scanErr and leaveErr are what the background last failed with,
	// nil after a success.
	roundErr error
	scanErr  error
	leaveErr error
}

var _ outbox.LeasedSource = (*Source)(nil)

// New returns a source that has not joined the table yet: the first Next does.
// errors.Is(err, [outbox.ErrConfig]) is true for every error.
func New(cfg Config) (*Source, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	full := cfg.withDefaults()
	s := &Source{
		cfg:     full,
		terms:   termsOf(full.Lease),
		narrow:  narrowSpan,
		wake:    make(chan struct{}, 1),
		nexts:   make(chan struct{}, 1),
		rounds:  make(chan struct{}, 1),
		kicks:   make(chan struct{}, 1),
		scanner: newScanner(),
	}
	s.poll = newPoller(full.MinPoll, full.MaxPoll, s.poke)
	return s, nil
}

// Wake implements [outbox.Source]. It delivers when the next poll is due, after
// Poke, and when rows may be handed out that could not be before.
func (s *Source) Wake() <-chan struct{} { return s.wake }

// Poke tells that events were committed in this process.
func (s *Source) Poke() { s.poke() }

func (s *Source) poke() { notify(s.wake) }

// notify makes sure that whoever waits for signal, or will, goes on once.
func notify(signal chan struct{}) {
	select {
	case signal <- struct{}{}:
	default:
	}
}

// Reopened tells that a dead letter of the ordering key was requeued or
// discarded in this process, so that the next call of Next knows. What other
// processes requeue and discard is known after the next renewal.
func (s *Source) Reopened(ordering string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tenure
	if t == nil {
		return
	}
	if t.holdsBack(ordering) {
		t.askHeld = true // There may be another dead letter.
	} else {
		t.oweFrom(t.line(ordering, unknownLane), 1)
	}
	s.poke()
}

// Close hands out nothing more, waits until no lease and no write is open or
// the time of the leases is up, and gives the lanes back. Nil: they are free.
// An error: they are taken until the lease is over. Where it is ctx's, waiting
// and giving back go on in the background, for as long as a lease lasts at
// most. The source is closed in any case, and a further Close does the same.
func (s *Source) Close(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	started := s.stopScan != nil
	if t := s.tenure; t != nil {
		t.leave()
	}
	s.mu.Unlock()
	s.poll.end()
	if !started {
		return nil
	}
	s.stopScan()
	notify(s.kicks)
	select {
	case <-s.left:
		s.background.Wait()
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.leaveErr
	case <-ctx.Done():
		return fmt.Errorf("lanes: close: %w", context.Cause(ctx))
	}
}

// failed notes that a call to the table came to err, nil if it went well. What
// fails may be a crash of the database, which brings back what was removed
// shortly before: the renewal that ends the failure begins a rescan.
func (s *Source) failed(err error) {
	if err == nil || errors.Is(err, outbox.ErrLeaseLost) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shaken = true
}

// report keeps what work in the background came to, nil where it went well, notes
// it as failed does, and logs when that changes.
func (s *Source) report(kept *error, err error) {
	s.mu.Lock()
	before := *kept
	*kept = err
	s.shaken = s.shaken || err != nil
	s.mu.Unlock()
	switch {
	case err != nil && before == nil:
		s.cfg.Logger.Warn("lanes: work in the background fails; it is tried again until it goes well", "error", err)
	case err == nil && before != nil:
		s.cfg.Logger.Info("lanes: work in the background goes well again")
	}
}
