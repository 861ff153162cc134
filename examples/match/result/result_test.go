package result_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/settleonce/settleonce/fingerprint"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/receipt"
	"github.com/settleonce/settleonce/settle"

	"github.com/settleonce/settleonce/examples/match/result"
	"github.com/settleonce/settleonce/examples/match/vote"
)

func ended() time.Time { return time.Date(2026, 2, 3, 21, 4, 5, 0, time.UTC) }

func TestEventCarriesTheResult(t *testing.T) {
	t.Parallel()
	for _, r := range []result.Result{
		{RoomID: "room-1", Decision: vote.Decision{Winner: vote.TeamTwo, Suspect: true}, ReplayPath: "05/room-1.json"},
		{RoomID: "room-2", Decision: vote.Decision{Aborted: true}, Reason: "nobody reported"},
	} {
		e, err := r.Event("node-1", ended())
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		var travelled event.Event
		if err := json.Unmarshal(text, &travelled); err != nil {
			t.Fatal(err)
		}
		got, err := result.FromEvent(travelled)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(r, got); diff != "" {
			t.Errorf("result (-sent +received):\n%s", diff)
		}
	}
}

func TestEverythingInAResultChangesItsFingerprint(t *testing.T) {
	t.Parallel()
	base := result.Result{RoomID: "r", Decision: vote.Decision{Winner: vote.TeamOne}, ReplayPath: "p"}
	seen := make(map[fingerprint.Digest]int)
	for i, change := range []func(*result.Result){
		func(*result.Result) {},
		func(r *result.Result) { r.RoomID = "s" },
		func(r *result.Result) { r.Decision.Winner = vote.Draw },
		func(r *result.Result) { r.Decision.Suspect = true },
		func(r *result.Result) { r.Decision.Aborted = true },
		func(r *result.Result) { r.Reason = "x" },
		func(r *result.Result) { r.ReplayPath = "" },
	} {
		changed := base
		change(&changed)
		digest, err := changed.Fingerprint()
		if err != nil {
			t.Fatal(err)
		}
		if other, found := seen[digest]; found {
			t.Errorf("changes %d and %d have one fingerprint", other, i)
		}
		seen[digest] = i
	}
}

func TestEventsThatContradictThemselves(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		change func(*event.Event)
		want   string
	}{
		{"another room in the key", func(e *event.Event) { e.Key.ID = "another" }, "key is"},
		{"another tenant", func(e *event.Event) { e.Key.Tenant = "another" }, "key is"},
		{"another type", func(e *event.Event) { e.Type = result.TypeAborted }, "type"},
		{"another content", func(e *event.Event) {
			e.Data = []byte(strings.Replace(string(e.Data), "replay_path\":\"", "replay_path\":\"x", 1))
		}, "fingerprint is"},
		{"no content", func(e *event.Event) { e.Data = nil }, "data"},
		{"no winner", func(e *event.Event) { e.Data = []byte(`{"room_id":"room-1"}`) }, "decision must have a winner or be aborted"},
		{"no room", func(e *event.Event) { e.Data = []byte(`{"decision":{"winner":1}}`) }, "room_id must not be empty"},
		{"aborted and suspect", func(e *event.Event) {
			e.Data = []byte(`{"room_id":"room-1","decision":{"aborted":true,"suspect":true}}`)
		}, "both aborted and suspect"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			e, err := result.Result{RoomID: "room-1", Decision: vote.Decision{Winner: vote.TeamOne}}.Event("node-1", ended())
			if err != nil {
				t.Fatal(err)
			}
			test.change(&e)
			if _, err := result.FromEvent(e); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v does not say %q", err, test.want)
			}
		})
	}
}

func TestUnknownSchemaVersionIsNoMismatch(t *testing.T) {
	t.Parallel()
	e, err := result.Result{RoomID: "room-1", Decision: vote.Decision{Winner: vote.TeamOne}}.Event("node-1", ended())
	if err != nil {
		t.Fatal(err)
	}
	if e.Fingerprint, err = fingerprint.Of(fingerprint.Schema{Name: "arena.result", Version: 2}, "from a newer build"); err != nil {
		t.Fatal(err)
	}
	if _, err := result.FromEvent(e); !errors.Is(err, receipt.ErrSchemaVersion) {
		t.Errorf("error %v, want one that a newer build would not have", err)
	}
}

func ExampleResult_Event() {
	r := result.Result{RoomID: "0197-7", Decision: vote.Decision{Winner: vote.Draw}, ReplayPath: "07/0197-7.json"}
	e, err := r.Event("node-1", time.Now())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(e.Type)
	fmt.Println(e.Key)
	fmt.Println(r.Kind() == settle.Settled)
	// Output:
	// arena.match.finished
	// arena/match/settle/0197-7
	// true
}
