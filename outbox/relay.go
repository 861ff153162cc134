package outbox

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/settleonce/settleonce/outbox/event"
)

// Defaults of [RelayConfig].
const (
	DefaultConcurrency    = 8
	DefaultAttemptTimeout = 5 * time.Second
	DefaultMinBackoff     = time.Second
	DefaultMaxBackoff     = 30 * time.Second
	DefaultMaxRetryAfter  = 5 * time.Minute
	DefaultDownAfter      = 5
	DefaultRemember       = 10_000
)

// RelayConfig configures [NewRelay].
type RelayConfig struct {
	// Source is where records come from. Required. The relay doesn't close
	// it. One that is a [LeasedSource] or a [LagSource] is used as such.
	Source Source
	// Sender is where they go. Required. One that is a [BatchSender] gets as
	// many events a call as it takes and as there are; any other gets one.
	Sender Sender
	// AcceptPublished takes a broker's acknowledgement ([AckPublished]) for
	// proof. False: only receipts count.
	AcceptPublished bool
	// Concurrency is how many calls to the sender may be out at once, no two
	// of them with the same ordering key. It is an upper bound: the relay
	// begins with four, makes more while they succeed, half as many when one
	// fails or times out, and no more than there are while answers come much
	// later than usual. Zero means [DefaultConcurrency]; more than 65,536
	// mean that.
	Concurrency int
	// MaxRate bounds how many events are sent in a second, failed ones
	// included, so that a backlog that drains leaves others their share of the
	// destination. What was not used is saved up for a tenth of a second, so
	// that a second sees up to a tenth more; one event may always go at a
	// time. Zero is no bound.
	MaxRate float64
	// AttemptTimeout bounds each call. A call with records of a [LeasedSource]
	// also ends with the lease. Zero means [DefaultAttemptTimeout].
	AttemptTimeout time.Duration
	// MinBackoff and MaxBackoff bound how long an ordering key is left alone
	// after a failure, and a source that fails: MinBackoff, doubled at each
	// further failure, less up to half by chance. Zero means
	// [DefaultMinBackoff] and [DefaultMaxBackoff].
	MinBackoff time.Duration
	MaxBackoff time.Duration
	// MaxRetryAfter caps what a destination may ask for in
	// [Answer.RetryAfter]. Zero means [DefaultMaxRetryAfter].
	MaxRetryAfter time.Duration
	// DownAfter is how many ordering keys must fail, with nothing in between
	// that shows that the destination works, for it to count as down. A
	// success shows that, a refusal, and a failure for which
	// [Answer.EventAlone] is set; a call that ended with its lease shows
	// nothing, and neither does an event that was not sent ([Answer.NotSent]).
	// A destination that is down gets one record at a time, with the same
	// back-off, until an answer shows that it works: first those that never
	// failed, the oldest first. Zero means [DefaultDownAfter].
	DownAfter int
	// Remember is of how many ordering keys, those that were acknowledged
	// last, [Relay.LastAcknowledged] knows. Each takes some 300 bytes. Zero
	// means [DefaultRemember].
	Remember int
	// Random returns numbers from [0, 1), for the jitter of the back-off. It
	// need not be safe for concurrent use. Nil means that of math/rand/v2.
	Random func() float64
	// Observer hears of every call to the sender. Nil: nobody does.
	Observer Observer
	// Logger gets failures (Warn) and alarms (Error): answers that prove
	// nothing, records set aside, a sender that panics. Never data. Nil
	// means slog.Default.
	Logger *slog.Logger
}

