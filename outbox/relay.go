package outbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// Defaults of [RelayConfig].
const (
	DefaultConcurrency    = 8
	DefaultAttemptTimeout = 5 * time.Second
	DefaultMinBackoff     = time.Second
	DefaultMaxBackoff     = 30 * time.Second
	DefaultMaxRetryAfter  = 5 * time.Minute
	DefaultDownAfter      = 5
)

// fetchFactor is how many records the relay asks for at once, for each that it
// may send at once.
const fetchFactor = 4

// RelayConfig configures [NewRelay].
type RelayConfig struct {
	// Source is where records come from. Required. The relay doesn't close
	// it.
	Source Source
	// Sender is where they go. Required. The relay sends one event a call.
	Sender Sender
	// AcceptPublished takes a broker's acknowledgement ([AckPublished]) for
	// proof. False: only receipts count.
	AcceptPublished bool
	// Concurrency is how many records may be out at once, each of another
	// ordering key. Zero means [DefaultConcurrency].
	Concurrency int
	// AttemptTimeout bounds each attempt. Zero means
	// [DefaultAttemptTimeout].
	AttemptTimeout time.Duration
	// MinBackoff and MaxBackoff bound how long an ordering key is left alone
	// after a failure: MinBackoff, doubled at each further failure, less up
	// to half by chance. Zero means [DefaultMinBackoff] and
	// [DefaultMaxBackoff].
	MinBackoff time.Duration
	MaxBackoff time.Duration
	// MaxRetryAfter caps what a destination may ask for in
	// [Answer.RetryAfter]. Zero means [DefaultMaxRetryAfter].
	MaxRetryAfter time.Duration
	// DownAfter is how many ordering keys must fail, with no success in
	// between, for the destination to count as down; failures for which
	// [Answer.EventAlone] is set don't count. A destination that is down gets
	// one record at a time, with the same back-off, until one succeeds: first
	// those that never failed, the oldest first. Zero means
	// [DefaultDownAfter].
	DownAfter int
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
	} {
		if field.value < 0 {
			broken = append(broken, field.name+" must not be negative")
		}
	}
	if full := withDefaults(*c); full.MinBackoff > full.MaxBackoff {
		broken = append(broken, fmt.Sprintf("MinBackoff must not pass MaxBackoff, is %s of %s", full.MinBackoff, full.MaxBackoff))
	}
	return configError(broken)
}

func withDefaults(c RelayConfig) RelayConfig {
	setDefault(&c.Concurrency, DefaultConcurrency)
	setDefault(&c.AttemptTimeout, DefaultAttemptTimeout)
	setDefault(&c.MinBackoff, DefaultMinBackoff)
	setDefault(&c.MaxBackoff, DefaultMaxBackoff)
	setDefault(&c.MaxRetryAfter, DefaultMaxRetryAfter)
	setDefault(&c.DownAfter, DefaultDownAfter)
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

// Relay delivers the records of a [Source] through a [Sender]: at least once,
// in order within an ordering key, the oldest first across them, and it lets a
// record go only against proof (I6, I8).
//
// A record whose answer is an error, proves nothing, or never comes is kept
// and sent again; its ordering key rests meanwhile, and others go on. A record
// that the destination refuses by key and fingerprint is set aside, and what
// stands behind it goes on.
type Relay struct {
	cfg     RelayConfig
	running atomic.Bool
	now     func() time.Time
}

// NewRelay returns a relay that is not running yet. errors.Is(err,
// [ErrConfig]) is true for every error.
func NewRelay(cfg RelayConfig) (*Relay, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &Relay{
		cfg: withDefaults(cfg),
		now: time.Now,
	}, nil
}

// Run delivers until ctx is done; then it starts nothing new, waits for what is
// out, each for AttemptTimeout at most if the sender heeds its context, and
// returns nil. errors.Is(err, [ErrClosed]) is true where the source was closed
// before, and errors.Is(err, [ErrRunning]) where another Run of this relay is
// going on. It may be called again after it returned.
//
// A crash at any moment loses nothing: what was out is sent again.
func (r *Relay) Run(ctx context.Context) error {
	if !r.running.CompareAndSwap(false, true) {
		return ErrRunning
	}
	defer r.running.Store(false)
	cfg := &r.cfg
	run := &relayRun{
		relay: r,
		schedule: newSchedule(cfg.Concurrency, cfg.DownAfter, backoff{
			min: cfg.MinBackoff, max: cfg.MaxBackoff, retryAfterMax: cfg.MaxRetryAfter,
		}, rand.Float64),
		outcomes: make(chan outcome, cfg.Concurrency),
		more:     true,
	}
	return run.loop(ctx)
}

// relayRun is the state of one Run. Only its own goroutine touches it; each
// record that is out has a goroutine that sends one outcome.
type relayRun struct {
	relay    *Relay
	schedule *schedule
	outcomes chan outcome

	// more says that the source may have records of ordering keys that are
	// not held.
	more bool
	// fetchFailures counts failures of the source in a row; until fetchAt it
	// is left alone.
	fetchFailures int
	fetchAt       time.Time
}

func (r *relayRun) loop(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := r.fill(ctx); err != nil {
			r.drain()
			return err
		}
		r.dispatch(ctx)
		r.wait(ctx)
	}
	r.drain()
	return nil
}

