package hold_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/settleonce/settleonce/examples/drill/hold"
)

// server answers with status, and can be held at "middle".
func server(t *testing.T, status int) (url string, passed <-chan string) {
	t.Helper()
	places := make(chan string, 2)
	started := httptest.NewServer(hold.Requests(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hold.Here(r.Context(), "middle")
		places <- "middle"
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "the end")
		places <- "end"
	})))
	t.Cleanup(started.Close)
	return started.URL, places
}

// ask sends a request that is to be held at a place, and ends it once it is.
func ask(t *testing.T, url, place string) (held string, status int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ctx = hold.Notify(ctx, func(name string) {
		held = name
		cancel()
	})
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if place != "" {
		request.Header.Set(hold.Header, place)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return held, 0
	}
	_ = response.Body.Close()
	return held, response.StatusCode
}

func TestRequestIsHeldWhereItAsksToBe(t *testing.T) {
	t.Parallel()
	for _, place := range []string{"middle", hold.Answer} {
		url, passed := server(t, http.StatusOK)
		if held, status := ask(t, url, place); held != place || status != 0 {
			t.Errorf("held at %q with status %d, want %q and no answer", held, status, place)
		}
		if got := <-passed; got != "middle" {
			t.Errorf("passed %q", got)
		}
	}
}

func TestOtherRequestsAreNotHeld(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		place  string
		status int
	}{
		{"", http.StatusOK},
		{"elsewhere", http.StatusOK},
		{hold.Answer, http.StatusServiceUnavailable},
	} {
		url, _ := server(t, test.status)
		if held, status := ask(t, url, test.place); held != "" || status != test.status {
			t.Errorf("%q: held at %q, status %d, want %d", test.place, held, status, test.status)
		}
	}
}
