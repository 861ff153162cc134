package receipttest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/receipt"
)

// DefaultLockTimeout is how long Begin waits for a key where neither the claim
// nor the [Config] says.
const DefaultLockTimeout = 5 * time.Second

var (
	// ErrInjected is true for the errors of [FailBegin], [FailBeforeCommit]
	// and of the faults that leave an outcome unknown.
	ErrInjected = errors.New("receipttest: injected fault")

	// ErrSerialization is true where a transaction was rolled back because
	// of another that ran at the same time. It is retryable. A [World] may
	// return it from Commit and from what its transactions do.
	ErrSerialization = errors.New("receipttest: could not serialize with a concurrent transaction")

	// ErrDuplicate is true where a receipt of the same key and revision
	// committed first. It is retryable: the next Begin shows that receipt.
	ErrDuplicate = errors.New("receipttest: the key has a receipt of this revision")

	// ErrSessionEnded is true for a Commit on a session that has ended. The
	// call changed nothing.
	ErrSessionEnded = errors.New("receipttest: the session has ended")
)

// Config says what a [Fake] is made of.
type Config[Tx any] struct {
	// World is the data that callbacks change. Required.
	World World[Tx]

	// Faults is the queue of faults. Each Begin and each Commit looks at its
	// first fault, and takes it if it is one for that call. A Commit that
	// fails by itself, as an invalid receipt or a duplicate does, takes
	// none. When the queue is empty, all goes well. Nil: no faults.
	//
	// [Schedule] makes a queue from a seed, [Fake.Inject] adds to it.
	Faults []Fault

	// Rival returns the receipt that a rival commits where a fault lets one
	// win, made from the one that was given to Commit. Its key, revision and
	// attempt are set by the Fake. The receipts that were added, the effects
	// and the events are those of the transaction that it beat, as if another
	// process had run the same callback. Nil: the same receipt, of another
	// attempt.
	Rival func(lost receipt.Receipt) receipt.Receipt

	// LockTimeout is for claims that leave theirs zero. Zero:
	// [DefaultLockTimeout].
	LockTimeout time.Duration

	// Now is the store's clock, for BeganAt and RecordedAt. Nil: time.Now.
	Now func() time.Time
}

// Fake is an in-memory [receipt.Store] with injected faults. What it holds
// dies with it. Safe for concurrent use; make one with [New].
type Fake[Tx any] struct {
	config Config[Tx]

	mu       sync.Mutex
	faults   faultQueue
	locks    keyLocks
	doubts   doubts[Tx]
	healed   chan struct{} // closed and replaced by Heal
	waiting  map[receipt.Key]int
	byKey    map[receipt.Key][]receipt.Receipt // by revision
	receipts []receipt.Receipt                 // in commit order
	events   []event.Event                     // in commit order
}

var _ receipt.Store[int] = (*Fake[int])(nil)

// New returns a Fake without receipts. Every error names all fields that are
// wrong.
func New[Tx any](config Config[Tx]) (*Fake[Tx], error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	if config.Rival == nil {
		config.Rival = func(lost receipt.Receipt) receipt.Receipt { return lost }
	}
	if config.LockTimeout == 0 {
		config.LockTimeout = DefaultLockTimeout
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	return &Fake[Tx]{
		config:  config,
		faults:  faultQueue{queued: slices.Clone(config.Faults), fired: make(map[Fault]int)},
		locks:   keyLocks{waiting: make(map[receipt.Key][]chan struct{})},
		doubts:  make(doubts[Tx]),
		healed:  make(chan struct{}),
		waiting: make(map[receipt.Key]int),
		byKey:   make(map[receipt.Key][]receipt.Receipt),
	}, nil
}

func (c *Config[Tx]) validate() error {
	var broken []error
	if c.World == nil {
		broken = append(broken, errors.New("receipttest: config World must be set"))
	}
	if c.LockTimeout < 0 {
		broken = append(broken, fmt.Errorf("receipttest: config LockTimeout must not be negative, is %v", c.LockTimeout))
	}
	for _, fault := range c.Faults {
		if err := fault.validate(); err != nil {
			broken = append(broken, err)
		}
	}
	return errors.Join(broken...)
}

// Inject adds faults to the end of the queue. After an error it added none.
func (f *Fake[Tx]) Inject(faults ...Fault) error {
	var broken []error
	for _, fault := range faults {
		if err := fault.validate(); err != nil {
			broken = append(broken, err)
		}
	}
	if len(broken) > 0 {
		return errors.Join(broken...)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults.queued = append(f.faults.queued, faults...)
	return nil
}

// Heal ends what waits for it: the waits of every [SlowLock] that has fired,
// and the outage of every [UnknownUnresolved], whose transactions commit now.
func (f *Fake[Tx]) Heal() {
	f.mu.Lock()
	defer f.mu.Unlock()
	close(f.healed)
	f.healed = make(chan struct{})
	for _, left := range f.doubts {
		if left.fate == UnknownUnresolved {
			f.resolve(left)
		}
	}
}

// Fired returns how often fault has fired. [NoFault] fires too, where it
// stood in the queue.
func (f *Fake[Tx]) Fired(fault Fault) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.faults.fired[fault]
}

// Queued returns the faults that have not fired yet, in order.
func (f *Fake[Tx]) Queued() []Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.faults.queued)
}

// Waiting returns how many calls of Begin wait for key now. Together with
// testing/synctest a test can tell that a duplicate waits, without sleeping.
func (f *Fake[Tx]) Waiting(key receipt.Key) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.waiting[key]
}

// Receipts returns a copy of the committed receipts of all keys, rivals' too,
// in commit order.
func (f *Fake[Tx]) Receipts() []receipt.Receipt {
	f.mu.Lock()
	defer f.mu.Unlock()
	return cloneReceipts(f.receipts)
}

func cloneReceipts(receipts []receipt.Receipt) []receipt.Receipt {
	clones := make([]receipt.Receipt, len(receipts))
	for i := range receipts {
		clones[i] = receipts[i].Clone()
	}
	return clones
}

// Events returns a copy of the committed events, in commit order: the one in
// which each ordering key's are to be delivered (I8).
func (f *Fake[Tx]) Events() []event.Event {
	f.mu.Lock()
	defer f.mu.Unlock()
	return cloneEvents(f.events)
}

func cloneEvents(events []event.Event) []event.Event {
	clones := make([]event.Event, len(events))
	for i := range events {
		clones[i] = events[i].Clone()
	}
	return clones
}

// History returns the committed receipts of the keys, in the order of the keys
// and for each in the order of its revisions.
func (f *Fake[Tx]) History(ctx context.Context, keys ...receipt.Key) ([]receipt.Receipt, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("receipttest: history: %w", err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	var history []receipt.Receipt
	for _, key := range keys {
		history = append(history, cloneReceipts(f.byKey[key])...)
	}
	return history, nil
}

// now returns the store's clock as a receipt holds it.
func (f *Fake[Tx]) now() time.Time { return f.config.Now().UTC().Truncate(time.Microsecond) }

// Retryable reports whether err is [ErrSerialization] or [ErrDuplicate].
func (f *Fake[Tx]) Retryable(err error) bool {
	return errors.Is(err, ErrSerialization) || errors.Is(err, ErrDuplicate)
}
