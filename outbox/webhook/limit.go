package webhook

import (
	"context"
	"errors"
	"sync"
	"time"
)

// What an event was not sent for.
var (
	// ErrBusy is true where the endpoint had as many requests out, and as
	// many more waiting, as its limits allow, or its rate left no room in
	// time. The endpoint is well.
	ErrBusy = errors.New("webhook: the endpoint is at its limit")
	// ErrPaused is true where the endpoint is left alone for a time, because
	// it asked for that, said that it is overloaded, or did not answer.
	ErrPaused = errors.New("webhook: the endpoint is left alone for now")
	// ErrGone is true where the endpoint has answered 410 Gone. Nothing is
	// sent to it until [Sender.Resume] or by a new Sender.
	ErrGone = errors.New("webhook: the endpoint is gone")
)

const (
	minPause        = 100 * time.Millisecond
	maxBackoffPause = 30 * time.Second
)

// limiter keeps one endpoint's limits: requests out at once, requests a second,
// and how long it is left alone when it fails.
//
// A call that finds the endpoint at its limit waits, so that a place that falls
// free is taken at once; but no more calls wait than may be out, and none for
// longer than half of the time that it has. So one slow endpoint ties down a
// known number of a relay's calls, and whoever gets a place has time to use it.
type limiter struct {
	maxInFlight int
	interval    time.Duration // between the begins of two requests
	maxPause    time.Duration
	now         func() time.Time // agrees with the deadlines of contexts
	slots       chan struct{}

	mu sync.Mutex
	// admitted counts the calls that are out or wait.
	admitted int
	// nextStart is when the rate allows another request.
	nextStart time.Time
	// failures counts the pauses since the endpoint last worked.
	failures    int
	pausedUntil time.Time
	gone        bool
}

func newLimiter(e *Endpoint) *limiter {
	l := &limiter{
		maxInFlight: e.MaxInFlight,
		maxPause:    e.MaxPause,
		slots:       make(chan struct{}, e.MaxInFlight),

		now: time.Now,
	}
	if e.Rate > 0 {
		l.interval = time.Duration(float64(time.Second) / e.Rate)
	}
	return l
}

// acquire returns when a request may be sent. With a nil error, release must
// follow. Otherwise nothing may be sent, and the event should be left alone for
// retryAfter.
func (l *limiter) acquire(ctx context.Context, timeout time.Duration) (retryAfter time.Duration, err error) {
	if retryAfter, err := l.admit(ctx); err != nil {
		return retryAfter, err
	}
	defer func() {
		if err != nil {
			l.leave()
		}
	}()
	until := l.patience(ctx, timeout)
	wait, cancel := context.WithTimeout(ctx, until.Sub(l.now()))
	defer cancel()
	select {
	case l.slots <- struct{}{}:
	case <-wait.Done():
		return 0, atLimit(ctx)
	}
	if retryAfter, err := l.keepRate(wait, until); err != nil {
		<-l.slots
		if ctx.Err() != nil {
			return 0, atLimit(ctx)
		}
		return retryAfter, err
	}
	return 0, nil
}

// atLimit says why a wait ended: the caller's context, or its length.
func atLimit(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return ErrBusy
}

// patience returns until when a call waits for a place.
func (l *limiter) patience(ctx context.Context, timeout time.Duration) time.Time {
	now := l.now()
	if deadline, ok := ctx.Deadline(); ok {
		timeout = min(timeout, deadline.Sub(now))
	}
	return now.Add(timeout / 2)
}

// admit lets a call wait for a place. An endpoint that has failed gets one
// request at a time until one succeeds.
func (l *limiter) admit(ctx context.Context) (retryAfter time.Duration, err error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch retryAfter, err := l.closed(); {
	case err != nil:
		return retryAfter, err
	case l.failures > 0 && l.admitted > 0:
		return 0, ErrPaused
	case l.admitted >= 2*l.maxInFlight:
		return 0, ErrBusy
	}
	l.admitted++
	return 0, nil
}

func (l *limiter) closed() (retryAfter time.Duration, err error) {
	if l.gone {
		return l.maxPause, ErrGone
	}
	if left := l.pausedUntil.Sub(l.now()); left > 0 {
		return left, ErrPaused
	}
	return 0, nil
}

// closedToWaiters is what admit asks, once more: the endpoint may have failed
// while a call that was let in waited, and holds a place.
func (l *limiter) closedToWaiters() (retryAfter time.Duration, err error) {
	if retryAfter, err := l.closed(); err != nil {
		return retryAfter, err
	}
	if l.failures > 0 && len(l.slots) > 1 {
		return 0, ErrPaused
	}
	return 0, nil
}

// keepRate waits until the rate allows a request, unless that is too long.
func (l *limiter) keepRate(wait context.Context, until time.Time) (retryAfter time.Duration, err error) {
	start, retryAfter, err := l.reserve(until)
	if err != nil {
		return retryAfter, err
	}
	delay := start.Sub(l.now())
	if delay <= 0 {
		return 0, nil
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-wait.Done():
		return 0, ErrBusy
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closedToWaiters()
}

// reserve returns when the request may begin.
func (l *limiter) reserve(until time.Time) (start time.Time, retryAfter time.Duration, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if retryAfter, err := l.closedToWaiters(); err != nil {
		return time.Time{}, retryAfter, err
	}
	start = l.now()
	if l.nextStart.After(start) {
		start = l.nextStart
	}
	if start.After(until) {
		return time.Time{}, start.Sub(l.now()), ErrBusy
	}
	l.nextStart = start.Add(l.interval)
	return start, 0, nil
}

func (l *limiter) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.admitted--
}

// health is what an answer tells about an endpoint.
type health int

const (
	// unknown: nothing, such as when the caller gave up.
	unknown health = iota
	// working: it answered, whatever it thinks of the event.
	working
	// troubled: it is overloaded, away, or asks for peace.
	troubled
	// gone: it answered 410.
	gone
)

// release ends what acquire began. retryAfter is what a troubled endpoint asks
// for, or zero.
func (l *limiter) release(state health, retryAfter time.Duration) {
	l.mu.Lock()
	l.admitted--
	switch state {
	case working:
		l.failures = 0
	case troubled:
		l.pause(retryAfter)
	case gone:
		l.gone = true
	case unknown:
	}
	l.mu.Unlock()
	<-l.slots
}

// pause doubles with each failure. Those of requests that were out together
// count as one.
func (l *limiter) pause(retryAfter time.Duration) {
	now := l.now()
	length := min(retryAfter, l.maxPause)
	if !l.pausedUntil.After(now) {
		l.failures++
		backoff := maxBackoffPause
		if shift := l.failures - 1; shift < 16 {
			backoff = min(minPause<<shift, maxBackoffPause)
		}
		length = max(length, backoff)
	}
	if until := now.Add(length); until.After(l.pausedUntil) {
		l.pausedUntil = until
	}
}

// resume forgets all failures.
func (l *limiter) resume() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failures, l.pausedUntil, l.gone = 0, time.Time{}, false
}

func (l *limiter) state(name string) EndpointState {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := len(l.slots)
	return EndpointState{
		Name: name, Out: out, Waiting: max(0, l.admitted-out),
		Failures: l.failures, PausedUntil: l.pausedUntil, Gone: l.gone,
	}
}
