package audit_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/receipt"

	"github.com/settleonce/settleonce/examples/match/audit"
	"github.com/settleonce/settleonce/examples/match/lobby"
	"github.com/settleonce/settleonce/examples/match/result"
	"github.com/settleonce/settleonce/examples/match/vote"
)

// inOrder are the facts of three matches: one won after an early release, one
// drawn and suspect, one aborted without its replay file.
func inOrder(t *testing.T) audit.Facts {
	t.Helper()
	facts := audit.Facts{
		Dwelt: []time.Duration{30 * time.Second, 31 * time.Second},
		Tables: lobby.Tables{
			Ratings: []lobby.Rating{rated("ann", 1516), rated("bob", 1484)},
			EarlyReleases: []lobby.EarlyRelease{{
				RoomID: "won", Operator: "eve", Reason: "outage", Frozen: map[string]int{"ann": 1500, "bob": 1500},
			}},
			Releases: []lobby.Release{released("won", "ann", "eve"), released("won", "bob", "eve")},
		},
	}
	add := func(room string, decision vote.Decision, replay string, change int) {
		r := result.Result{RoomID: room, Decision: decision, ReplayPath: replay}
		facts.Finished = append(facts.Finished, r)
		e := eventOf(t, r)
		settled := lobby.Settlement{
			Match:   lobby.Match{RoomID: room, Decision: decision},
			Players: []lobby.PlayerResult{played(room, "ann", 1, change), played(room, "bob", 2, -change)},
		}
		said := marshal(t, settled)
		facts.Receipts = append(facts.Receipts, receipt.Receipt{Key: result.Key(room), Requested: r.Kind(), Outcome: r.Kind(), Fingerprint: e.Fingerprint, Value: said, Attempt: "a"})
		facts.Tables.Matches = append(facts.Tables.Matches, settled.Match)
		facts.Tables.Replays = append(facts.Tables.Replays, lobby.Replay{RoomID: room, Path: replay})
		facts.Tables.Events = append(facts.Tables.Events, event.Event{Key: result.Key(room), Data: said})
		facts.Tables.PlayerResults = append(facts.Tables.PlayerResults, settled.Players...)
		facts.Deliveries = append(facts.Deliveries, lobby.Delivery{Key: result.Key(room), State: lobby.Arrived}, lobby.Delivery{Key: result.Key(room), State: lobby.First})
		if room != "won" {
			facts.Tables.Releases = append(facts.Tables.Releases, released(room, "ann", lobby.BySettlement), released(room, "bob", lobby.BySettlement))
		}
	}
	add("won", vote.Decision{Winner: vote.TeamOne}, "01/won.json", 16)
	add("drawn", vote.Decision{Winner: vote.Draw, Suspect: true}, "02/drawn.json", 0)
	add("aborted", vote.Decision{Aborted: true}, "", 0)
	facts.ReplayFiles = []string{"01/won.json", "02/drawn.json"}
	facts.Deliveries = append(facts.Deliveries, lobby.Delivery{Key: result.Key("won"), State: lobby.Arrived}, lobby.Delivery{Key: result.Key("won"), State: lobby.Replayed})
	late := eventOf(t, result.Result{RoomID: "won", Decision: vote.Decision{Aborted: true}})
	facts.SetAside = []audit.SetAside{{File: "late.bad", Event: &late}, {File: "poison.bad"}}
	return facts
}

func rated(player string, rating int) lobby.Rating {
	return lobby.Rating{Player: player, Initial: 1500, Current: rating}
}

func played(room, player string, team, change int) lobby.PlayerResult {
	return lobby.PlayerResult{RoomID: room, Player: player, Team: team, Rated: 1500, Change: change}
}

func released(room, player, by string) lobby.Release {
	return lobby.Release{RoomID: room, Player: player, By: by, Settled: by == lobby.BySettlement}
}