// Validate reports every field that breaks a rule, all at once. errors.Is(err,
// [ErrConfig]) is true for what it returns.
func (c *RelayConfig) Validate() error {
	var broken []string
	if c.Source == nil {
		broken = append(broken, "Source must be set")
	}
	if c.Sender == nil {
		broken = append(broken, "Sender must be set")
	}
	for _, field := range []struct {
		name  string
		value int64
	}{
		{"Concurrency", int64(c.Concurrency)},
		{"AttemptTimeout", int64(c.AttemptTimeout)},
		{"MinBackoff", int64(c.MinBackoff)},
		{"MaxBackoff", int64(c.MaxBackoff)},
		{"MaxRetryAfter", int64(c.MaxRetryAfter)},
		{"DownAfter", int64(c.DownAfter)},
		{"Remember", int64(c.Remember)},
	} {
		if field.value < 0 {
			broken = append(broken, field.name+" must not be negative")
		}
	}
	if c.MaxRate < 0 || math.IsNaN(c.MaxRate) || math.IsInf(c.MaxRate, 0) {
		broken = append(broken, fmt.Sprintf("MaxRate must be a number and not negative, is %v", c.MaxRate))
	}
	if batching := batchingOf(c.Sender); batching.MaxEvents < 0 || batching.MaxBytes < 0 {
		broken = append(broken, fmt.Sprintf("Sender.Batching must not be negative, is %+v", batching))
	}
	if full := withDefaults(*c); full.MinBackoff > full.MaxBackoff {
		broken = append(broken, fmt.Sprintf("MinBackoff must not pass MaxBackoff, is %s of %s", full.MinBackoff, full.MaxBackoff))
	}
	return configError(broken)
}

func withDefaults(c RelayConfig) RelayConfig {
	setDefault(&c.Concurrency, DefaultConcurrency)
	c.Concurrency = min(c.Concurrency, mostCalls)
	setDefault(&c.AttemptTimeout, DefaultAttemptTimeout)
	setDefault(&c.MinBackoff, DefaultMinBackoff)
	setDefault(&c.MaxBackoff, DefaultMaxBackoff)
	setDefault(&c.MaxRetryAfter, DefaultMaxRetryAfter)
	setDefault(&c.DownAfter, DefaultDownAfter)
	setDefault(&c.Remember, DefaultRemember)
	if c.Random == nil {
		c.Random = rand.Float64
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// batchingOf returns what a sender gets in one call: at least one event, and at
// most mostPerCall.
func batchingOf(sender Sender) Batching {
	var batching Batching
	if batches, ok := sender.(BatchSender); ok {
		batching = batches.Batching()
	}
	setDefault(&batching.MaxEvents, 1)
	batching.MaxEvents = min(batching.MaxEvents, mostPerCall)
	return batching
}

// Relay delivers the records of a [Source] through a [Sender]: at least once,
// in order within an ordering key, the oldest first across them, and it lets a
// record go only against proof (I6, I8).
//
// A record whose answer is an error, proves nothing, or never comes is kept
// and sent again; its ordering key rests meanwhile, and others go on. A record
// that the destination refuses by key and fingerprint is set aside, and whether
// what stands behind it goes on is the source's [DeadLetterPolicy].
//
// What goes wrong with one event of a call is that event's affair, and that of
// those behind it in its ordering key. A sender that panics, ends its goroutine
// or gives another number of answers than it got events has every event of the
// call kept.
//
// To watch one, see [Frontier], [Relay.Health] and [Observer].
type Relay struct {
	cfg      RelayConfig
	leased   LeasedSource // nil: the source is none
	batching Batching
	running  atomic.Bool
	now      func() time.Time
	progress *progress
	// events are what senders get, and records what the source does.
	events  reuse[event.Event]
	records reuse[Record]
}

// NewRelay returns a relay that is not running yet. errors.Is(err,
// [ErrConfig]) is true for every error.
func NewRelay(cfg RelayConfig) (*Relay, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	r := &Relay{cfg: withDefaults(cfg), batching: batchingOf(cfg.Sender)}
	r.now = time.Now
	r.leased, _ = cfg.Source.(LeasedSource)
	r.progress = newProgress(r.cfg.Remember, r.now())
	return r, nil
}

// Run delivers until ctx is done; then it starts nothing new, waits for what is
// out, each for AttemptTimeout at most if the sender heeds its context, for what
// the source then makes of it, and for a [Source.Next] that goes on, releases
// everything else that it has at hand, and returns nil. errors.Is(err, [ErrClosed]) is true where the source
// was closed before, and errors.Is(err, [ErrRunning]) where another Run of this
// relay is going on. It may be called again after it returned, and begins
// afresh.
//
// A crash at any moment loses nothing: what was out is sent again.
func (r *Relay) Run(ctx context.Context) error {
	if !r.running.CompareAndSwap(false, true) {
		return ErrRunning
	}
	defer r.running.Store(false)
	defer r.progress.set(state{})
	return newRun(r).loop(ctx)
}
