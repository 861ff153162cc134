package battle

import (
	"fmt"
	"net/http"
	"time"

	"github.com/settleonce/settleonce/examples/match/result"
	"github.com/settleonce/settleonce/examples/match/vote"
)

// Handler returns what the node shows, and the two mistakes that the
// demonstration asks it to make:
//
//	GET  /metrics                 the dwell of rooms, for Prometheus
//	POST /mistakes/abort/{room}   report a match once more, as aborted
//	POST /mistakes/unknown/{room} report a match of a room that nobody opened
//
// Both put a result into the outbox past the room and the journal, as a node
// with a broken recovery might.
func (n *Node) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		_ = n.dwell.Write(w) // an error is a client that has gone
	})
	mux.HandleFunc("POST /mistakes/abort/{room}", n.mistake(vote.Decision{Aborted: true}, "the battle node lost its memory"))
	mux.HandleFunc("POST /mistakes/unknown/{room}", n.mistake(vote.Decision{Winner: vote.TeamOne}, ""))
	return mux
}

func (n *Node) mistake(decision vote.Decision, reason string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		wrong := result.Result{RoomID: r.PathValue("room"), Decision: decision, Reason: reason}
		e, err := wrong.Event(n.config.Name, time.Now())
		if err == nil {
			err = n.config.Outbox.Put(r.Context(), e)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		fmt.Fprintln(w, "done")
	}
}
