package battle_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/receipt/receipttest"

	"github.com/settleonce/settleonce/examples/match/battle"
	"github.com/settleonce/settleonce/examples/match/lobby"
	"github.com/settleonce/settleonce/examples/match/lobby/memory"
	"github.com/settleonce/settleonce/examples/match/result"
)

// shelf is an outbox in memory.
type shelf struct {
	mu     sync.Mutex
	events []event.Event
	fail   error
	only   string // the room whose event fails; empty: all do
}

func (s *shelf) Put(_ context.Context, e event.Event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil && (s.only == "" || s.only == e.Key.ID) {
		return s.fail
	}
	s.events = append(s.events, e)
	return nil
}

// results returns what is on the shelf, by room.
func (s *shelf) results(t *testing.T) map[string][]result.Result {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	found := make(map[string][]result.Result)
	for _, e := range s.events {
		r, err := result.FromEvent(e)
		if err != nil {
			t.Fatal(err)
		}
		found[r.RoomID] = append(found[r.RoomID], r)
	}
	return found
}

// arena is a lobby with enough players for all rooms at once.
func arena(t *testing.T, rooms int) (url string, database *memory.Database) {
	t.Helper()
	players := make([]string, 4*rooms)
	for i := range players {
		players[i] = fmt.Sprintf("player-%d", i)
	}
	database = memory.New(players)
	fake, err := receipttest.New(receipttest.Config[lobby.Repository]{World: database})
	if err != nil {
		t.Fatal(err)
	}
	served, err := lobby.New(lobby.Config{Store: fake, Rooms: database})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(served.Handler())
	t.Cleanup(server.Close)
	return server.URL, database
}

