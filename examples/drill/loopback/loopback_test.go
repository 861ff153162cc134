package loopback_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/settleonce/settleonce/examples/drill/loopback"
)

func get(t *testing.T, url string) (status int, err error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	return response.StatusCode, response.Body.Close()
}

func TestServesUntilItIsClosed(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	server, err := loopback.Serve(ctx, http.NotFoundHandler())
	if err != nil {
		t.Fatal(err)
	}
	cancel() // this alone does not close it
	if status, err := get(t, server.URL()+"/"); status != http.StatusNotFound || err != nil {
		t.Errorf("status %d, error %v", status, err)
	}
	if err := server.Close(); err != nil {
		t.Error(err)
	}
	if status, err := get(t, server.URL()+"/"); err == nil {
		t.Errorf("a closed server answered with status %d", status)
	}
}
