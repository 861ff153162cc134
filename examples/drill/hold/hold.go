// Package hold lets a drill catch a server at a named place on its way through
// a request, and find it there for as long as it needs to kill it.
//
// The server says that it has come to the place by an interim answer, status
// 103, which [Notify] has told to whoever sent the request.
package hold

import (
	"context"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
)

// Header asks a server to stand still, where its value says. The interim answer
// has it too.
const Header = "Drill-Hold"

// Answer is the place before a good answer is given. All other places are the
// server's own, which names them in [Here].
const Answer = "answer"

// placeKey is the context key of a *place.
type placeKey struct{}

// place is where a request is to be held.
type place struct {
	name string
	w    http.ResponseWriter
	gone <-chan struct{} // ends the hold
}

// hold says that the place is reached, and stays until the client has gone.
func (p *place) hold() {
	p.w.Header().Set(Header, p.name)
	p.w.WriteHeader(http.StatusEarlyHints)
	<-p.gone
}

// Requests wraps a server's handler: a request that asks for it is served as
// ever up to the place where it is to be held, and then goes no further until
// its client has gone. The handler must have read the body by then, or net/http
// does not see that.
func Requests(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked := &place{r.Header.Get(Header), w, r.Context().Done()}
		switch asked.name {
		case "":
		case Answer:
			w = &heldWriter{ResponseWriter: w, place: asked}
		default:
			r = r.WithContext(context.WithValue(r.Context(), placeKey{}, asked))
		}
		handler.ServeHTTP(w, r)
	})
}

// Here is called where a server can be held. It returns at once unless ctx
// belongs to a request that is to be held at the place of this name.
func Here(ctx context.Context, name string) {
	if asked, found := ctx.Value(placeKey{}).(*place); found && asked.name == name {
		asked.hold()
	}
}

// Notify has the client of a request with this context call held when the
// server stands still.
func Notify(ctx context.Context, held func(place string)) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		Got1xxResponse: func(status int, header textproto.MIMEHeader) error {
			if name := header.Get(Header); status == http.StatusEarlyHints && name != "" {
				held(name)
			}
			return nil
		},
	})
}

// heldWriter holds back a good answer. A failure may go out: then nothing was
// committed, and there is nothing to wait for.
type heldWriter struct {
	http.ResponseWriter
	place *place
	begun bool
}

func (w *heldWriter) WriteHeader(status int) {
	w.begun = true
	if status < http.StatusMultipleChoices {
		w.place.hold()
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *heldWriter) Write(content []byte) (int, error) {
	if !w.begun {
		w.WriteHeader(http.StatusOK)
	}
	return w.ResponseWriter.Write(content)
}