// node is a node in a directory, which another may take over.
func node(t *testing.T, directory, url string, matches int, owing battle.Outbox) *battle.Node {
	t.Helper()
	journal, entries, err := battle.OpenJournal(filepath.Join(directory, "journal"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = journal.Close() })
	made, err := battle.New(battle.Config{
		Name: "node-1", Matches: matches, Seed: 7, TeamSize: 2, Workers: 4, Replays: filepath.Join(directory, "replays"),
		Journal: journal, Entries: entries, Outbox: owing,
		Lobby:  battle.LobbyClient{URL: url, Client: http.DefaultClient},
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func read(t *testing.T, directory string) (byKind map[string][]battle.Entry) {
	t.Helper()
	entries, err := battle.ReadJournal(filepath.Join(directory, "journal"))
	if err != nil {
		t.Fatal(err)
	}
	byKind = make(map[string][]battle.Entry)
	for _, entry := range entries {
		byKind[entry.Kind] = append(byKind[entry.Kind], entry)
	}
	return byKind
}

func TestEveryTenMatchesShowEveryEnding(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	url, _ := arena(t, 20)
	owing := &shelf{}
	fought := node(t, directory, url, 20, owing)
	if err := fought.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	counts := make(map[string]int)
	for room, results := range owing.results(t) {
		if len(results) != 1 {
			t.Errorf("room %s has %d results", room, len(results))
		}
		switch decision := results[0].Decision; {
		case decision.Aborted:
			counts["aborted"]++
		case decision.Suspect:
			counts["suspect"]++
		default:
			counts[decision.Winner.String()]++
		}
		if _, err := os.Stat(filepath.Join(directory, "replays", results[0].ReplayPath)); results[0].ReplayPath == "" || err != nil {
			t.Errorf("replay %q: %v", results[0].ReplayPath, err)
		}
	}
	if counts["aborted"] != 4 || counts["suspect"] != 4 || counts["draw"] != 2 || counts["team one"]+counts["team two"] != 10 {
		t.Errorf("endings %v; want of 20 matches 4 aborted, 4 suspect, 2 draws, 10 won", counts)
	}
	for _, closed := range read(t, directory)[battle.Closed] {
		if closed.Dwelt != 30*time.Second {
			t.Errorf("room %s dwelt %v", closed.RoomID, closed.Dwelt)
		}
	}
	var metric strings.Builder
	if err := fought.Dwell().Write(&metric); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{`arena_rooms_finished 0`, `arena_room_finished_seconds_bucket{le="30"} 20`, `arena_room_finished_seconds_sum 600`, `arena_room_finished_seconds_count 20`} {
		if !strings.Contains(metric.String(), line+"\n") {
			t.Errorf("the metric lacks %q:\n%s", line, metric.String())
		}
	}
}

// BattleEnd goes to the clients that are there, so to fewer in some matches.
func TestClientsThatLeftAreNotTold(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	url, _ := arena(t, 10)
	if err := node(t, directory, url, 10, &shelf{}).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	told := make(map[int]int)
	for _, closed := range read(t, directory)[battle.Closed] {
		told[len(closed.Told)]++
	}
	// Of ten matches one was deserted by three, and one player was kicked.
	if told[4] != 8 || told[3] != 1 || told[1] != 1 {
		t.Errorf("rooms by number of clients told: %v; want 8 with four, 1 with three, 1 with one", told)
	}
}

func TestReplayThatCannotBeWrittenHoldsUpNothing(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	// A file where the directory ought to be stops even root.
	if err := os.WriteFile(filepath.Join(directory, "replays"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	url, _ := arena(t, 3)
	owing := &shelf{}
	if err := node(t, directory, url, 3, owing).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	results := owing.results(t)
	if len(results) != 3 {
		t.Errorf("%d results, want 3", len(results))
	}
	for _, r := range results {
		if r[0].ReplayPath != "" {
			t.Errorf("room %s says its replay is %q", r[0].RoomID, r[0].ReplayPath)
		}
	}
}

// A node that died between its journal and its outbox owes the result all the
// same, and hands over the same event.
func TestNodeHandsOverWhatItsJournalOwes(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	url, _ := arena(t, 1)
	broken := &shelf{fail: errors.New("the disk is gone")}
	if err := node(t, directory, url, 1, broken).Run(t.Context()); err == nil {
		t.Fatal("a node went on without an outbox")
	}
	finished := read(t, directory)[battle.Finished]
	if len(finished) != 1 {
		t.Fatalf("the journal has %d finished matches, want 1", len(finished))
	}
	owing := &shelf{}
	if err := node(t, directory, url, 1, owing).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(owing.events) != 1 || owing.events[0].ID != finished[0].Event.ID {
		t.Errorf("the outbox has %v, want the journal's %v", owing.events, finished[0].Event.ID)
	}
	again := &shelf{}
	if err := node(t, directory, url, 1, again).Run(t.Context()); err != nil || len(again.events) != 0 {
		t.Errorf("what was handed over is handed over again: %v, error %v", again.events, err)
	}
}

// An outbox that holds something else for one match must not keep the node from
// the others. The journal goes on owing it.
func TestConflictHoldsUpNothingElse(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	url, _ := arena(t, 2)
	if err := node(t, directory, url, 1, &shelf{fail: errors.New("the disk is gone")}).Run(t.Context()); err == nil {
		t.Fatal("a node went on without an outbox")
	}
	owed := read(t, directory)[battle.Finished][0].RoomID
	contradicting := &shelf{fail: outbox.ErrConflict, only: owed}
	if err := node(t, directory, url, 2, contradicting).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if results := contradicting.results(t); len(results) != 1 || len(results[owed]) != 0 {
		t.Errorf("handed over are %v, want the second match", results)
	}
	after := &shelf{}
	if err := node(t, directory, url, 2, after).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if results := after.results(t); len(results) != 1 || len(results[owed]) != 1 {
		t.Errorf("handed over at the next start are %v, want the first match", results)
	}
}

// A battle that was lost with its node is aborted, if the lobby had opened its
// room.
func TestLostBattleIsAborted(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	url, database := arena(t, 2)
	if _, _, err := database.Open(t.Context(), "lost", "node-1", 2); err != nil {
		t.Fatal(err)
	}
	journal := ""
	for i, room := range []string{"lost", "never-opened"} {
		line, err := json.Marshal(battle.Entry{Kind: battle.Opened, Number: i + 1, RoomID: room})
		if err != nil {
			t.Fatal(err)
		}
		journal += string(line) + "\n"
	}
	if err := os.WriteFile(filepath.Join(directory, "journal"), []byte(journal), 0o600); err != nil {
		t.Fatal(err)
	}
	owing := &shelf{}
	if err := node(t, directory, url, 2, owing).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	results := owing.results(t)
	if lost := results["lost"]; len(lost) != 1 || !lost[0].Decision.Aborted || lost[0].Reason != "the battle node was restarted" {
		t.Errorf("the lost battle ended as %+v", lost)
	}
	if opened := results["never-opened"]; len(opened) != 1 || opened[0].Reason == "the battle node was restarted" {
		t.Errorf("the battle that had not begun ended as %+v", opened)
	}
}

func TestMistakesGoPastTheJournal(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	owing := &shelf{}
	server := httptest.NewServer(node(t, directory, "http://unused", 0, owing).Handler())
	t.Cleanup(server.Close)
	for _, path := range []string{"/mistakes/abort/a", "/mistakes/unknown/b"} {
		response, err := http.Post(server.URL+path, "", nil)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusOK {
			t.Errorf("POST %s: %s", path, response.Status)
		}
	}
	results := owing.results(t)
	if len(results["a"]) != 1 || !results["a"][0].Decision.Aborted || len(results["b"]) != 1 || results["b"][0].Decision.Aborted {
		t.Errorf("results %+v", results)
	}
	if entries := read(t, directory); len(entries) != 0 {
		t.Errorf("the journal has %v", entries)
	}
}

func TestConfigNamesEveryWrongField(t *testing.T) {
	t.Parallel()
	_, err := battle.New(battle.Config{Matches: -1})
	for _, field := range []string{"Name", "Matches", "TeamSize", "Workers", "Replays", "Journal", "Outbox", "Lobby", "Logger"} {
		if err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("error %v does not name %s", err, field)
		}
	}
}
