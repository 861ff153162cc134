package faults

import (
	"bytes"
	"context"
	"io"
	"net/http"
)

// answer is what a process answered, read to its end.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// forward sends r, with body, to the process at url.
func forward(ctx context.Context, client *http.Client, url string, r *http.Request, body []byte) (answer, error) {
	request, err := http.NewRequestWithContext(ctx, r.Method, url+r.URL.RequestURI(), bytes.NewReader(body)) //nolint:gosec // where a request goes is what a proxy is told
	if err != nil {
		return answer{}, err
	}
	request.Header = r.Header.Clone()
	request.GetBody = nil               // or net/http would send it again by itself
	response, err := client.Do(request) //nolint:gosec // as above
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = response.Body.Close() }() // nothing was written to it
	content, err := io.ReadAll(io.LimitReader(response.Body, 16<<20))
	if err != nil {
		return answer{}, err
	}
	return answer{response.StatusCode, response.Header, content}, nil
}

// write passes the answer on.
func (a answer) write(w http.ResponseWriter) {
	header := w.Header()
	for name, values := range a.header {
		header[name] = values
	}
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body) // an error is a client that has gone
}
