package lobby_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/receipt"
	"github.com/settleonce/settleonce/receipt/receipttest"
	"github.com/settleonce/settleonce/settle"

	"github.com/settleonce/settleonce/examples/match/lobby"
	"github.com/settleonce/settleonce/examples/match/lobby/memory"
	"github.com/settleonce/settleonce/examples/match/result"
	"github.com/settleonce/settleonce/examples/match/vote"
)

func newLobby(t *testing.T, faults ...receipttest.Fault) *lobby.Lobby {
	t.Helper()
	database := memory.New([]string{"ann", "bob", "cleo", "dan"})
	fake, err := receipttest.New(receipttest.Config[lobby.Repository]{World: database, Faults: faults})
	if err != nil {
		t.Fatal(err)
	}
	arena, err := lobby.New(lobby.Config{Store: fake, Rooms: database})
	if err != nil {
		t.Fatal(err)
	}
	return arena
}

func eventOf(t *testing.T, room string, decision vote.Decision) event.Event {
	t.Helper()
	e, err := result.Result{RoomID: room, Decision: decision}.Event("node-1", time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// One room's life, as its battle node, a client and an operator see it.
func TestHandler(t *testing.T) {
	t.Parallel()
	arena := newLobby(t)
	handler := arena.Handler()
	settleRoom := func() {
		if _, err := arena.Settle(t.Context(), eventOf(t, "r", vote.Decision{Winner: vote.TeamOne})); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []struct {
		before             func()
		method, path, body string
		status             int
		want               string
	}{
		{nil, "GET", "/rooms/r", "", http.StatusNotFound, "unknown room r"},
		{nil, "POST", "/rooms", `{`, http.StatusBadRequest, "bad request"},
		{nil, "POST", "/rooms", `{"room_id":"r","team_size":1}`, http.StatusBadRequest, "node must be set"},
		{nil, "POST", "/rooms", `{"room_id":"r","node":"n","team_size":3}`, http.StatusConflict, "too few idle players"},
		{nil, "POST", "/rooms", `{"room_id":"r","node":"n","team_size":2}`, http.StatusOK, `"existed":false`},
		{nil, "POST", "/rooms", `{"room_id":"r","node":"n","team_size":2}`, http.StatusOK, `"existed":true`},
		{nil, "GET", "/rooms/r", "", http.StatusOK, `{"status":"in_battle"}`},
		{nil, "POST", "/rooms/r/release", `{"operator":"eve","reason":"outage"}`, http.StatusConflict, "not pending"},
		{nil, "POST", "/rooms/r/ended", "", http.StatusOK, ""},
		{nil, "GET", "/rooms/r", "", http.StatusOK, `{"status":"settlement_pending"}`},
		{nil, "POST", "/rooms/r/release", `{"operator":"eve"}`, http.StatusBadRequest, "reason must be set"},
		{nil, "POST", "/rooms/r/release", `{"operator":"settlement","reason":"outage"}`, http.StatusBadRequest, "not be"},
		{nil, "POST", "/rooms/r/release", `{"operator":"eve","reason":"outage"}`, http.StatusOK, `{"freed":4}`},
		{nil, "GET", "/rooms/r", "", http.StatusOK, `{"status":"settlement_pending"}`},
		{settleRoom, "GET", "/rooms/r", "", http.StatusOK, `{"status":"done"}`},
		{nil, "POST", "/rooms", `{"room_id":"r","node":"n","team_size":2}`, http.StatusGone, "is settled"},
		{nil, "POST", "/rooms/r/release", `{"operator":"eve","reason":"outage"}`, http.StatusGone, "is settled"},
		{nil, "GET", "/tables", "", http.StatusOK, `"matches":[{"room_id":"r"`},
	} {
		if step.before != nil {
			step.before()
		}
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, httptest.NewRequest(step.method, step.path, strings.NewReader(step.body)))
		if recorder.Code != step.status || !strings.Contains(recorder.Body.String(), step.want) {
			t.Errorf("%s %s %s: %d %s; want %d and %q", step.method, step.path, step.body, recorder.Code, recorder.Body, step.status, step.want)
		}
	}
}

func TestDeliveryLog(t *testing.T) {
	t.Parallel()
	arena := newLobby(t, receipttest.FailBeforeCommit)
	recorder := httptest.NewRecorder()
	arena.Handler().ServeHTTP(recorder, httptest.NewRequest("POST", "/rooms", strings.NewReader(`{"room_id":"r","node":"n","team_size":2}`)))
	path := filepath.Join(t.TempDir(), "log")
	log, err := lobby.OpenDeliveryLog(path)
	if err != nil {
		t.Fatal(err)
	}
	deliver := arena.SettleLogged(log)
	won, aborted := eventOf(t, "r", vote.Decision{Winner: vote.TeamOne}), eventOf(t, "r", vote.Decision{Aborted: true})
	for i, step := range []struct {
		event event.Event
		want  error
	}{
		{won, receipt.ErrNotCommitted},
		{won, nil},
		{won, nil},
		{aborted, receipt.ErrKindMismatch},
		{eventOf(t, "unknown", vote.Decision{Winner: vote.Draw}), settle.ErrRefused},
	} {
		if _, err := deliver(t.Context(), step.event); !errors.Is(err, step.want) {
			t.Errorf("delivery %d: error %v, want %v", i, err, step.want)
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var states []string
	for line := range strings.Lines(string(text)) {
		_, state, _ := strings.Cut(line, `"state":"`)
		states = append(states, strings.TrimSuffix(state, "\"}\n"))
	}
	want := "arrived failed arrived settled arrived replayed arrived refused arrived refused"
	if got := strings.Join(states, " "); got != want {
		t.Errorf("states %q, want %q", got, want)
	}
	if _, err := deliver(t.Context(), won); err == nil {
		t.Error("a delivery that cannot be noted was settled")
	}
}

func TestConfigNamesEveryWrongField(t *testing.T) {
	t.Parallel()
	_, err := lobby.New(lobby.Config{})
	for _, field := range []string{"Rooms", "Store"} {
		if err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("error %v does not name %s", err, field)
		}
	}
}
