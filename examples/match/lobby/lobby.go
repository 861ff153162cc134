// Package lobby is the receiving half of the game: it makes rooms, settles
// their matches exactly once, and then frees their players.
//
// # What one settlement does
//
// In one transaction: the match, what it did to each player, the ratings, the
// replay row, the event, the deletion of the persisted room, and the receipt.
// Only when that has committed are the players freed. Until then they are in
// battle, and the room shows [SettlementPending].
//
// Freeing them hangs on the receipt, not on the commit: it runs at every answer
// that carries one. So a lobby that dies between the two frees them when the
// battle node sends its result again, which it does until it has the receipt.
//
// # Lock order
//
// The receipt's key, the room, then the ratings in the order of the players'
// names.
package lobby

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/settleonce/settleonce/fingerprint"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/receipt"
	"github.com/settleonce/settleonce/settle"

	"github.com/settleonce/settleonce/examples/match/elo"
	"github.com/settleonce/settleonce/examples/match/result"
)

// Codes of refusals.
const (
	// CodeUnknownRoom: no such room is persisted, and there is no receipt.
	CodeUnknownRoom = "unknown-room"
	// CodeMalformed: the event is no result, or contradicts itself.
	CodeMalformed = "malformed-result"
)

// TypeSettled is the type of the event that a settlement emits.
const TypeSettled = "arena.match.settled"

// Config makes a lobby.
type Config struct {
	// Store keeps the receipts in the database of the repository. It must be
	// set.
	Store receipt.Store[Repository]
	// Rooms must be set.
	Rooms Rooms
	// CommitTimeout and ResolveTimeout are the runner's. Zero: its defaults.
	CommitTimeout  time.Duration
	ResolveTimeout time.Duration
	// Logger is the runner's. Nil: silence.
	Logger *slog.Logger
}

// Lobby settles matches. Safe for concurrent use, also by several processes.
type Lobby struct {
	rooms  Rooms
	runner *settle.Runner[Repository]
}

// New returns a lobby.
func New(config Config) (*Lobby, error) {
	lobby := &Lobby{rooms: config.Rooms}
	runner, err := settle.New(settle.Config[Repository]{
		Store: config.Store, CommitTimeout: config.CommitTimeout, ResolveTimeout: config.ResolveTimeout,
		OnReceipt: lobby.release, Logger: config.Logger,
	})
	if config.Rooms == nil {
		err = errors.Join(errors.New("Rooms must be set"), err)
	}
	if err != nil {
		return nil, fmt.Errorf("lobby: %w", err)
	}
	lobby.runner = runner
	return lobby, nil
}

// Settlement is the outcome in a match's receipt.
type Settlement struct {
	Match   Match          `json:"match"`
	Players []PlayerResult `json:"players"`
}

// Settle settles the match that e is the result of, or returns the receipt of
// when that was done. errors.Is(err, [settle.ErrRefused]) is true for a result
// that no room waits for; it changes nothing.
func (l *Lobby) Settle(ctx context.Context, e event.Event) (receipt.Receipt, error) {
	done, err := l.settle(ctx, e)
	return done.Receipt, err
}

func (l *Lobby) settle(ctx context.Context, e event.Event) (settle.Result[Settlement], error) {
	r, err := result.FromEvent(e)
	if errors.Is(err, receipt.ErrSchemaVersion) {
		return settle.Result[Settlement]{}, err
	}
	if err != nil {
		return settle.Result[Settlement]{}, settle.Refuse(CodeMalformed, "%v", err)
	}
	request := settle.Request{Key: e.Key, Kind: r.Kind(), Fingerprint: e.Fingerprint, Under: r.FingerprintUnder}
	return settle.Do(ctx, l.runner, request, func(ctx context.Context, a *settle.Attempt[Repository]) (Settlement, error) {
		return settleMatch(ctx, a, r)
	})
}

// release frees the players of a room, once its receipt is known to be there.
// A late duplicate finds them in other rooms and leaves them alone.
func (l *Lobby) release(ctx context.Context, r receipt.Receipt, _ bool) error {
	if _, err := l.rooms.Release(ctx, r.Key.ID); err != nil {
		return fmt.Errorf("lobby: %w", err)
	}
	return nil
}

// settleMatch is the effect. It may run more than once, and touches nothing but
// the transaction.
func settleMatch(ctx context.Context, a *settle.Attempt[Repository], r result.Result) (Settlement, error) {
	repository := a.Tx()
	room, err := repository.Room(ctx, r.RoomID)
	if errors.Is(err, ErrUnknownRoom) {
		return Settlement{}, settle.Refuse(CodeUnknownRoom, "no room %s is open, and none was settled", r.RoomID)
	}
	if err != nil {
		return Settlement{}, err
	}
	ratings, err := repository.Ratings(ctx, room.Players())
	if err != nil {
		return Settlement{}, err
	}
	released, err := repository.EarlyRelease(ctx, room.ID)
	if err != nil {
		return Settlement{}, err
	}
	if released != nil {
		ratings = released.Frozen // see CompensationRule
	}
	settlement := Settlement{
		Match:   Match{RoomID: room.ID, Decision: r.Decision, Reason: r.Reason},
		Players: rate(room, r, ratings),
	}
	if err := write(ctx, repository, settlement, r.ReplayPath); err != nil {
		return Settlement{}, err
	}
	return settlement, emit(a, settlement)
}

// rate says what the match does to each player of the room.
func rate(room Room, r result.Result, ratings map[string]int) []PlayerResult {
	change := elo.Change(r.Decision.Winner, ratingsOf(room.TeamOne, ratings), ratingsOf(room.TeamTwo, ratings))
	var results []PlayerResult
	for _, player := range room.TeamOne {
		results = append(results, PlayerResult{room.ID, player, 1, ratings[player], change})
	}
	for _, player := range room.TeamTwo {
		results = append(results, PlayerResult{room.ID, player, 2, ratings[player], -change})
	}
	return results
}

func ratingsOf(players []string, ratings map[string]int) []int {
	found := make([]int, len(players))
	for i, player := range players {
		found[i] = ratings[player]
	}
	return found
}

func write(ctx context.Context, repository Repository, settlement Settlement, replayPath string) error {
	if err := repository.InsertMatch(ctx, settlement.Match); err != nil {
		return err
	}
	if err := repository.InsertPlayerResults(ctx, settlement.Players); err != nil {
		return err
	}
	if err := repository.ChangeRatings(ctx, settlement.Players); err != nil {
		return err
	}
	if err := repository.InsertReplay(ctx, Replay{settlement.Match.RoomID, replayPath}); err != nil {
		return err
	}
	return repository.DeleteRoom(ctx, settlement.Match.RoomID)
}

// emit tells the rest of the game: quests, leader boards, friends.
func emit(a *settle.Attempt[Repository], settlement Settlement) error {
	data, err := json.Marshal(settlement)
	if err != nil {
		return fmt.Errorf("lobby: %w", err)
	}
	digest, err := fingerprint.Of(fingerprint.Schema{Name: "arena.settlement", Version: 1}, settlement)
	if err != nil {
		return fmt.Errorf("lobby: %w", err)
	}
	return a.Emit(event.Event{
		ID: receipt.NewID(), Source: "/lobby", Type: TypeSettled, Subject: settlement.Match.RoomID,
		Data: data, Key: result.Key(settlement.Match.RoomID), Fingerprint: digest,
	})
}
