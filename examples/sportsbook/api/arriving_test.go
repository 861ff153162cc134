package api_test

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/settleonce/settleonce/examples/sportsbook/api"
	"github.com/settleonce/settleonce/examples/sportsbook/house"
)

// A client that never sends the rest of its body is answered, and let go.
func TestBodyThatDoesNotArrive(t *testing.T) {
	t.Parallel()
	v := open(t, func(_ *house.Config, a *api.Config) { a.BodyTimeout = time.Millisecond })
	server := httptest.NewServer(v.handler)
	defer server.Close()
	connection, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	_, err = fmt.Fprintf(connection, "POST /bets HTTP/1.1\r\nHost: house\r\nAuthorization: Basic %s\r\n"+
		"Idempotency-Key: slip-1\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{",
		base64.StdEncoding.EncodeToString([]byte(alice)))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(connection), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusBadRequest || answer.Header.Get("Content-Type") != api.ProblemMediaType {
		t.Errorf("status %d, %s", answer.StatusCode, answer.Header.Get("Content-Type"))
	}
}
