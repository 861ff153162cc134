package webhook

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/settleonce/settleonce/internal/panictext"
	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/outbox/event"
)

// Sender delivers events to endpoints over HTTP. The package comment has the
// formats, the limits, and what an answer proves.
//
// Safe for concurrent use.
type Sender struct {
	destinations map[string]*destination
	order        []*destination
	route        func(*event.Event) (string, error)
	batching     *outbox.Batching
	now          func() time.Time
}

// destination is an endpoint with what the sender keeps for it.
type destination struct {
	// A pointer, so that nothing of an endpoint shows when a Sender is
	// printed, whatever the verb.
	*Endpoint
	transport *http.Transport
	limiter   *limiter
}

var _ outbox.BatchSender = (*Sender)(nil)

// NewSender returns a Sender, or an error that names every wrong field of
// config. It connects to nothing yet.
func NewSender(config Config) (*Sender, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	sender := &Sender{
		destinations: make(map[string]*destination),
		route:        config.Route,
		batching:     &outbox.Batching{MaxEvents: 1},
		now:          config.Now,
	}
	if sender.now == nil {
		sender.now = time.Now
	}
	transports := newTransports(&config)
	for _, endpoint := range config.Endpoints {
		endpoint = endpoint.withDefaults()
		made := &destination{
			Endpoint:  &endpoint,
			transport: transports.of(&endpoint),
			limiter:   newLimiter(&endpoint),
		}
		sender.destinations[endpoint.Name] = made
		sender.order = append(sender.order, made)
		if endpoint.Mode == Batched {
			sender.batching.MaxEvents = max(sender.batching.MaxEvents, endpoint.MaxBatch)
			sender.batching.MaxBytes = max(sender.batching.MaxBytes, endpoint.MaxBatchBytes)
		}
	}
	return sender, nil
}

// Batching returns the greatest batch that any endpoint takes. It declares no
// order: a call never has two events of one ordering key, because a receiver
// promises nothing about the order within a batch.
func (s *Sender) Batching() outbox.Batching { return *s.batching }

// errHeldBack is the answer of an event that was not sent.
var errHeldBack = errors.New("webhook: not sent: an earlier event of the same ordering key was not delivered")

// Send delivers batch, each event to its endpoint, those of different ordering
// keys at the same time. Should a caller give two events of one ordering key,
// the later one is sent only once the earlier is delivered (I8).
//
// It returns when every event has its answer. An answer that has no proof is an
// error that names the endpoint, and never holds data, a URL or a header. With
// several endpoints [outbox.Answer.EventAlone] is set in each of those, where
// the event was sent: one endpoint that is down is no sign of the others. What
// was not sent and needed no endpoint to tell has [outbox.Answer.NotSent].
func (s *Sender) Send(ctx context.Context, batch []event.Event) []outbox.Answer {
	answers := make([]outbox.Answer, len(batch))
	pending := make([]item, len(batch))
	for i := range batch {
		pending[i] = item{index: i, event: &batch[i]}
	}
	failed := make(map[string]bool)
	for len(pending) > 0 {
		var round, later []item
		seen := make(map[string]bool)
		for _, it := range pending {
			switch ordering := it.event.Ordering(); {
			case failed[ordering]:
				answers[it.index] = outbox.Answer{Err: errHeldBack, NotSent: true}
			case seen[ordering]:
				later = append(later, it)
			default:
				seen[ordering] = true
				round = append(round, it)
			}
		}
		s.sendRound(ctx, round, answers)
		for _, it := range round {
			if !delivered(&answers[it.index]) {
				failed[it.event.Ordering()] = true
			}
		}
		pending = later
	}
	return answers
}

// delivered reports whether an answer claims delivery. A refused event is not
// delivered, and may hold its ordering key back.
func delivered(answer *outbox.Answer) bool {
	return answer.Err == nil && (answer.Ack.Kind == outbox.AckReceipt || answer.Ack.Kind == outbox.AckPublished)
}

// sendRound sends items, which are of different ordering keys.
func (s *Sender) sendRound(ctx context.Context, items []item, answers []outbox.Answer) {
	lines := make(map[*destination][]item)
	for _, it := range items {
		to, body, err := s.prepare(it.event)
		if err != nil {
			answers[it.index] = outbox.Answer{Err: err, NotSent: true}
			continue
		}
		it.body = body
		lines[to] = append(lines[to], it)
	}
	var group sync.WaitGroup
	for to, line := range lines {
		requests := make(chan []item, len(line))
		for _, request := range cut(to.Endpoint, line) {
			requests <- request
		}
		close(requests)
		for range min(len(requests), to.MaxInFlight) {
			group.Go(func() {
				for request := range requests {
					s.deliver(ctx, to, request, answers)
				}
			})
		}
	}
	group.Wait()
}

