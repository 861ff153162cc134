package outbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/settleonce/settleonce/internal/panictext"
)

// errLate is why a call is not made whose lease has hardly begun.
var errLate = errors.New("outbox: the lease is over before the call to the sender")

// deliver carries out a call and gives it back exactly once.
func (r *Relay) deliver(ctx context.Context, c *call, back chan<- *call) {
	// A sender may end this goroutine (runtime.Goexit). What was sent is kept.
	defer func() { back <- c }()
	defer r.account(ctx, c)
	until := r.lease(c)
	answers := r.send(ctx, c, until)
	r.judge(c, answers)
	began := r.now()
	r.settle(ctx, c)
	c.settled = r.now()
	c.settle = c.settled.Sub(began)
}

// lease asks a source that shares its records which of them may be sent, and
// until when. Zero: there is no bound.
func (r *Relay) lease(c *call) (until time.Time) {
	if r.leased == nil {
		return time.Time{}
	}
	var leased []Record
	leased, until, c.leaseDone = r.leased.Lease(c.all())
	var broken *line
	for i := range c.attempts {
		a := &c.attempts[i]
		switch {
		case len(leased) == 0 || leased[0].ID != a.record.ID:
			a.fate, broken = forgotten, a.line
		default:
			leased = leased[1:]
			if a.line == broken {
				a.fate = returned
			}
		}
	}
	if until.IsZero() {
		return r.now()
	}
	return until
}

// errSender is true for a sender that breaks its contract.
var errSender = errors.New("outbox: the sender broke its contract")

var errEnded = fmt.Errorf("%w: it ended the relay's goroutine", errSender)

