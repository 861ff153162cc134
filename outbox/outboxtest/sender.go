package outboxtest

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/settleonce/settleonce/fingerprint"
	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/outbox/event"
)

// Sender is an [outbox.BatchSender] to a destination in memory, which takes
// each event once a Key and gives receipts. The zero Sender is ready, declares
// one event a call, and has no faults. It takes larger calls all the same, one
// event after the other, and tells.
//
// Safe for concurrent use, except setting its fields. Do not copy one after its
// first use.
type Sender struct {
	// Batch is what Batching returns.
	Batch outbox.Batching

	// Fault says what goes wrong with an attempt, the nth at this event,
	// from 1. Nil: nothing. It may be called concurrently.
	Fault func(e event.Event, n int) Fault

	// Now dates attempts. Nil means time.Now.
	Now func() time.Time

	mu        sync.Mutex
	calls     int
	attempts  []Attempt
	taken     []event.Event
	receipts  map[event.Key]fingerprint.Digest
	counts    map[string]int
	out       map[string]int // by ordering key: calls that have events of it
	overlaps  int
	oversized int
}

// Attempt is one event that was handed to a [Sender].
type Attempt struct {
	Event event.Event
	// Number counts the attempts at this event, from 1.
	Number int
	// Call counts the calls to Send, from 1: attempts of one call were one
	// batch.
	Call int
	// At is when the call began.
	At time.Time
}

var _ outbox.BatchSender = (*Sender)(nil)

// Batching returns Batch.
func (s *Sender) Batching() outbox.Batching { return s.Batch }

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
// key was out: in another call, or in the same one unless that is InOrder.
func (s *Sender) Overlaps() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.overlaps
}

// Oversized counts the calls that passed the bounds of Batch.
func (s *Sender) Oversized() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.oversized
}

// Send delivers batch, as [outbox.Sender] says, or as the faults say.
func (s *Sender) Send(ctx context.Context, batch []event.Event) []outbox.Answer {
	attempts := s.begin(batch)
	defer s.end(attempts)
	answers := make([]outbox.Answer, 0, len(attempts))
	failed := make(map[string]bool)
	for _, attempt := range attempts {
		var fault Fault
		if s.Fault != nil {
			fault = s.Fault(attempt.Event, attempt.Number)
		}
		ordering := attempt.Event.Ordering()
		if s.Batch.InOrder && failed[ordering] && !fault.Overtakes {
			fault = Fault{Err: ErrBehindFailed, Answers: fault.Answers}
		}
		got, ok := s.attempt(ctx, attempt.Event, fault)
		failed[ordering] = failed[ordering] || !ok
		answers = append(answers, got...)
	}
	return answers
}

// begin notes a call, and what it breaks of what Batch declares.
func (s *Sender) begin(batch []event.Event) []Attempt {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.counts == nil {
		s.counts = make(map[string]int)
		s.out = make(map[string]int)
		s.receipts = make(map[event.Key]fingerprint.Digest)
	}
	now := s.Now
	if now == nil {
		now = time.Now
	}
	at := now()
	s.calls++
	if s.oversizes(batch) {
		s.oversized++
	}
	attempts := make([]Attempt, len(batch))
	here := make(map[string]bool)
	for i, e := range batch {
		ordering := e.Ordering()
		if here[ordering] && !s.Batch.InOrder || !here[ordering] && s.out[ordering] > 0 {
			s.overlaps++
		}
		if !here[ordering] {
			here[ordering] = true
			s.out[ordering]++
		}
		s.counts[e.ID]++
		attempts[i] = Attempt{Event: e.Clone(), Number: s.counts[e.ID], Call: s.calls, At: at}
	}
	s.attempts = append(s.attempts, attempts...)
	return attempts
}

func (s *Sender) oversizes(batch []event.Event) bool {
	size := 0
	for _, e := range batch {
		size += len(e.Data)
	}
	return len(batch) > max(s.Batch.MaxEvents, 1) ||
		s.Batch.MaxBytes > 0 && size > s.Batch.MaxBytes && len(batch) > 1
}

func (s *Sender) end(attempts []Attempt) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ended := make(map[string]bool)
	for _, attempt := range attempts {
		ordering := attempt.Event.Ordering()
		if ended[ordering] {
			continue
		}
		ended[ordering] = true
		if s.out[ordering]--; s.out[ordering] == 0 {
			delete(s.out, ordering)
		}
	}
}

// attempt returns the answers to one event, and whether they prove that the
// destination took it.
func (s *Sender) attempt(ctx context.Context, e event.Event, fault Fault) (answers []outbox.Answer, ok bool) {
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
	ok = answer.Ack.Kind == outbox.AckReceipt || answer.Ack.Kind == outbox.AckPublished
	if fault.Change != nil {
		fault.Change(&answer.Ack)
	}
	switch {
	case fault.Answers < 0:
		return nil, ok
	case fault.Answers > 1:
		return slices.Repeat([]outbox.Answer{answer}, fault.Answers), ok
	default:
		return []outbox.Answer{answer}, ok
	}
}

func (s *Sender) answer(ctx context.Context, e event.Event, fault Fault) outbox.Answer {
	switch {
	case fault.Err != nil:
		return outbox.Answer{Err: fault.Err, EventAlone: fault.EventAlone, NotSent: fault.NotSent, RetryAfter: fault.RetryAfter}
	case ctx.Err() != nil:
		return outbox.Answer{Err: ctx.Err()}
	case fault.Bare:
		return outbox.Answer{}
	case fault.Refuse != "":
		return outbox.Answer{Ack: outbox.Ack{Kind: outbox.AckRefusal, Key: e.Key, Fingerprint: e.Fingerprint, Reason: fault.Refuse}}
	case fault.Reject != "":
		return outbox.Answer{Ack: outbox.Ack{Kind: outbox.AckRejected, EventID: e.ID, Reason: fault.Reject}}
	}
	ack := s.accept(e)
	switch {
	case fault.Lost:
		return outbox.Answer{Err: ErrUnavailable}
	case fault.Published && ack.Kind == outbox.AckReceipt:
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
