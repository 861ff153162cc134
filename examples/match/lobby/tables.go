package lobby

import (
	"time"

	"github.com/settleonce/settleonce/outbox/event"

	"github.com/settleonce/settleonce/examples/match/vote"
)

// Room is a match that the lobby has persisted: who plays it, and where.
type Room struct {
	ID   string `json:"room_id"`
	Node string `json:"node"`
	// TeamOne and TeamTwo are the roster, the only one that settling uses.
	TeamOne []string `json:"team_one"`
	TeamTwo []string `json:"team_two"`
	// Ended says that the battle node reported the end, while the
	// settlement is still to come.
	Ended bool `json:"ended"`
}

// Players returns both teams, team one first.
func (r Room) Players() []string {
	return append(append(make([]string, 0, len(r.TeamOne)+len(r.TeamTwo)), r.TeamOne...), r.TeamTwo...)
}

// Match is how a room ended, as the lobby keeps it.
type Match struct {
	RoomID   string        `json:"room_id"`
	Decision vote.Decision `json:"decision"`
	Reason   string        `json:"reason,omitempty"`
}

// PlayerResult is what a match did to one player.
type PlayerResult struct {
	RoomID string `json:"room_id"`
	Player string `json:"player"`
	Team   int    `json:"team"`
	// Rated is the rating from which Change was computed: the player's own
	// when the match settled or, where an operator had released the room
	// early, when they did.
	Rated  int `json:"rated"`
	Change int `json:"change"`
}

// Replay is the replay row of a match. Path is empty where there is no file.
type Replay struct {
	RoomID string `json:"room_id"`
	Path   string `json:"path"`
}

// Rating is a player's rating, now and when the player was new.
type Rating struct {
	Player  string `json:"player"`
	Initial int    `json:"initial"`
	Current int    `json:"current"`
}

// Release is a player who was let out of a room.
type Release struct {
	RoomID string `json:"room_id"`
	Player string `json:"player"`
	// By says who did it: [BySettlement] or an operator's name.
	By string `json:"by"`
	// Settled says whether the match had committed by then.
	Settled bool `json:"settled"`
}

// BySettlement is who releases players after a settlement has committed.
const BySettlement = "settlement"

// EarlyRelease is an operator's decision not to let players wait for a
// settlement.
type EarlyRelease struct {
	RoomID   string    `json:"room_id"`
	Operator string    `json:"operator"`
	Reason   string    `json:"reason"`
	At       time.Time `json:"at"`
	// Frozen are the players' ratings at that moment. See
	// [CompensationRule].
	Frozen map[string]int `json:"frozen"`
}

// CompensationRule is what the players of a room that was released early get
// for it.
const CompensationRule = "players released early are rated from the ratings they had when they were released, " +
	"so nothing that they play while they wait changes what this match is worth; " +
	"the change is added to the rating they have when it settles; an aborted match changes nothing"

// Tables is everything that the lobby keeps, for the audit.
type Tables struct {
	Rooms         []Room         `json:"rooms"`
	Matches       []Match        `json:"matches"`
	PlayerResults []PlayerResult `json:"player_results"`
	Replays       []Replay       `json:"replays"`
	Ratings       []Rating       `json:"ratings"`
	Releases      []Release      `json:"releases"`
	EarlyReleases []EarlyRelease `json:"early_releases"`
	// InBattle are the players who are in a room.
	InBattle []string `json:"in_battle"`
	// Events are those that settlements emitted.
	Events []event.Event `json:"events"`
}
