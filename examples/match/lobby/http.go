package lobby

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// OpenRequest is the body of POST /rooms.
type OpenRequest struct {
	RoomID   string `json:"room_id"`
	Node     string `json:"node"`
	TeamSize int    `json:"team_size"`
}

// OpenAnswer is its answer.
type OpenAnswer struct {
	Room Room `json:"room"`
	// Existed says that the room had been opened before.
	Existed bool `json:"existed"`
}

// ReleaseRequest is the body of POST /rooms/{id}/release, the operator's action
// for a long outage.
type ReleaseRequest struct {
	Operator string `json:"operator"`
	Reason   string `json:"reason"`
}

// Handler returns the lobby's interface for battle nodes, clients and
// operators, apart from the results themselves, which come to
// settlehttp.Handler:
//
//	POST /rooms               open a room; 409 while too few players are idle, 410 once it is settled
//	POST /rooms/{id}/ended    the battle has ended
//	GET  /rooms/{id}          {"status": "in_battle" | "settlement_pending" | "done"}
//	POST /rooms/{id}/release  release the players early, on an operator's word
//	GET  /tables              everything, for the audit
//
// It authenticates nobody. A real lobby lets only operators release, and nobody
// read its tables.
func (l *Lobby) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /rooms", answer(l.open))
	mux.HandleFunc("POST /rooms/{id}/ended", answer(l.ended))
	mux.HandleFunc("GET /rooms/{id}", answer(l.status))
	mux.HandleFunc("POST /rooms/{id}/release", answer(l.releaseEarly))
	mux.HandleFunc("GET /tables", answer(func(r *http.Request) (any, error) { return l.rooms.Tables(r.Context()) }))
	return mux
}

func (l *Lobby) open(r *http.Request) (any, error) {
	var request OpenRequest
	if err := read(r, &request); err != nil {
		return nil, err
	}
	if request.RoomID == "" || request.Node == "" || request.TeamSize < 1 {
		return nil, fmt.Errorf("%w: room_id and node must be set, team_size 1 or more", errBadRequest)
	}
	room, existed, err := l.rooms.Open(r.Context(), request.RoomID, request.Node, request.TeamSize)
	return OpenAnswer{room, existed}, err
}

func (l *Lobby) ended(r *http.Request) (any, error) {
	return struct{}{}, l.rooms.Ended(r.Context(), r.PathValue("id"))
}

func (l *Lobby) status(r *http.Request) (any, error) {
	status, err := l.rooms.Status(r.Context(), r.PathValue("id"))
	return map[string]Status{"status": status}, err
}

func (l *Lobby) releaseEarly(r *http.Request) (any, error) {
	var request ReleaseRequest
	if err := read(r, &request); err != nil {
		return nil, err
	}
	if request.Operator == "" || request.Operator == BySettlement || request.Reason == "" {
		return nil, fmt.Errorf("%w: operator and reason must be set, and the operator not be %q", errBadRequest, BySettlement)
	}
	freed, err := l.rooms.ReleaseEarly(r.Context(), r.PathValue("id"), request.Operator, request.Reason)
	return map[string]int{"freed": freed}, err
}

var errBadRequest = errors.New("lobby: bad request")

func read(r *http.Request, body any) error {
	decoder := json.NewDecoder(http.MaxBytesReader(nil, r.Body, 1<<16))
	if err := decoder.Decode(body); err != nil {
		return fmt.Errorf("%w: %w", errBadRequest, err)
	}
	return nil
}

// answer makes a handler of a function from a request to what its JSON answer
// holds.
func answer(serve func(*http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := serve(r)
		if err != nil {
			http.Error(w, err.Error(), statusOf(err))
			return
		}
		w.Header().Set("Content-Type", "application/json")
		// An error here is a client that has gone.
		_ = json.NewEncoder(w).Encode(body)
	}
}

func statusOf(err error) int {
	switch {
	case errors.Is(err, errBadRequest):
		return http.StatusBadRequest
	case errors.Is(err, ErrUnknownRoom):
		return http.StatusNotFound
	case errors.Is(err, ErrTooFewPlayers), errors.Is(err, ErrNotPending):
		return http.StatusConflict
	case errors.Is(err, ErrRoomSettled):
		return http.StatusGone
	default:
		return http.StatusServiceUnavailable
	}
}
