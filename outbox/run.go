package outbox

import (
	"context"
	"errors"
	"math"
	"time"
)

// relayRun is the state of one Run. Only its own goroutine touches it; each
// call that is out, and each Next, has a goroutine that sends one result.
type relayRun struct {
	relay    *Relay
	schedule *schedule
	pace     *pace
	limit    *limit

	calls   chan *call
	fetches chan fetched
	// fetchFailures counts failures of the source in a row; until fetchAt it
	// is left alone.
	fetchFailures int
	fetchAt       time.Time
	fetchErr      error
	// settleErr is why the source could not let go of a record, nil where it
	// has let go of one since.
	settleErr error
	// closed is the error of a source that was closed.
	closed error
}

// fetched is what a Next came to.
type fetched struct {
	records []Record
	asked   int
	err     error
}

func newRun(r *Relay) *relayRun {
	cfg := &r.cfg
	b := backoff{min: cfg.MinBackoff, max: cfg.MaxBackoff, retryAfterMax: cfg.MaxRetryAfter}
	return &relayRun{
		relay:    r,
		schedule: newSchedule(cfg.Concurrency, r.batching, b, cfg.DownAfter, cfg.Random),
		pace:     newPace(cfg.Concurrency),
		limit:    newLimit(cfg.MaxRate, r.now()),
		calls:    make(chan *call, cfg.Concurrency),
		fetches:  make(chan fetched, 1),
	}
}

func (r *relayRun) loop(ctx context.Context) error {
	for ctx.Err() == nil && r.closed == nil {
		now := r.relay.now()
		r.endRests(now)
		r.fetch(ctx, now)
		r.dispatch(ctx, now)
		r.publish()
		r.wait(ctx, now)
	}
	r.stop()
	return r.closed
}

// probesAtHand is how many ordering keys whose rest is over are enough to probe
// a destination with: with all of them at hand, there would be no room for one
// that never failed.
const probesAtHand = 8

// endRests lets ordering keys be tried again whose rest is over. While the
// destination is down, only if there is no other to probe it with, and only
// some. While the source is asked for records, nothing changes for it.
func (r *relayRun) endRests(now time.Time) {
	most := math.MaxInt
	if r.schedule.outage.down {
		most = probesAtHand
	}
	if r.mayEndRests() {
		r.schedule.endRests(now, most)
	}
}

func (r *relayRun) mayEndRests() bool {
	s := r.schedule
	if s.except.lent {
		return false
	}
	return !s.outage.down || len(s.lines) == 0 && (!s.more || s.appetite() == 0)
}

// fetch asks the source for records where they are of use.
func (r *relayRun) fetch(ctx context.Context, now time.Time) {
	if !r.mayFetch() || now.Before(r.fetchAt) {
		return
	}
	limit := r.schedule.appetite()
	r.giveBack()
	if limit == 0 {
		return
	}
	r.schedule.more = false // unless something happens meanwhile
	leaveOut := r.schedule.except.lend()
	go func() {
		records, err := r.relay.cfg.Source.Next(ctx, limit, leaveOut)
		r.fetches <- fetched{records, limit, err}
	}()
}

func (r *relayRun) mayFetch() bool { return r.schedule.more && !r.schedule.except.lent }

// fetched takes in what the source handed out.
func (r *relayRun) fetched(ctx context.Context, f fetched) {
	r.schedule.add(f.records)
	r.giveBack()
	switch {
	case errors.Is(f.err, ErrClosed):
		r.closed = f.err
	case f.err != nil:
		r.schedule.more = true
		if ctx.Err() == nil {
			r.fetchFailed(f.err)
		}
	default:
		r.fetchFailures, r.fetchErr = 0, nil
		if len(f.records) < f.asked {
			r.schedule.exhausted()
		} else {
			r.schedule.more = true
		}
	}
}

// fetchFailed leaves the source alone for a while.
func (r *relayRun) fetchFailed(err error) {
	r.fetchFailures++
	r.fetchErr = err
	s := r.schedule
	r.fetchAt = r.relay.now().Add(s.backoff.delay(r.fetchFailures, 0, s.random()))
	r.relay.cfg.Logger.Error("outbox: the source fails", "failures", r.fetchFailures, "error", err)
}

