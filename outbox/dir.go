package outbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/settleonce/settleonce/outbox/internal/vfs"
)

// DefaultMaxWaiting is the default of [DirConfig.MaxWaiting].
const DefaultMaxWaiting = 256

// retryInterval is the pause between attempts on a failing disk.
const retryInterval = time.Second

// DirConfig configures [OpenDir].
type DirConfig struct {
	// Path is the directory. It is made, with its parents, if it is not
	// there. Required.
	Path string
	// MaxWaiting is how many Puts may wait for the disk at once; more block
	// before they hold anything. Zero means [DefaultMaxWaiting].
	MaxWaiting int
	// AllowVolatile accepts a file system that lives in memory, such as
	// tmpfs, where a record does not survive a restart of the machine.
	AllowVolatile bool
	// DeadLetterPolicy says what becomes of an ordering key one of whose
	// records is refused. Zero ([DefaultPolicy]) means [GoOn]. It holds for
	// everything that is set aside in the directory while it is open,
	// whatever the policy was at the time. Files that are no records hold
	// back nothing: what they were meant to say is not known.
	DeadLetterPolicy DeadLetterPolicy
	// Now is the clock that dates records. It may go backwards. Nil means
	// time.Now.
	Now func() time.Time
	// Logger gets what an operator needs to know: a failing disk, a file
	// set aside. Never the content of a record. Nil means slog.Default.
	Logger *slog.Logger
}

// Validate reports every field that breaks a rule, all at once. errors.Is(err,
// [ErrConfig]) is true for what it returns.
func (c *DirConfig) Validate() error {
	var broken []string
	if c.Path == "" {
		broken = append(broken, "Path must be set")
	}
	if c.MaxWaiting < 0 {
		broken = append(broken, fmt.Sprintf("MaxWaiting must not be negative, is %d", c.MaxWaiting))
	}
	switch c.DeadLetterPolicy {
	case DefaultPolicy, HoldBack, GoOn:
	default:
		broken = append(broken, fmt.Sprintf("DeadLetterPolicy must be DefaultPolicy, HoldBack or GoOn, is %d", c.DeadLetterPolicy))
	}
	return configError(broken)
}

func configError(broken []string) error {
	if len(broken) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrConfig, strings.Join(broken, "; "))
}

// Dir is a durable outbox in a directory: a [Source] that knows its [Lag] and
// keeps [DeadLetters]. Make one with [OpenDir] and end it with [Dir.Close].
//
// Safe for concurrent use. One mutex guards the index and is never held over a
// call to the disk.
type Dir struct {
	fs     vfs.Dir
	policy DeadLetterPolicy
	now    func() time.Time
	logger *slog.Logger
	slots  chan struct{} // one for each Put that may wait
	wake   chan struct{}

	closing chan struct{} // closed: no further Put
	abandon chan struct{} // closed: writes stop trying
	writers sync.WaitGroup
	// calls holds Close back from closing the file system under a call.
	calls sync.RWMutex

	mu          sync.Mutex
	closed      bool
	pending     *index
	writes      map[string]*write // by encoded key
	deadLetters int
	held        holdBack
	failures    int   // of the disk, since the last success
	lastFailure error // nil after a success
	abandoned   int   // writes that Close gave up
}

var _ LagSource = (*Dir)(nil)

// OpenDir opens the outbox in cfg.Path, locks it and lists what is pending.
// Files that are no records are set aside. So is, of two records of one time,
// which only a copy by hand can make, the one whose key sorts last: it has no
// place in the order, and OpenDir fails where it can't be moved. Under
// [HoldBack] OpenDir reads it, and what was set aside before, to know what that
// holds back, and fails where the disk can't.
//
// errors.Is(err, X) is true for [ErrConfig], [ErrLocked], [ErrVolatile] and
// [errors.ErrUnsupported] (the operating system is not supported) where they
// apply. After an error nothing is open.
func OpenDir(cfg DirConfig) (*Dir, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	dir, err := vfs.Open(cfg.Path, vfs.Options{})
	if err != nil {
		return nil, fmt.Errorf("outbox: %w", err)
	}
	return openDirOn(dir, cfg)
}

// openDirOn owns dir, and closes it after an error.
func openDirOn(dir vfs.Dir, cfg DirConfig) (*Dir, error) {
	d := &Dir{
		fs:      dir,
		policy:  cfg.DeadLetterPolicy,
		now:     cfg.Now,
		logger:  cfg.Logger,
		slots:   make(chan struct{}, cfg.MaxWaiting),
		wake:    make(chan struct{}, 1),
		closing: make(chan struct{}),
		abandon: make(chan struct{}),
		pending: newIndex(),
		held:    newHoldBack(),
		writes:  make(map[string]*write),
	}
	if d.now == nil {
		d.now = time.Now
	}
	if d.logger == nil {
		d.logger = slog.Default()
	}
	if cfg.MaxWaiting == 0 {
		d.slots = make(chan struct{}, DefaultMaxWaiting)
	}
	if err := d.start(cfg); err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	return d, nil
}

func (d *Dir) start(cfg DirConfig) error {
	if !cfg.AllowVolatile {
		volatile, err := d.fs.Volatile()
		if err != nil {
			return fmt.Errorf("outbox: %w", err)
		}
		if volatile {
			return fmt.Errorf("%w: %s (set AllowVolatile to use it)", ErrVolatile, cfg.Path)
		}
	}
	if err := d.fs.Lock(); err != nil {
		if errors.Is(err, vfs.ErrLocked) {
			return fmt.Errorf("%w: %w", ErrLocked, err)
		}
		return fmt.Errorf("outbox: %w", err)
	}
	if err := d.fs.SweepDrafts(); err != nil {
		return fmt.Errorf("outbox: %w", err)
	}
	return d.scan()
}