// send makes the call to the sender and survives whatever that does. It returns
// one answer for each attempt that is sent.
func (r *Relay) send(ctx context.Context, c *call, until time.Time) (answers []Answer) {
	batch := r.events.borrow(len(c.attempts))
	for i := range c.attempts {
		if a := &c.attempts[i]; a.fate == kept {
			batch = append(batch, a.record.Event)
		}
	}
	if len(batch) == 0 {
		return nil
	}
	began := r.now()
	timeout, leased := r.cfg.AttemptTimeout, false
	if left := until.Sub(began); !until.IsZero() && left < timeout {
		timeout, leased = left, true
	}
	if timeout <= 0 {
		c.leaseEnded = true
		return slices.Repeat([]Answer{{Err: errLate}}, len(batch))
	}
	for i := range c.attempts {
		c.attempts[i].sent = c.attempts[i].fate == kept
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	returned := false
	defer func() {
		c.send = r.now().Sub(began)
		c.timedOut = ctx.Err() != nil && !leased
		c.leaseEnded = ctx.Err() != nil && leased
		switch {
		case !returned:
			answers = r.noAnswers(c, len(batch), recover())
		case ctx.Err() == nil:
			// One that gives up a delivery under way may not be quite out of it,
			// and what it finds in the batch must not be other events.
			r.events.giveBack(batch)
		}
	}()
	answers = r.cfg.Sender.Send(ctx, batch)
	returned = true
	if len(answers) != len(batch) {
		err := fmt.Errorf("%w: it gave %d answers for %s", errSender, len(answers), events(len(batch)))
		return slices.Repeat([]Answer{{Err: err}}, len(batch))
	}
	return answers
}

// noAnswers is what a sender that panicked said, or one that ends the
// goroutine, which is the case where it panicked with nothing.
func (r *Relay) noAnswers(c *call, sent int, panicked any) []Answer {
	if panicked == nil {
		for i := range c.attempts {
			c.attempts[i].err = errEnded
		}
		r.cfg.Logger.Error("outbox: alarm: the sender ended the relay's goroutine", "key", c.attempts[0].record.Event.Key, "events", sent)
		return nil
	}
	err := fmt.Errorf("%w: it panicked: %s", errSender, panictext.Of(panicked))
	return slices.Repeat([]Answer{{Err: err}}, sent)
}

func events(n int) string {
	if n == 1 {
		return "1 event"
	}
	return fmt.Sprintf("%d events", n)
}

// errOrder is true for an event that was delivered after one of its ordering
// key had failed in the same call, by a sender that declares [Batching.InOrder].
var errOrder = fmt.Errorf("%w: it delivered an event though one before it in its ordering key failed", errSender)

// judge says of each attempt that was sent what its answer proves: removed or
// aside, if the source agrees, or kept. What follows one that was not delivered,
// in its ordering key, is returned whatever its answer: it was not to be
// delivered, and nothing more is done about it.
func (r *Relay) judge(c *call, answers []Answer) {
	var complaints complaints
	var broken *line
	for i := range c.attempts {
		a := &c.attempts[i]
		if a.fate != kept || len(answers) == 0 {
			continue
		}
		answer := &answers[0]
		answers = answers[1:]
		judged, err := judge(&a.record.Event, answer, r.cfg.AcceptPublished)
		c.answered = c.answered || err == nil
		// At the end of a lease, whatever the sender says is a guess.
		c.works = c.works || err == nil || answer.EventAlone && !c.leaseEnded
		switch {
		case a.line == broken:
			a.fate = returned
			if judged == delivered {
				complaints.add(a, errOrder)
			}
		case judged == delivered:
			a.fate = removed
		case judged == refused:
			a.fate, a.reason, broken = aside, answer.Ack.Reason, a.line
		default:
			a.err, a.retryAfter, a.blameless = err, answer.RetryAfter, answer.EventAlone || answer.NotSent || c.leaseEnded
			broken = a.line
			complaints.add(a, err)
		}
	}
	complaints.log(r.cfg.Logger)
}

// settle lets the source carry out what was proven, in order within an ordering
// key: nothing is set aside while one before it could not be removed, since a
// dead letter may hold its ordering key back.
func (r *Relay) settle(ctx context.Context, c *call) {
	isRemoved := func(a *attempt) bool { return a.fate == removed }
	if delivered := c.records(isRemoved); len(delivered) > 0 {
		if err := r.cfg.Source.Remove(ctx, delivered); err != nil {
			r.notSettled(c, err, isRemoved)
		}
	}
	var broken *line
	for i := range c.attempts {
		a := &c.attempts[i]
		switch {
		case a.fate == unsettled || a.fate == lost:
			broken = a.line
		case a.fate == aside && a.line == broken:
			a.fate = returned
		case a.fate == aside:
			r.setAside(ctx, c, a)
		}
	}
}

func (r *Relay) setAside(ctx context.Context, c *call, a *attempt) {
	r.cfg.Logger.Error("outbox: the destination refused a record; it is set aside", "record", a.record.ID, "key", a.record.Event.Key, "reason", cutReason(a.reason))
	if err := r.cfg.Source.SetAside(ctx, *a.record, Refusal{Reason: a.reason, Attempts: a.number}); err != nil {
		r.notSettled(c, err, func(other *attempt) bool { return other == a })
	}
}

// notSettled notes that the source could not let go of attempts.
func (r *Relay) notSettled(c *call, err error, of func(*attempt) bool) {
	what := unsettled
	if errors.Is(err, ErrLeaseLost) {
		what = lost
	} else {
		c.sourceErr = err
	}
	var first *attempt
	count := 0
	for i := range c.attempts {
		if a := &c.attempts[i]; of(a) {
			a.fate = what
			count++
			if first == nil {
				first = a
			}
		}
	}
	args := []any{"record", first.record.ID, "key", first.record.Event.Key, "records", count, "error", err}
	if what == lost {
		r.cfg.Logger.Warn("outbox: records that were delivered are another relay's now, which may deliver them once more", args...)
		return
	}
	r.cfg.Logger.Error("outbox: the source could not let go of records; they will be sent again", args...)
}
