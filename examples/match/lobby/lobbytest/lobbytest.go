// Package lobbytest is what every implementation of the lobby's tables must
// keep: the one in PostgreSQL and the one in memory.
package lobbytest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/settleonce/settleonce/fingerprint"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/receipt"
	"github.com/settleonce/settleonce/settle"

	"github.com/settleonce/settleonce/examples/match/elo"
	"github.com/settleonce/settleonce/examples/match/lobby"
	"github.com/settleonce/settleonce/examples/match/result"
	"github.com/settleonce/settleonce/examples/match/vote"
)

// Subject is an implementation, fresh and with the given players.
type Subject struct {
	Store receipt.Store[lobby.Repository]
	Rooms lobby.Rooms
}

// Test runs the suite. open makes a fresh subject.
func Test(t *testing.T, open func(t *testing.T, players []string) Subject) {
	t.Helper()
	cases := []struct {
		name string
		test func(trial)
	}{
		{"a settlement writes everything and then frees the players", settlesOnce},
		{"players stay in battle until the commit", pendingUntilCommit},
		{"a failed settlement leaves nothing", failureLeavesNothing},
		{"an aborted match changes no rating", abortsWithoutRating},
		{"what contradicts a receipt is a conflict", conflicts},
		{"a room that nobody opened is refused", refusesUnknownRooms},
		{"a result that contradicts itself is refused", refusesMalformed},
		{"a result of a later schema is no refusal", waitsForLaterSchema},
		{"a late duplicate frees nobody", lateDuplicateFreesNobody},
		{"a replay frees whom a dead lobby did not", replayFrees},
		{"opening again opens the same room", opensOnce},
		{"rooms wait for idle players", waitsForPlayers},
		{"an early release is rated by its rule", releasesEarly},
		{"an early release needs a pending settlement", refusesEarlyRelease},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.test(trial{t, open(t, []string{"ann", "bob", "cleo", "dan"})})
		})
	}
}

// trial is one case on a fresh subject, with four idle players.
type trial struct {
	t *testing.T
	Subject
}

// newLobby makes the lobby under test.
func newLobby(t *testing.T, s Subject) *lobby.Lobby {
	t.Helper()
	arena, err := lobby.New(lobby.Config{Store: s.Store, Rooms: s.Rooms})
	if err != nil {
		t.Fatal(err)
	}
	return arena
}

func open(t *testing.T, s Subject) lobby.Room {
	t.Helper()
	room, existed, err := s.Rooms.Open(t.Context(), receipt.NewID(), "node-1", 2)
	if err != nil || existed {
		t.Fatalf("open: existed %v, error %v", existed, err)
	}
	return room
}