// scan lists what is pending. It keeps no cursor: what is in the directory is
// the whole truth.
func (d *Dir) scan() error {
	files, err := d.fs.Entries()
	if err != nil {
		return fmt.Errorf("outbox: %w", err)
	}
	var entries []*entry
	for _, file := range files {
		switch {
		case strings.HasPrefix(file.Name, "."):
		case isAside(file.Name):
			if err := d.scanAside(file.Name); err != nil {
				return err
			}
		case strings.HasSuffix(file.Name, recordSuffix):
			name, err := parseRecordName(file.Name)
			if err != nil {
				d.quarantineForeign(file.Name, err)
				continue
			}
			entries = append(entries, &entry{name: name, size: file.Size})
		}
	}
	slices.SortFunc(entries, func(a, b *entry) int { return compareNames(a.name, b.name) })
	for _, e := range entries {
		if d.pending.insert(e) {
			continue
		}
		if err := d.quarantineTwin(e); err != nil {
			return err
		}
	}
	d.poke()
	return nil
}

// scanAside takes account of a file that was set aside.
func (d *Dir) scanAside(file string) error {
	d.deadLetters++
	name, err := parseQuarantinedName(file)
	if err != nil {
		return nil //nolint:nilerr // It was never a record, and is kept all the same.
	}
	d.pending.note(name)
	if d.policy != HoldBack {
		return nil
	}
	switch aside, err := d.readAside(file); {
	case errors.Is(err, ErrMalformed):
		return nil
	case err != nil:
		return fmt.Errorf("outbox: what %s holds back is not known: %w", file, err)
	default:
		d.held.add(file, heldLine{aside.event.Ordering(), name.time})
		return nil
	}
}

func compareNames(a, b recordName) int {
	return cmp.Or(cmp.Compare(a.time, b.time), strings.Compare(a.key, b.key))
}

// quarantineTwin sets aside a record whose place in the order another one has.
// Left where it is, it would come after what follows it, at the next opening.
func (d *Dir) quarantineTwin(e *entry) error {
	file := e.name.String()
	ordering := ""
	if d.policy == HoldBack {
		record, err := readRecord(d.fs, file, e.name)
		switch {
		case err == nil:
			ordering = record.Ordering()
		case !errors.Is(err, ErrMalformed):
			return fmt.Errorf("outbox: what %s holds back is not known: %w", file, err)
		}
	}
	d.logger.Error("outbox: a record has the same time as another and is set aside", "file", file)
	return d.moveAside(file, Refusal{Reason: "another record has the same time"}, d.heldLine(ordering, e.name.time))
}

// quarantineForeign sets aside a file that can't be a record. One that can't
// be moved stays where it is, and holds up nothing.
func (d *Dir) quarantineForeign(file string, reason error) {
	d.logger.Error("outbox: a file is no record and is set aside", "file", file, "reason", reason)
	if err := d.moveAside(file, Refusal{Reason: reason.Error()}, nil); err != nil {
		d.logger.Error("outbox: a file that is no record could not be moved; it stays", "file", file, "error", err)
	}
}

// enter begins a call that uses the file system, and returns what ends it.
func (d *Dir) enter() (leave func(), err error) {
	d.calls.RLock()
	if d.isClosed() {
		d.calls.RUnlock()
		return nil, ErrClosed
	}
	return d.calls.RUnlock, nil
}

func (d *Dir) isClosed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.closed
}

// Close refuses further Puts, waits until every Put that was accepted has its
// record on disk, and releases the directory. Stop the relay before.
//
// Nil: every accepted record is durable or was delivered. If ctx is done first,
// Close gives up the writes that have not succeeded, whose Puts end with
// [ErrUnacknowledged], and returns an error that says how many; the directory
// is released all the same. A write that hangs in the operating system holds
// Close up regardless. errors.Is(err, [ErrClosed]) is true for a second Close.
func (d *Dir) Close(ctx context.Context) error {
	d.mu.Lock()
	if d.isClosing() {
		d.mu.Unlock()
		return ErrClosed
	}
	close(d.closing)
	d.mu.Unlock()

	drained := make(chan struct{})
	go func() {
		d.writers.Wait()
		close(drained)
	}()
	var unwritten error
	select {
	case <-drained:
	case <-ctx.Done():
		unwritten = d.giveUp(ctx, drained)
	}
	d.calls.Lock()
	defer d.calls.Unlock()
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	d.poke() // A relay that waits for records learns that there will be none.
	if err := d.fs.Close(); err != nil {
		return errors.Join(unwritten, fmt.Errorf("outbox: %w", err))
	}
	return unwritten
}

// isClosing reports whether Close was called. It needs the mutex only where
// Close itself must not be raced.
func (d *Dir) isClosing() bool {
	select {
	case <-d.closing:
		return true
	default:
		return false
	}
}

func (d *Dir) giveUp(ctx context.Context, drained <-chan struct{}) error {
	close(d.abandon)
	<-drained
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.abandoned == 0 {
		return nil
	}
	return fmt.Errorf("%w: %d records, last error: %w", ErrUnacknowledged, d.abandoned, errors.Join(ctx.Err(), d.lastFailure))
}

// poke wakes whoever waits for records.
func (d *Dir) poke() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}
