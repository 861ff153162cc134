package webhook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/receipt"
	"github.com/settleonce/settleonce/settle/settlehttp"
)

// BatchMediaType is the media type of a request in [Batched] mode.
const BatchMediaType = "application/cloudevents-batch+json"

// acceptedTypes is what an endpoint of ours can answer with.
const acceptedTypes = AnswersMediaType + ", " + receipt.MediaType + ", " + settlehttp.RefusalMediaType + ", " + settlehttp.ProblemMediaType

// item is one event on its way to an endpoint.
type item struct {
	index int // in the batch of the call
	event *event.Event
	// body is the event in the form that stands in a request's body.
	body []byte
}

// encode returns what stands in a body for e, in memory of its own: a transport
// may still read a request's body after its answer has come.
func encode(mode Mode, e *event.Event) ([]byte, error) {
	if mode == Binary {
		return bytes.Clone(e.Data), e.Validate()
	}
	return e.MarshalJSON()
}

// cut divides items into those of one request each, in their order.
func cut(endpoint *Endpoint, items []item) (requests [][]item) {
	if endpoint.Mode != Batched {
		for i := range items {
			requests = append(requests, items[i:i+1])
		}
		return requests
	}
	for len(items) > 0 {
		count := batchLength(endpoint, items)
		requests = append(requests, items[:count])
		items = items[count:]
	}
	return requests
}

// batchLength returns how many of items, one at least, one batch can have.
func batchLength(endpoint *Endpoint, items []item) int {
	bytes := 1 // the opening bracket
	for i := range items {
		bytes += len(items[i].body) + 1 // with a comma, or the closing bracket
		if i > 0 && (bytes > endpoint.MaxBatchBytes || i == endpoint.MaxBatch) {
			return i
		}
	}
	return len(items)
}

// request returns the signed request that carries items.
func (s *Sender) request(ctx context.Context, to *destination, items []item) (*http.Request, error) {
	endpoint := to.Endpoint
	body, id := items[0].body, eventID(items[0].event)
	if endpoint.Mode == Batched {
		body, id = batchBody(items), batchID(items)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint.URL, bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("not sent: the request could not be made") // The cause names the URL.
	}
	for name, values := range endpoint.Header {
		for _, value := range values {
			request.Header.Add(name, value)
		}
	}
	switch endpoint.Mode {
	case Binary:
		if err := setBinary(request.Header, items[0].event); err != nil {
			return nil, fmt.Errorf("not sent: %w", err)
		}
	case Batched:
		request.Header.Set("Content-Type", BatchMediaType)
	default:
		request.Header.Set("Content-Type", event.MediaType)
	}
	if endpoint.Proof == ProofReceipt {
		request.Header.Set("Accept", acceptedTypes)
	}
	sign(request.Header, endpoint.Keys, id, s.now(), body)
	return request, nil
}

func batchBody(items []item) []byte {
	var body bytes.Buffer
	for i := range items {
		body.WriteByte("[,"[min(i, 1)])
		body.Write(items[i].body)
	}
	body.WriteByte(']')
	return body.Bytes()
}