func resultOf(t *testing.T, room string, decision vote.Decision) event.Event {
	t.Helper()
	e, err := result.Result{RoomID: room, Decision: decision, ReplayPath: "01/replay.json"}.Event("node-1", ended())
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func tables(t *testing.T, s Subject) lobby.Tables {
	t.Helper()
	read, err := s.Rooms.Tables(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return read
}

func ratings(t *testing.T, s Subject) map[string]int {
	t.Helper()
	found := make(map[string]int)
	for _, rating := range tables(t, s).Ratings {
		found[rating.Player] = rating.Current
	}
	return found
}

func wantStatus(t *testing.T, s Subject, room string, want lobby.Status) {
	t.Helper()
	got, err := s.Rooms.Status(t.Context(), room)
	if err != nil || got != want {
		t.Errorf("status %q, error %v; want %q", got, err, want)
	}
}

func settlesOnce(c trial) {
	t, s := c.t, c.Subject
	arena := newLobby(t, s)
	room := open(t, s)
	wantStatus(t, s, room.ID, lobby.InBattle)
	e := resultOf(t, room.ID, vote.Decision{Winner: vote.TeamTwo, Suspect: true})
	first, err := arena.Settle(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	second, err := arena.Settle(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first, second, cmp.Comparer(func(a, b receipt.Receipt) bool { return a.Attempt == b.Attempt && string(a.Value) == string(b.Value) })); diff != "" {
		t.Errorf("the second receipt is another (-first +second):\n%s", diff)
	}
	got := tables(t, s)
	want := lobby.Tables{
		Matches: []lobby.Match{{RoomID: room.ID, Decision: vote.Decision{Winner: vote.TeamTwo, Suspect: true}}},
		Replays: []lobby.Replay{{RoomID: room.ID, Path: "01/replay.json"}},
	}
	for i, player := range room.Players() {
		team, change := 1, -16
		if i >= 2 {
			team, change = 2, 16
		}
		want.PlayerResults = append(want.PlayerResults, lobby.PlayerResult{RoomID: room.ID, Player: player, Team: team, Rated: elo.Start, Change: change})
		want.Ratings = append(want.Ratings, lobby.Rating{Player: player, Initial: elo.Start, Current: elo.Start + change})
		want.Releases = append(want.Releases, lobby.Release{RoomID: room.ID, Player: player, By: lobby.BySettlement, Settled: true})
	}
	if diff := cmp.Diff(want, got, equateOrder()...); diff != "" {
		t.Errorf("tables (-want +got):\n%s", diff)
	}
	wantStatus(t, s, room.ID, lobby.Done)
}

// atCommit calls a function when the settlement is complete and about to
// commit.
type atCommit struct {
	receipt.Store[lobby.Repository]
	call func(events []event.Event) error
}

func (s atCommit) Begin(ctx context.Context, claim receipt.Claim) (receipt.Session[lobby.Repository], error) {
	session, err := s.Store.Begin(ctx, claim)
	if err != nil {
		return nil, err
	}
	return &atCommitSession{session, s.call}, nil
}

type atCommitSession struct {
	receipt.Session[lobby.Repository]
	call func(events []event.Event) error
}

func (s *atCommitSession) Commit(ctx context.Context, r receipt.Receipt, events ...event.Event) (receipt.Receipt, error) {
	if err := s.call(events); err != nil {
		return receipt.Receipt{}, errors.Join(err, s.Session.Rollback(ctx))
	}
	return s.Session.Commit(ctx, r, events...)
}

func pendingUntilCommit(c trial) {
	t, s := c.t, c.Subject
	room := open(t, s)
	if err := s.Rooms.Ended(t.Context(), room.ID); err != nil {
		t.Fatal(err)
	}
	wantStatus(t, s, room.ID, lobby.SettlementPending)
	looks := 0
	s.Store = atCommit{s.Store, func(events []event.Event) error {
		looks++
		if len(events) != 1 || events[0].Type != lobby.TypeSettled || events[0].Key != result.Key(room.ID) {
			t.Errorf("events %+v, want one that the match is settled", events)
		}
		wantStatus(t, s, room.ID, lobby.SettlementPending)
		if got := tables(t, s); len(got.InBattle) != 4 || len(got.Releases) != 0 {
			t.Errorf("before the commit %v are in battle, and released are %v", got.InBattle, got.Releases)
		}
		return nil
	}}
	if _, err := newLobby(t, s).Settle(t.Context(), resultOf(t, room.ID, vote.Decision{Winner: vote.Draw})); err != nil {
		t.Fatal(err)
	}
	if got := tables(t, s); looks != 1 || len(got.InBattle) != 0 {
		t.Errorf("after %d commits %v are in battle", looks, got.InBattle)
	}
}

func failureLeavesNothing(c trial) {
	t, s := c.t, c.Subject
	room := open(t, s)
	before := tables(t, s)
	fault := fmt.Errorf("%w: on purpose", receipt.ErrNotCommitted)
	failing := s
	failing.Store = atCommit{s.Store, func([]event.Event) error { return fault }}
	e := resultOf(t, room.ID, vote.Decision{Winner: vote.TeamOne})
	if _, err := newLobby(t, failing).Settle(t.Context(), e); !errors.Is(err, receipt.ErrNotCommitted) {
		t.Errorf("error %v, want the injected one", err)
	}
	if diff := cmp.Diff(before, tables(t, s), equateOrder()...); diff != "" {
		t.Errorf("a failed settlement changed the tables (-before +after):\n%s", diff)
	}
	if _, err := newLobby(t, s).Settle(t.Context(), e); err != nil {
		t.Errorf("the next try: %v", err)
	}
}

func abortsWithoutRating(c trial) {
	t, s := c.t, c.Subject
	room := open(t, s)
	stored, err := newLobby(t, s).Settle(t.Context(), resultOf(t, room.ID, vote.Decision{Aborted: true}))
	if err != nil || stored.Outcome != settle.Aborted {
		t.Fatalf("outcome %q, error %v; want aborted", stored.Outcome, err)
	}
	for player, rating := range ratings(t, s) {
		if rating != elo.Start {
			t.Errorf("%s has rating %d", player, rating)
		}
	}
	wantStatus(t, s, room.ID, lobby.Done)
}

func conflicts(c trial) {
	t, s := c.t, c.Subject
	arena := newLobby(t, s)
	room := open(t, s)
	if _, err := arena.Settle(t.Context(), resultOf(t, room.ID, vote.Decision{Winner: vote.TeamOne})); err != nil {
		t.Fatal(err)
	}
	before := tables(t, s)
	_, err := arena.Settle(t.Context(), resultOf(t, room.ID, vote.Decision{Aborted: true}))
	if !errors.Is(err, receipt.ErrKindMismatch) {
		t.Errorf("an aborted result: error %v, want a kind mismatch", err)
	}
	_, err = arena.Settle(t.Context(), resultOf(t, room.ID, vote.Decision{Winner: vote.TeamTwo}))
	if !errors.Is(err, receipt.ErrFingerprintMismatch) {
		t.Errorf("another winner: error %v, want a fingerprint mismatch", err)
	}
	if diff := cmp.Diff(before, tables(t, s), equateOrder()...); diff != "" {
		t.Errorf("a conflict changed the tables (-before +after):\n%s", diff)
	}
}

func wantRefused(t *testing.T, err error, code string) {
	t.Helper()
	var refused *settle.RefusedError
	if !errors.As(err, &refused) || refused.Code != code || refused.Detail == "" {
		t.Errorf("error %v, want a refusal %q with a reason", err, code)
	}
}

func refusesUnknownRooms(c trial) {
	t, s := c.t, c.Subject
	unknown := receipt.NewID()
	e := resultOf(t, unknown, vote.Decision{Winner: vote.TeamOne})
	_, err := newLobby(t, s).Settle(t.Context(), e)
	wantRefused(t, err, lobby.CodeUnknownRoom)
	if history, err := s.Store.History(t.Context(), e.Key); len(history) != 0 || err != nil {
		t.Errorf("a refusal left receipts %v, error %v", history, err)
	}
	if got := tables(t, s); len(got.Matches) != 0 {
		t.Errorf("a refusal left matches %v", got.Matches)
	}
}

func refusesMalformed(c trial) {
	t, s := c.t, c.Subject
	room := open(t, s)
	e := resultOf(t, room.ID, vote.Decision{Winner: vote.TeamOne})
	e.Type = result.TypeAborted
	_, err := newLobby(t, s).Settle(t.Context(), e)
	wantRefused(t, err, lobby.CodeMalformed)
}

// A battle node that was updated first must find its record in the outbox when
// the lobby follows, and not set aside.
func waitsForLaterSchema(c trial) {
	t, s := c.t, c.Subject
	room := open(t, s)
	e := resultOf(t, room.ID, vote.Decision{Winner: vote.TeamOne})
	later := e.Fingerprint.Schema()
	later.Version++
	var err error
	if e.Fingerprint, err = fingerprint.Of(later, "whatever that will be"); err != nil {
		t.Fatal(err)
	}
	_, err = newLobby(t, s).Settle(t.Context(), e)
	if !errors.Is(err, receipt.ErrSchemaVersion) || errors.Is(err, settle.ErrRefused) {
		t.Errorf("error %v, want an unknown schema version and no refusal", err)
	}
}

func lateDuplicateFreesNobody(c trial) {
	t, s := c.t, c.Subject
	arena := newLobby(t, s)
	first := open(t, s)
	e := resultOf(t, first.ID, vote.Decision{Winner: vote.TeamOne})
	if _, err := arena.Settle(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	second := open(t, s)
	if _, err := arena.Settle(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	wantStatus(t, s, second.ID, lobby.InBattle)
	if got := tables(t, s).InBattle; len(got) != 4 {
		t.Errorf("in battle are %v, want all of the second room", got)
	}
}

// dying fails the first release, as a lobby does that dies after its commit.
type dying struct {
	lobby.Rooms
	calls *int
}

func (d dying) Release(ctx context.Context, id string) (int, error) {
	if *d.calls++; *d.calls == 1 {
		return 0, errors.New("dead")
	}
	return d.Rooms.Release(ctx, id)
}

func replayFrees(c trial) {
	t, s := c.t, c.Subject
	room := open(t, s)
	e := resultOf(t, room.ID, vote.Decision{Winner: vote.TeamOne})
	calls := 0
	arena := newLobby(t, Subject{s.Store, dying{s.Rooms, &calls}})
	if _, err := arena.Settle(t.Context(), e); !errors.Is(err, receipt.ErrWithheld) {
		t.Errorf("error %v, want the proof withheld", err)
	}
	wantStatus(t, s, room.ID, lobby.SettlementPending)
	if _, err := arena.Settle(t.Context(), e); err != nil {
		t.Error(err)
	}
	wantStatus(t, s, room.ID, lobby.Done)
}

func opensOnce(c trial) {
	t, s := c.t, c.Subject
	room := open(t, s)
	again, existed, err := s.Rooms.Open(t.Context(), room.ID, "node-1", 2)
	if err != nil || !existed {
		t.Errorf("open again: existed %v, error %v", existed, err)
	}
	if diff := cmp.Diff(room, again); diff != "" {
		t.Errorf("another room (-first +again):\n%s", diff)
	}
	if _, err := newLobby(t, s).Settle(t.Context(), resultOf(t, room.ID, vote.Decision{Winner: vote.Draw})); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Rooms.Open(t.Context(), room.ID, "node-1", 2); !errors.Is(err, lobby.ErrRoomSettled) {
		t.Errorf("open a settled room: error %v", err)
	}
}

func waitsForPlayers(c trial) {
	t, s := c.t, c.Subject
	if _, _, err := s.Rooms.Open(t.Context(), receipt.NewID(), "node-1", 3); !errors.Is(err, lobby.ErrTooFewPlayers) {
		t.Errorf("six of four players: error %v", err)
	}
	open(t, s)
	if _, _, err := s.Rooms.Open(t.Context(), receipt.NewID(), "node-1", 1); !errors.Is(err, lobby.ErrTooFewPlayers) {
		t.Errorf("two of none: error %v", err)
	}
	if got := tables(t, s); len(got.Rooms) != 1 {
		t.Errorf("a room without players is open: %v", got.Rooms)
	}
}

func releasesEarly(c trial) {
	t, s := c.t, c.Subject
	arena := newLobby(t, s)
	waiting := open(t, s)
	if err := s.Rooms.Ended(t.Context(), waiting.ID); err != nil {
		t.Fatal(err)
	}
	freed, err := s.Rooms.ReleaseEarly(t.Context(), waiting.ID, "eve", "outage")
	if err != nil || freed != 4 {
		t.Fatalf("freed %d, error %v", freed, err)
	}
	wantStatus(t, s, waiting.ID, lobby.SettlementPending)
	// Meanwhile they play another match, which changes their ratings.
	meanwhile := open(t, s)
	if _, err := arena.Settle(t.Context(), resultOf(t, meanwhile.ID, vote.Decision{Winner: vote.TeamOne})); err != nil {
		t.Fatal(err)
	}
	playing := open(t, s)
	between := ratings(t, s)
	if _, err := arena.Settle(t.Context(), resultOf(t, waiting.ID, vote.Decision{Winner: vote.TeamTwo})); err != nil {
		t.Fatal(err)
	}
	wantStatus(t, s, playing.ID, lobby.InBattle)
	after := ratings(t, s)
	for i, player := range waiting.Players() {
		want := between[player] - 16
		if i >= 2 {
			want = between[player] + 16
		}
		if after[player] != want {
			t.Errorf("%s has rating %d, want %d: 16 points between equals, as they were when released", player, after[player], want)
		}
	}
	got := tables(t, s)
	if len(got.EarlyReleases) != 1 || got.EarlyReleases[0].Operator != "eve" || got.EarlyReleases[0].Reason != "outage" {
		t.Errorf("early releases %+v", got.EarlyReleases)
	}
	for _, release := range got.Releases {
		if early := release.RoomID == waiting.ID; release.Settled == early || early != (release.By == "eve") {
			t.Errorf("release %+v", release)
		}
	}
}

func refusesEarlyRelease(c trial) {
	t, s := c.t, c.Subject
	room := open(t, s)
	if _, err := s.Rooms.ReleaseEarly(t.Context(), room.ID, "eve", "outage"); !errors.Is(err, lobby.ErrNotPending) {
		t.Errorf("while the battle goes on: error %v", err)
	}
	if _, err := newLobby(t, s).Settle(t.Context(), resultOf(t, room.ID, vote.Decision{Winner: vote.Draw})); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Rooms.ReleaseEarly(t.Context(), room.ID, "eve", "outage"); !errors.Is(err, lobby.ErrRoomSettled) {
		t.Errorf("a settled room: error %v", err)
	}
	if _, err := s.Rooms.ReleaseEarly(t.Context(), receipt.NewID(), "eve", "outage"); !errors.Is(err, lobby.ErrUnknownRoom) {
		t.Errorf("an unknown room: error %v", err)
	}
}
