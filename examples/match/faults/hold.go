package faults

import (
	"context"
	"net/http"
)

// holdHeader asks a lobby to stand still, where its value says. The drill finds
// the lobby there for as long as it needs to kill it.
const holdHeader = "Arena-Hold"

// Where a lobby can be held. Its commit has happened by then.
const (
	// holdRelease: before it frees the players.
	holdRelease = "release"
	// holdAnswer: before it answers.
	holdAnswer = "answer"
)

// holdKey is the context key of the channel that ends a hold before the
// release.
type holdKey struct{}

// HoldRequests wraps a lobby's handler: a request that asks for it is served as
// ever up to the place where it is to be held, and then goes no further until
// its client has gone.
func HoldRequests(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		gone := r.Context().Done()
		switch r.Header.Get(holdHeader) {
		case holdRelease:
			r = r.WithContext(context.WithValue(r.Context(), holdKey{}, gone))
		case holdAnswer:
			w = &heldWriter{ResponseWriter: w, gone: gone}
		}
		handler.ServeHTTP(w, r)
	})
}

// HoldHere is called before players are freed. It returns at once unless ctx
// belongs to a request that is to be held there.
func HoldHere(ctx context.Context) {
	if gone, held := ctx.Value(holdKey{}).(<-chan struct{}); held {
		<-gone
	}
}

// heldWriter holds back a good answer. A failure may go out: then nothing was
// committed, and there is nothing to wait for.
type heldWriter struct {
	http.ResponseWriter
	gone  <-chan struct{}
	begun bool
}

func (w *heldWriter) WriteHeader(status int) {
	w.begun = true
	if status == http.StatusOK {
		<-w.gone
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *heldWriter) Write(content []byte) (int, error) {
	if !w.begun {
		w.WriteHeader(http.StatusOK)
	}
	return w.ResponseWriter.Write(content)
}
