package main

import (
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/pgstore"
)

const (
	// statePath shows how far a relay is.
	statePath = "/state"
	// lettersPath has the dead letters of the outbox.
	lettersPath = "/dead-letters"
)

// operator is what a person asks of a relay and of the outbox behind it.
type operator struct {
	relay  *outbox.Relay
	events *pgstore.Events
}

// handler returns the operator's interface:
//
//	GET  /state                       how far the relay is
//	GET  /dead-letters                the oldest of them
//	POST /dead-letters/{id}/requeue   deliver one again, at its old place
//	POST /dead-letters/{id}/discard   never deliver it: {"reason": "..."}
//
// It authenticates nobody: it is for what lies before it, and for operators.
func (o operator) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+statePath, o.state)
	mux.HandleFunc("GET "+lettersPath, o.letters)
	mux.HandleFunc("POST "+lettersPath+"/{id}/requeue", o.requeue)
	mux.HandleFunc("POST "+lettersPath+"/{id}/discard", o.discard)
	return mux
}

// relayState is what a relay says of itself.
type relayState struct {
	// Lanes is how many lanes it holds, and Lease how long they stay its own
	// if nothing renews the lease, in nanoseconds. Zero: it holds none.
	Lanes int           `json:"lanes"`
	Lease time.Duration `json:"lease"`
	// Frontier is how far all relays are together, and this one. Its times
	// are in nanoseconds.
	Frontier outbox.Frontier `json:"frontier"`
	// Health says what is wrong. Empty: nothing is.
	Health string `json:"health,omitempty"`
}

func (o operator) state(w http.ResponseWriter, r *http.Request) {
	frontier, err := o.relay.Frontier(r.Context())
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	stats := o.events.Stats()
	state := relayState{Lanes: stats.Lanes, Lease: stats.Lease, Frontier: frontier}
	if health := o.relay.Health(); health != nil {
		state.Health = health.Error()
	}
	show(w, state)
}

// shownLetter is a dead letter as a person sees it. What the event says is not
// among it.
type shownLetter struct {
	ID       string    `json:"id"`
	Wallet   string    `json:"wallet,omitempty"`
	Bet      string    `json:"bet,omitempty"`
	Type     string    `json:"type,omitempty"`
	Time     time.Time `json:"time"`
	Reason   string    `json:"reason"`
	Attempts int       `json:"attempts"`
	// HoldsBack says that the wallet's later events wait for it.
	HoldsBack bool `json:"holds_back"`
}

func (o operator) letters(w http.ResponseWriter, r *http.Request) {
	found, err := o.events.DeadLetters(r.Context(), "", lettersAtOnce)
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	shown := make([]shownLetter, len(found))
	for i, letter := range found {
		shown[i] = shownLetter{ID: letter.ID, Time: letter.Time, Reason: letter.Reason, Attempts: letter.Attempts, HoldsBack: letter.HoldsBack}
		if e := letter.Event; e != nil { // nil: it cannot be read
			shown[i].Wallet, shown[i].Bet, shown[i].Type = e.OrderingKey, e.Subject, e.Type
		}
	}
	show(w, shown)
}

func (o operator) requeue(w http.ResponseWriter, r *http.Request) {
	settled(w, o.events.Requeue(r.Context(), r.PathValue("id")))
}

func (o operator) discard(w http.ResponseWriter, r *http.Request) {
	var why struct {
		Reason string `json:"reason"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<16)).Decode(&why); err != nil || why.Reason == "" {
		http.Error(w, `the body must be {"reason": "..."}, and say why`, http.StatusBadRequest)
		return
	}
	settled(w, o.events.Discard(r.Context(), r.PathValue("id"), why.Reason))
}

// settled says what became of a dead letter.
func settled(w http.ResponseWriter, err error) {
	switch {
	case errors.Is(err, outbox.ErrNoDeadLetter):
		http.Error(w, err.Error(), http.StatusNotFound)
	case err != nil:
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	default:
		w.WriteHeader(http.StatusNoContent)
	}
}

func show(w http.ResponseWriter, shown any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(shown) // an error is a client that has gone
}
