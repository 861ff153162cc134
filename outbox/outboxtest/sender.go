package outboxtest

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/settleonce/settleonce/fingerprint"
	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/outbox/event"
)

// ErrUnavailable is what a faulty [Sender] answers where a fault says nothing
// else.
var ErrUnavailable = errors.New("outboxtest: the destination is not available")

// Fault says what goes wrong with one attempt. The zero Fault is none.
type Fault struct {
	// Err is the answer; the destination did not take the event.
	Err error
	// EventAlone and RetryAfter go with Err.
	EventAlone bool
	RetryAfter time.Duration
	// Lost: the destination took the event, and its answer was lost.
	Lost bool
	// Bare: somebody answered without a proof, and the destination saw
	// nothing.
	Bare bool
	// Published: a broker's acknowledgement instead of a receipt.
	Published bool
	// Refuse is the reason of a refusal. Empty: no refusal.
	Refuse string
	// Change alters the answer on its way back.
	Change func(*outbox.Ack)
	// Panic: the sender panics instead of answering.
	Panic bool
	// Exit: the sender ends its goroutine (runtime.Goexit).
	Exit bool
	// Answers is how many answers come for one event. Zero means one.
	// Negative means none.
	Answers int
	// Stall: the answer doesn't come before the context is done.
	Stall bool
	// Hold: the destination takes the event once this channel is closed,
	// whatever the context does meanwhile.
	Hold <-chan struct{}
}

// Sender is an [outbox.Sender] to a destination in memory, which takes each
// event once a Key and gives receipts. The zero Sender is ready and has no
// faults.
//
// Safe for concurrent use, except setting its fields. Do not copy one after its
// first use.
type Sender struct {
	// Fault says what goes wrong with an attempt, the nth at this event,
	// from 1. Nil: nothing. It may be called concurrently.
	Fault func(e event.Event, n int) Fault

	// Now dates attempts. Nil means time.Now.
	Now func() time.Time

	mu       sync.Mutex
	attempts []Attempt
	taken    []event.Event
	receipts map[event.Key]fingerprint.Digest
	counts   map[string]int
	busy     map[string]bool
	overlaps int
}

// Attempt is one event that was handed to a [Sender].
type Attempt struct {
	Event event.Event
	// Number counts the attempts at this event, from 1.
	Number int
	// At is when it began.
	At time.Time
}

var _ outbox.Sender = (*Sender)(nil)

// Attempts returns what was handed over so far, in order, repeats included.
func (s *Sender) Attempts() []Attempt {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.attempts)
}

// Taken returns the events that the destination took, in order, each Key once.
func (s *Sender) Taken() []event.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.taken)
}

// Overlaps counts the attempts that began while another of the same ordering
// key was out.
func (s *Sender) Overlaps() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.overlaps
}

// Send delivers batch, as [outbox.Sender] says, or as the faults say.
func (s *Sender) Send(ctx context.Context, batch []event.Event) []outbox.Answer {
	answers := make([]outbox.Answer, 0, len(batch))
	for _, e := range batch {
		e = e.Clone()
		n := s.begin(e)
		var fault Fault
		if s.Fault != nil {
			fault = s.Fault(e, n)
		}
		answers = append(answers, s.attempt(ctx, e, fault)...)
	}
	return answers
}

func (s *Sender) begin(e event.Event) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.Now
	if now == nil {
		now = time.Now
	}
	if s.counts == nil {
		s.counts = make(map[string]int)
		s.busy = make(map[string]bool)
		s.receipts = make(map[event.Key]fingerprint.Digest)
	}
	s.counts[e.ID]++
	if s.busy[e.Ordering()] {
		s.overlaps++
	}
	s.busy[e.Ordering()] = true
	s.attempts = append(s.attempts, Attempt{e, s.counts[e.ID], now()})
	return s.counts[e.ID]
}

func (s *Sender) end(e event.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.busy, e.Ordering())
}

// attempt returns the answers to one event.
func (s *Sender) attempt(ctx context.Context, e event.Event, fault Fault) []outbox.Answer {
	defer s.end(e)
	if fault.Hold != nil {
		<-fault.Hold
	}
	if fault.Stall {
		<-ctx.Done()
	}
	switch {
	case fault.Panic:
		panic("outboxtest: ordered to panic")
	case fault.Exit:
		runtime.Goexit()
	}
	answer := s.answer(ctx, e, fault)
	if fault.Change != nil {
		fault.Change(&answer.Ack)
	}
	switch {
	case fault.Answers < 0:
		return nil
	case fault.Answers > 1:
		return slices.Repeat([]outbox.Answer{answer}, fault.Answers)
	default:
		return []outbox.Answer{answer}
	}
}

func (s *Sender) answer(ctx context.Context, e event.Event, fault Fault) outbox.Answer {
	switch {
	case fault.Err != nil:
		return outbox.Answer{Err: fault.Err, EventAlone: fault.EventAlone, RetryAfter: fault.RetryAfter}
	case ctx.Err() != nil:
		return outbox.Answer{Err: ctx.Err()}
	case fault.Bare:
		return outbox.Answer{}
	case fault.Refuse != "":
		return outbox.Answer{Ack: outbox.Ack{Kind: outbox.AckRefusal, Key: e.Key, Fingerprint: e.Fingerprint, Reason: fault.Refuse}}
	}
	ack := s.accept(e)
	switch {
	case fault.Lost:
		return outbox.Answer{Err: ErrUnavailable}
	case fault.Published:
		return outbox.Answer{Ack: outbox.Ack{Kind: outbox.AckPublished, EventID: e.ID}}
	default:
		return outbox.Answer{Ack: ack}
	}
}

// accept is the destination: a receipt for the first event of a key and its
// repeats, a refusal for another fingerprint.
func (s *Sender) accept(e event.Event) outbox.Ack {
	s.mu.Lock()
	defer s.mu.Unlock()
	stored, known := s.receipts[e.Key]
	if known && !stored.Equal(e.Fingerprint) {
		return outbox.Ack{
			Kind: outbox.AckRefusal, Key: e.Key, Fingerprint: e.Fingerprint,
			Reason: "the key has a receipt for fingerprint " + stored.String(),
		}
	}
	if !known {
		s.receipts[e.Key] = e.Fingerprint
		s.taken = append(s.taken, e)
	}
	return outbox.Ack{Kind: outbox.AckReceipt, Key: e.Key, Fingerprint: e.Fingerprint}
}