// dispatch starts what calls may start.
func (r *relayRun) dispatch(ctx context.Context, now time.Time) {
	for r.mayCall(now) {
		room := r.limit.room(now)
		if room == 0 {
			return
		}
		c := r.schedule.take(room)
		if c == nil {
			return
		}
		c.round, c.memory = r.pace.round, &r.relay.records
		r.limit.spend(len(c.attempts))
		// What is out is finished though ctx may be cancelled meanwhile.
		go r.relay.deliver(context.WithoutCancel(ctx), c, r.calls)
	}
}

// mayCall reports whether one more call may be out.
func (r *relayRun) mayCall(now time.Time) bool {
	s := r.schedule
	if s.queue.len() == 0 {
		return false
	}
	if s.outage.down {
		return s.calls == 0 && !now.Before(s.outage.probeAt)
	}
	return s.calls < r.pace.calls()
}

// wait returns when there may be something to do that there was not at now.
func (r *relayRun) wait(ctx context.Context, now time.Time) {
	var timeout <-chan time.Time
	if due, found := r.nextDue(now); found {
		timer := time.NewTimer(due.Sub(r.relay.now()))
		defer timer.Stop()
		timeout = timer.C
	}
	select {
	case c := <-r.calls:
		r.called(c)
	case f := <-r.fetches:
		r.fetched(ctx, f)
	case <-r.relay.cfg.Source.Wake():
		r.schedule.more = true
	case <-timeout:
	case <-ctx.Done():
	}
}

// nextDue returns when there is something to do though nothing happens.
func (r *relayRun) nextDue(now time.Time) (due time.Time, found bool) {
	sooner := func(at time.Time) {
		if !found || at.Before(due) {
			due, found = at, true
		}
	}
	if at, waiting := r.nextCall(); waiting {
		sooner(at)
	}
	if at, resting := r.schedule.rests.next(); resting && r.mayEndRests() {
		sooner(at)
	}
	if r.mayFetch() && r.fetchAt.After(now) {
		sooner(r.fetchAt)
	}
	return due, found
}

// nextCall returns when a call may start that only time holds up.
func (r *relayRun) nextCall() (time.Time, bool) {
	s, room := r.schedule, r.limit.next()
	switch {
	case s.queue.len() == 0 || s.calls >= r.pace.calls() || s.outage.down && s.calls > 0:
		return time.Time{}, false
	case s.outage.down && s.outage.probeAt.After(room):
		return s.outage.probeAt, true
	default:
		return room, true
	}
}

// called takes back a call that is over.
func (r *relayRun) called(c *call) {
	used := r.schedule.calls >= r.pace.calls()
	switch {
	case c.failed():
		r.pace.failed(c.round)
	case c.answered:
		r.pace.succeeded(c.round, len(c.attempts), c.send, used)
	}
	switch {
	case c.sourceErr != nil:
		r.settleErr = c.sourceErr
	case c.settledAny():
		r.settleErr = nil
	}
	r.schedule.done(c, r.relay.now())
	r.giveBack()
	if c.leaseDone != nil {
		c.leaseDone()
	}
	c.over()
}

// giveBack releases what the schedule lets go of.
func (r *relayRun) giveBack() {
	if unwanted := r.schedule.unwanted; len(unwanted) > 0 {
		r.schedule.unwanted = nil
		r.relay.cfg.Source.Release(unwanted)
	}
}

// stop waits for what is out, and then lets go of everything at hand, so that
// another Run starts afresh.
func (r *relayRun) stop() {
	if r.schedule.except.lent {
		f := <-r.fetches
		r.schedule.add(f.records)
		if errors.Is(f.err, ErrClosed) {
			r.closed = f.err
		}
	}
	for r.schedule.calls > 0 {
		r.called(<-r.calls)
	}
	r.schedule.clear()
	r.giveBack()
}

// publish tells where the run stands.
func (r *relayRun) publish() {
	s := r.schedule
	r.relay.progress.set(state{
		running:  true,
		calls:    s.calls,
		pace:     r.pace.calls(),
		out:      s.out,
		atHand:   s.waiting,
		resting:  s.rests.alone.len(),
		down:     s.outage.err(),
		fetching: r.fetchErr,
		settling: r.settling(),
	})
}

// settling returns why the source can't let go of records, as far as is known:
// nil once it has let go of one, or has nothing more of those that it kept.
func (r *relayRun) settling() error {
	if r.schedule.rests.unsettled == 0 {
		return nil
	}
	return r.settleErr
}
