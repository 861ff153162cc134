package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
)

// What is behind a front sees neither the front's prefix nor anybody's password,
// and names as they were escaped.
func TestBehindAFront(t *testing.T) {
	t.Parallel()
	role := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s %q", r.URL.EscapedPath(), r.Header.Get("Authorization"))
	}))
	defer role.Close()
	passed, err := behind(projectionFront, role.URL)
	if err != nil {
		t.Fatal(err)
	}
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, projectionFront+"wallets/a%2Fb", nil)
	request.SetBasicAuth("corner-book/trudy", "desk")
	answer := httptest.NewRecorder()
	passed.ServeHTTP(answer, request)
	if got, want := answer.Body.String(), `/wallets/a%2Fb ""`; got != want {
		t.Errorf("the role saw %s, want %s", got, want)
	}
}