// prepare returns where an event goes, and what stands in a body for it.
func (s *Sender) prepare(e *event.Event) (to *destination, body []byte, err error) {
	to = s.order[0]
	if s.route != nil {
		name, err := s.callRoute(e)
		if err != nil {
			return nil, nil, fmt.Errorf("webhook: not sent: Route: %w", err)
		}
		if to = s.destinations[name]; to == nil {
			return nil, nil, fmt.Errorf("webhook: not sent: Route named %q, which is no endpoint", name)
		}
	}
	body, err = encode(to.Mode, e)
	if err != nil {
		return nil, nil, fmt.Errorf("webhook: not sent: %w", err)
	}
	return to, body, nil
}

// callRoute survives a panic: one event must not end the delivery of others.
func (s *Sender) callRoute(e *event.Event) (name string, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("it panicked: %s", panictext.Of(cause))
		}
	}()
	return s.route(e)
}

// deliver sends items in one request and fills in their answers. A batch whose
// failure can be one event's is divided, so that this event is found and fails
// alone.
func (s *Sender) deliver(ctx context.Context, to *destination, items []item, answers []outbox.Answer) {
	read := s.exchange(ctx, to, items)
	if read.divisible && len(items) > 1 {
		half := len(items) / 2
		s.deliver(ctx, to, items[:half], answers)
		s.deliver(ctx, to, items[half:], answers)
		return
	}
	for _, it := range items {
		answer := read.to(it)
		if answer.Err != nil {
			answer.Err = fmt.Errorf("webhook: endpoint %q: %w", to.Name, answer.Err)
			answer.EventAlone = answer.EventAlone || len(s.order) > 1 && !answer.NotSent
		}
		answers[it.index] = answer
	}
}

// exchange sends one request, within the endpoint's limits, and reads its
// answer.
func (s *Sender) exchange(ctx context.Context, to *destination, items []item) reply {
	if wait, err := to.limiter.acquire(ctx, to.Timeout); err != nil {
		closed := errors.Is(err, ErrPaused) || errors.Is(err, ErrGone)
		return reply{err: fmt.Errorf("not sent: %w", err), notSent: !closed, retryAfter: wait}
	}
	read := s.post(ctx, to, items)
	to.limiter.release(read.health, read.retryAfter)
	return read
}

func (s *Sender) post(ctx context.Context, to *destination, items []item) reply {
	bounded, cancel := context.WithTimeout(ctx, to.Timeout)
	defer cancel()
	request, err := s.request(bounded, to, items)
	if err != nil {
		return reply{err: err, notSent: true}
	}
	// A round trip, without a client: that would follow redirects, which
	// nobody configured, and name the URL in its errors, which can be a secret.
	response, err := to.transport.RoundTrip(request)
	if err != nil {
		return reply{err: &noAnswerError{err}, health: healthWithoutAnswer(ctx)}
	}
	defer discard(response.Body)
	body := &watchedBody{ReadCloser: response.Body}
	response.Body = body
	read := s.read(to.Endpoint, response)
	if body.failed { // Half an answer is none.
		read.eventAlone, read.divisible, read.health = false, false, healthWithoutAnswer(ctx)
	}
	return read
}

// healthWithoutAnswer says what it tells about an endpoint that no answer, or no
// whole one, came.
func healthWithoutAnswer(ctx context.Context) health {
	if errors.Is(ctx.Err(), context.Canceled) { // The caller gave up; the endpoint is not to blame.
		return unknown
	}
	return troubled
}

// watchedBody is an answer's body that remembers whether it came whole, as far
// as it was read.
type watchedBody struct {
	io.ReadCloser
	failed bool
}

// Read reads on.
func (b *watchedBody) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	b.failed = b.failed || err != nil && err != io.EOF
	return n, err
}

// noAnswerError is the transport's error, in a text that the other side cannot
// make long.
type noAnswerError struct{ cause error }

func (e *noAnswerError) Error() string {
	const longest = 300
	text := e.cause.Error()
	if len(text) > longest {
		text = text[:longest] + "…"
	}
	return "no answer: " + text
}

func (e *noAnswerError) Unwrap() error { return e.cause }
