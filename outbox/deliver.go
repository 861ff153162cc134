package outbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/settleonce/settleonce/internal/panictext"
	"github.com/settleonce/settleonce/outbox/event"
)

// outcome is how one attempt ended.
type outcome struct {
	ordering   string
	verdict    verdict
	retryAfter time.Duration
	// blameless says that a failure is no sign of a destination that is
	// down: it is about this event alone, or the source's.
	blameless bool
}

// deliver makes one attempt at a record and reports exactly one outcome.
func (r *Relay) deliver(ctx context.Context, record Record, failures int, outcomes chan<- outcome) {
	e := &record.Event
	result := outcome{ordering: e.Ordering()}
	// A sender may end this goroutine (runtime.Goexit). The record stays.
	defer func() { outcomes <- result }()

	answer := r.send(ctx, record.Event)
	judged, err := judge(e, answer, r.cfg.AcceptPublished)
	result.retryAfter = answer.RetryAfter
	if err != nil {
		result.blameless = answer.EventAlone
		r.report(record, failures+1, err)
		return
	}
	if err := r.settle(ctx, record, judged, answer.Ack.Reason, failures+1); err != nil {
		result.blameless = true
		r.cfg.Logger.Error("outbox: the source could not let go of a record; it will be sent again", "record", record.ID, "key", e.Key, "error", err)
		return
	}
	result.verdict = judged
}

// errSender is true for a sender that breaks its contract.
var errSender = errors.New("outbox: the sender broke its contract")

// send makes one call to the sender and survives whatever it does.
func (r *Relay) send(ctx context.Context, e event.Event) (answer Answer) {
	ctx, cancel := context.WithTimeout(ctx, r.cfg.AttemptTimeout)
	defer cancel()
	returned := false
	defer func() {
		if returned {
			return
		}
		if value := recover(); value != nil {
			answer = Answer{Err: fmt.Errorf("%w: it panicked: %s", errSender, panictext.Of(value))}
			return
		}
		r.cfg.Logger.Error("outbox: alarm: the sender ended the relay's goroutine", "key", e.Key)
	}()
	answers := r.cfg.Sender.Send(ctx, []event.Event{e})
	returned = true
	if len(answers) != 1 {
		return Answer{Err: fmt.Errorf("%w: it gave %d answers for 1 event", errSender, len(answers))}
	}
	return answers[0]
}

// settle lets the source carry out what was proven.
func (r *Relay) settle(ctx context.Context, record Record, judged verdict, reason string, attempts int) error {
	if judged == delivered {
		return r.cfg.Source.Remove(ctx, []Record{record})
	}
	r.cfg.Logger.Error("outbox: the destination refused a record; it is set aside", "record", record.ID, "key", record.Event.Key, "reason", cutReason(reason))
	return r.cfg.Source.SetAside(ctx, record, Refusal{Reason: reason, Attempts: attempts})
}

// report logs why a record stays. What claims something and proves nothing is
// an alarm.
func (r *Relay) report(record Record, attempts int, err error) {
	args := []any{"record", record.ID, "key", record.Event.Key, "attempts", attempts, "error", err}
	if errors.Is(err, errUnproven) || errors.Is(err, errSender) {
		r.cfg.Logger.Error("outbox: alarm: an answer proves nothing; the record stays", args...)
		return
	}
	r.cfg.Logger.Warn("outbox: a delivery failed; the record stays", args...)
}