func eventOf(t *testing.T, r result.Result) event.Event {
	t.Helper()
	e, err := r.Event("node-1", time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func marshal(t *testing.T, settled lobby.Settlement) []byte {
	t.Helper()
	text, err := json.Marshal(settled)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// tamper changes what a receipt or an event says of its match.
func tamper(t *testing.T, said []byte, change func(*lobby.Settlement)) []byte {
	t.Helper()
	var settled lobby.Settlement
	if err := json.Unmarshal(said, &settled); err != nil {
		t.Fatal(err)
	}
	change(&settled)
	return marshal(t, settled)
}

func TestBooksInOrder(t *testing.T) {
	t.Parallel()
	report := audit.Judge(inOrder(t))
	want := audit.Figures{
		Matches: 3, Deliveries: 4, Replays: 1, Settled: 2, Aborted: 1, Suspect: 1, Draws: 1,
		ReplayMissing: 1, ReleasedEarly: 1, Conflicts: 1, Quarantined: 2,
	}
	if diff := cmp.Diff(want, report.Figures); diff != "" {
		t.Errorf("figures (-want +got):\n%s", diff)
	}
	if !report.InOrder() || len(report.Problems) > 0 || report.Compensated != 1 || report.LongestDwell != 31*time.Second {
		t.Errorf("in order %v, compensated %d, dwell %v, problems %q", report.InOrder(), report.Compensated, report.LongestDwell, report.Problems)
	}
}

func TestEveryFaultInTheBooksIsFound(t *testing.T) {
	t.Parallel()
	lost := func(f audit.Figures) int { return f.Lost }
	doubled := func(f audit.Figures) int { return f.Doubled }
	for _, test := range []struct {
		name   string
		change func(*audit.Facts)
		figure func(audit.Figures) int // nil: a problem alone
		text   string
	}{
		{"no receipt", func(f *audit.Facts) { f.Receipts = f.Receipts[1:] }, lost, "won has no [receipt]"},
		{"a receipt for another kind", func(f *audit.Facts) { f.Receipts[0].Requested = "aborted" }, lost, "it is for \"aborted\""},
		{"a receipt for another result", func(f *audit.Facts) { f.Receipts[0].Fingerprint = f.Receipts[1].Fingerprint }, lost, "won has no [receipt with its fingerprint]"},
		{"a receipt that says something else", func(f *audit.Facts) {
			f.Receipts[1].Value = tamper(t, f.Receipts[1].Value, func(s *lobby.Settlement) { s.Players[0].Change++ })
		}, nil, "receipt of match drawn does not say"},
		{"a receipt that says nothing", func(f *audit.Facts) { f.Receipts[1].Value = nil }, nil, "receipt of match drawn does not say"},
		{"an event that says something else", func(f *audit.Facts) {
			f.Tables.Events[2].Data = tamper(t, f.Tables.Events[2].Data, func(s *lobby.Settlement) { s.Match.Reason = "another" })
		}, nil, "event of match aborted does not say"},
		{"finished twice", func(f *audit.Facts) { f.Finished = append(f.Finished, f.Finished[0]) }, doubled, "won has more than one [finish]"},
		{"no match row", func(f *audit.Facts) { f.Tables.Matches = f.Tables.Matches[:2] }, lost, "aborted has no [match row]"},
		{"another decision", func(f *audit.Facts) { f.Tables.Matches[1].Decision.Suspect = false }, lost, "decision as it was finished"},
		{"no replay row", func(f *audit.Facts) { f.Tables.Replays = f.Tables.Replays[1:] }, lost, "replay row"},
		{"a replay that was forgotten", func(f *audit.Facts) { f.Tables.Replays[0].Path = "" }, lost, "won has no [replay path as it was finished]"},
		{"the replay of another match", func(f *audit.Facts) { f.Tables.Replays[0].Path = "02/drawn.json" }, lost, "replay path as it was finished"},
		{"no event", func(f *audit.Facts) { f.Tables.Events = f.Tables.Events[1:] }, lost, "event"},
		{"no players", func(f *audit.Facts) {
			f.Tables.PlayerResults = slices.DeleteFunc(f.Tables.PlayerResults, func(p lobby.PlayerResult) bool { return p.RoomID == "drawn" })
		}, lost, "drawn has no [player rows]"},
		{"two match rows", func(f *audit.Facts) { f.Tables.Matches = append(f.Tables.Matches, f.Tables.Matches[0]) }, doubled, "more than one [match row]"},
		{"two replay rows", func(f *audit.Facts) { f.Tables.Replays = append(f.Tables.Replays, f.Tables.Replays[0]) }, doubled, "replay row"},
		{"two events", func(f *audit.Facts) { f.Tables.Events = append(f.Tables.Events, f.Tables.Events[0]) }, doubled, "event"},
		{"a player twice", func(f *audit.Facts) {
			f.Tables.PlayerResults = append(f.Tables.PlayerResults, f.Tables.PlayerResults[2])
		}, doubled, "row of ann"},
		{"a rating changed twice", func(f *audit.Facts) { f.Tables.Ratings[0].Current += 16 }, doubled, "ann has rating 1532"},
		{"a change counted twice everywhere", func(f *audit.Facts) {
			for i := range 2 {
				f.Tables.PlayerResults[i].Change *= 2
				f.Tables.Ratings[i].Current = 1500 + f.Tables.PlayerResults[i].Change
			}
		}, nil, "match won changed ratings by other than its end"},
		{"another roster", func(f *audit.Facts) { f.Tables.PlayerResults[2].Player = "cleo" }, nil, "match drawn rated [bob cleo], and its room let out [ann bob]"},
		{"a player left out", func(f *audit.Facts) { f.Tables.PlayerResults = slices.Delete(f.Tables.PlayerResults, 2, 3) }, nil, "match drawn rated [bob]"},
		{"a match that nobody finished", func(f *audit.Facts) {
			f.Tables.Matches = append(f.Tables.Matches, lobby.Match{RoomID: "stranger"})
		}, doubled, "stranger was settled, and never finished"},
		{"released with no operator's word", func(f *audit.Facts) { f.Tables.Releases[2].Settled = false }, nil, "on no operator's word: room drawn"},
		{"released by a settlement that had not been", func(f *audit.Facts) { f.Tables.Releases[0].By = lobby.BySettlement }, nil, "on no operator's word: room won"},
		{"rated otherwise than by the rule", func(f *audit.Facts) { f.Tables.EarlyReleases[0].Frozen["ann"] = 1600 }, nil, "not rated by the rule: room won"},
		{"a room left open", func(f *audit.Facts) { f.Tables.Rooms = []lobby.Room{{ID: "open"}} }, nil, "room open is open still"},
		{"a player left in battle", func(f *audit.Facts) { f.Tables.InBattle = []string{"ann"} }, nil, "in battle still"},
		{"a replay that is not there", func(f *audit.Facts) { f.ReplayFiles = nil }, nil, "should be in 01/won.json"},
		{"a record left in the outbox", func(f *audit.Facts) { f.Owed = []string{"won"} }, func(f audit.Figures) int { return f.OutboxLeft }, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			facts := inOrder(t)
			test.change(&facts)
			report := audit.Judge(facts)
			if report.InOrder() {
				t.Error("the books are in order")
			}
			if test.figure != nil && test.figure(report.Figures) == 0 {
				t.Errorf("the figure is zero: %+v", report.Figures)
			}
			if text := strings.Join(report.Problems, "\n"); !strings.Contains(text, test.text) {
				t.Errorf("problems %q do not say %q", text, test.text)
			}
		})
	}
}

// What is owed still is not lost.
func TestOwedIsNotLost(t *testing.T) {
	t.Parallel()
	facts := inOrder(t)
	facts.Owed = []string{"unsettled"}
	facts.Finished = append(facts.Finished, result.Result{RoomID: "unsettled", Decision: vote.Decision{Winner: vote.TeamOne}})
	if report := audit.Judge(facts); report.Lost != 0 || report.OutboxLeft != 1 || report.InOrder() {
		t.Errorf("lost %d, outbox left %d, in order %v; want 0, 1, false", report.Lost, report.OutboxLeft, report.InOrder())
	}
}

func TestLineHasItsFixedForm(t *testing.T) {
	t.Parallel()
	line, err := audit.Figures{Store: "memory", Faults: map[string]int{"http-503": 2}, Seconds: 1.5}.Line()
	if err != nil {
		t.Fatal(err)
	}
	want := `{"store":"memory","matches":0,"deliveries":0,"replays":0,"settled":0,"aborted":0,"suspect":0,"draws":0,` +
		`"replay_missing":0,"released_early":0,"conflicts":0,"faults":{"http-503":2},"lost":0,"doubled":0,"outbox_left":0,"quarantined":0,"seconds":1.5}`
	if line != want || !json.Valid([]byte(line)) {
		t.Errorf("line\n%s\nwant\n%s", line, want)
	}
}

func TestTableShowsWhatCounts(t *testing.T) {
	t.Parallel()
	report := audit.Judge(inOrder(t))
	report.Faults = map[string]int{"seen": 2, "unseen": 0}
	report.Problems = []string{"something is wrong"}
	var table strings.Builder
	if err := report.Write(&table); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"lost", "doubled", "outbox left", "MISSING", lobby.CompensationRule, "something is wrong"} {
		if !strings.Contains(table.String(), text) {
			t.Errorf("the table does not say %q:\n%s", text, table.String())
		}
	}
}
