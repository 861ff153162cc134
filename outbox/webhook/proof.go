package webhook

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/settle/settlehttp"
)

// ErrNoProof is true for a [*StatusError], and for the answer to a batch that
// cannot be read or says nothing of an event. What package settlehttp reads and
// does not take for proof is a *settlehttp.AnswerError, for which
// settlehttp.ErrNoProof is true.
var ErrNoProof = errors.New("webhook: no proof")

// StatusError describes an answer of an endpoint with [ProofStatus] whose status
// proves nothing. The record stays. Nothing of the
// answer's body is kept. errors.Is(err, [ErrNoProof]) is true for it.
type StatusError struct {
	// Status is the answer's HTTP status.
	Status int
}

// Error tells the status.
func (e *StatusError) Error() string { return fmt.Sprintf("%v: status %d", ErrNoProof, e.Status) }

// Unwrap returns [ErrNoProof].
func (e *StatusError) Unwrap() error { return ErrNoProof }

// reply is what an endpoint answered to one request, for all events in it.
type reply struct {
	// err is why there is no proof for any of them. EventAlone, notSent and
	// retryAfter go with it.
	err        error
	eventAlone bool
	notSent    bool
	retryAfter time.Duration
	health     health

	// One of these is set where err is nil.
	published bool            // a status of the 200s
	rejected  int             // a status that is listed as a rejection
	single    *outbox.Ack     // a document about one event
	named     *batchDocuments // documents by key
	// divisible says that the answer can be about one of several events in
	// the request: each half may fare better alone.
	divisible bool
}

// to returns the answer for the event of it.
func (r *reply) to(it item) outbox.Answer {
	switch {
	case r.err != nil:
		return outbox.Answer{Err: r.err, EventAlone: r.eventAlone, NotSent: r.notSent, RetryAfter: r.retryAfter}
	case r.published:
		return outbox.Answer{Ack: outbox.Ack{Kind: outbox.AckPublished, EventID: it.event.ID}}
	case r.rejected != 0:
		return outbox.Answer{Ack: outbox.Ack{
			Kind: outbox.AckRejected, EventID: it.event.ID, Reason: fmt.Sprintf("status %d", r.rejected),
		}}
	case r.named != nil:
		return r.named.answer(it.event, r.retryAfter)
	default:
		return outbox.Answer{Ack: *r.single}
	}
}

// read returns what an answer proves. It reads no more of the body than the
// proof needs.
func (s *Sender) read(endpoint *Endpoint, response *http.Response) reply {
	wait := min(settlehttp.RetryAfter(response.Header, s.now()), endpoint.MaxPause)
	var read reply
	if endpoint.Proof == ProofStatus {
		read = readStatus(endpoint, response.StatusCode)
	} else {
		read = readDocuments(endpoint, response)
	}
	read.retryAfter = wait
	return read
}

func readStatus(endpoint *Endpoint, status int) reply {
	switch {
	case status >= 200 && status <= 299 && status != http.StatusMultiStatus:
		return reply{published: true, health: working}
	case slices.Contains(endpoint.RejectStatuses, status):
		return reply{rejected: status, health: working, divisible: true}
	default:
		return reply{err: &StatusError{status}, eventAlone: aboutEvent(status), health: healthOf(status), divisible: aboutEvent(status)}
	}
}

// aboutEvent reports the statuses that are about what was sent, so that other
// events may fare better.
func aboutEvent(status int) bool {
	switch status {
	case http.StatusBadRequest, http.StatusConflict, http.StatusRequestEntityTooLarge,
		http.StatusUnprocessableEntity, http.StatusRequestHeaderFieldsTooLarge:
		return true
	default:
		return false
	}
}

// healthOf says what a status tells about the endpoint, as Standard Webhooks
// advises.
func healthOf(status int) health {
	switch status {
	case http.StatusGone:
		return gone
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return troubled
	default:
		return working
	}
}

// readDocuments reads the answer of an endpoint of ours.
func readDocuments(endpoint *Endpoint, response *http.Response) reply {
	if endpoint.Mode == Batched && isBatchAnswer(response) {
		named, err := readBatch(response.Body, endpoint.MaxAnswer)
		if err != nil {
			return reply{err: fmt.Errorf("%w: %w", ErrNoProof, err), health: working}
		}
		return reply{named: named, health: working}
	}
	ack, err := settlehttp.ReadProof(response, endpoint.MaxAnswer)
	if err == nil && endpoint.Mode == Batched {
		return reply{named: &batchDocuments{acks: []outbox.Ack{ack}}, health: working}
	}
	if err == nil {
		return reply{single: &ack, health: working}
	}
	status := response.StatusCode
	read := reply{err: err, eventAlone: aboutEvent(status), health: healthOf(status), divisible: aboutEvent(status)}
	if answered, ok := errors.AsType[*settlehttp.AnswerError](err); ok && answered.EventAlone() {
		read.eventAlone, read.divisible, read.health = true, true, working
	}
	return read
}

// discard reads a short rest of the body, so that the connection can carry the
// next request, and gives a long one up.
func discard(body io.ReadCloser) {
	const short = 64 << 10
	_, _ = io.CopyN(io.Discard, body, short)
	_ = body.Close()
}
