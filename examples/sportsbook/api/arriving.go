package api

import (
	"io"
	"net/http"
	"time"
)

// arrivingBody is a body that must arrive in time, or its sender could keep a
// connection for good. The deadline begins with the first read, and is over with
// the body: net/http goes on to read from the connection, to see a client leave.
type arrivingBody struct {
	io.ReadCloser
	controller *http.ResponseController
	timeout    time.Duration
	begun      bool
}

func arriving(w http.ResponseWriter, body io.ReadCloser, timeout time.Duration) *arrivingBody {
	return &arrivingBody{ReadCloser: body, controller: http.NewResponseController(w), timeout: timeout}
}

// Read reads from the body.
func (b *arrivingBody) Read(into []byte) (int, error) {
	if !b.begun {
		b.begun = true
		_ = b.controller.SetReadDeadline(time.Now().Add(b.timeout)) // fails where there is no connection
	}
	n, err := b.ReadCloser.Read(into)
	if err == io.EOF {
		_ = b.controller.SetReadDeadline(time.Time{})
	}
	return n, err
}