// fill fetches what may be sent. While the destination is down, ordering keys
// that have failed are asked for only if there is no other to probe with.
func (r *relayRun) fill(ctx context.Context) error {
	now := r.relay.now()
	if !r.schedule.down && r.schedule.release(now) {
		r.more = true
	}
	if err := r.fetch(ctx, now); err != nil {
		return err
	}
	if r.schedule.down && len(r.schedule.lanes) == 0 && r.schedule.release(now) {
		r.more = true
		return r.fetch(ctx, now)
	}
	return nil
}

// fetch returns an error only where the source is closed.
func (r *relayRun) fetch(ctx context.Context, now time.Time) error {
	limit := fetchFactor * r.relay.cfg.Concurrency
	for r.more && r.schedule.wants() && !now.Before(r.fetchAt) && ctx.Err() == nil {
		records, err := r.relay.cfg.Source.Next(ctx, limit, r.schedule.held)
		r.schedule.add(records)
		switch {
		case errors.Is(err, ErrClosed):
			return err
		case err != nil && ctx.Err() == nil:
			r.fetchFailed(now, err)
		case err == nil && len(records) < limit:
			r.fetchFailures = 0
			r.more = false
			r.schedule.exhausted()
		case err == nil:
			r.fetchFailures = 0
		}
	}
	return nil
}

// fetchFailed leaves the source alone for a while.
func (r *relayRun) fetchFailed(now time.Time, err error) {
	r.fetchFailures++
	r.fetchAt = now.Add(r.schedule.backoff.delay(r.fetchFailures, 0, r.schedule.random()))
	r.relay.cfg.Logger.Error("outbox: the source fails", "failures", r.fetchFailures, "error", err)
}

func (r *relayRun) dispatch(ctx context.Context) {
	for {
		record, failures, ok := r.schedule.take(r.relay.now())
		if !ok {
			return
		}
		// What is out is finished though ctx may be cancelled meanwhile.
		go r.relay.deliver(context.WithoutCancel(ctx), record, failures, r.outcomes)
	}
}

// wait returns when there may be something to do.
func (r *relayRun) wait(ctx context.Context) {
	var timeout <-chan time.Time
	if due, found := r.nextDue(); found {
		timer := time.NewTimer(due.Sub(r.relay.now()))
		defer timer.Stop()
		timeout = timer.C
	}
	select {
	case done := <-r.outcomes:
		r.apply(done)
	case <-r.relay.cfg.Source.Wake():
		r.more = true
	case <-timeout:
	case <-ctx.Done():
	}
}

func (r *relayRun) nextDue() (time.Time, bool) {
	due, found := r.schedule.nextDue()
	fetching := r.fetchFailures > 0 && r.more && r.schedule.wants()
	if fetching && (!found || r.fetchAt.Before(due)) {
		return r.fetchAt, true
	}
	return due, found
}

func (r *relayRun) apply(o outcome) {
	if o.verdict == unproven {
		r.schedule.failed(o.ordering, r.relay.now(), o.retryAfter, !o.blameless)
		return
	}
	r.schedule.done(o.ordering)
	r.more = true // More of the ordering key may have come.
}

func (r *relayRun) drain() {
	for r.schedule.out > 0 {
		r.apply(<-r.outcomes)
	}
}
