// Package result is the message between a battle node and the lobby: how one
// match ended.
package result

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/settleonce/settleonce/fingerprint"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/receipt"
	"github.com/settleonce/settleonce/settle"

	"github.com/settleonce/settleonce/examples/match/vote"
)

// Tenant is the one game that this program runs.
const Tenant = "arena"

// The event types of the two kinds of result.
const (
	TypeFinished = "arena.match.finished"
	TypeAborted  = "arena.match.aborted"
)

// Result says how one match ended. It names no players: the lobby takes those
// from the room that it persisted itself.
type Result struct {
	// RoomID is the match's identity, a UUIDv7, never used again.
	RoomID string `json:"room_id"`
	// Decision is what the vote came to.
	Decision vote.Decision `json:"decision"`
	// Reason says in words why a match was aborted; empty otherwise.
	Reason string `json:"reason,omitempty"`
	// ReplayPath is where the replay file lies; empty: there is none.
	ReplayPath string `json:"replay_path"`
}

// Key returns the idempotency key of settling room.
func Key(room string) receipt.Key {
	return receipt.Key{Tenant: Tenant, Scope: "match", Operation: "settle", ID: room}
}

// Validate reports every field that breaks a rule.
func (r Result) Validate() error {
	var broken []error
	if r.RoomID == "" {
		broken = append(broken, errors.New("result: room_id must not be empty"))
	}
	if r.Decision.Aborted == r.Decision.Winner.Reportable() {
		broken = append(broken, fmt.Errorf("result: decision must have a winner or be aborted, has %v and aborted %v", r.Decision.Winner, r.Decision.Aborted))
	}
	if r.Decision.Aborted && r.Decision.Suspect {
		broken = append(broken, errors.New("result: decision must not be both aborted and suspect"))
	}
	return errors.Join(broken...)
}

// Kind returns what the lobby is asked to do.
func (r Result) Kind() receipt.Kind {
	if r.Decision.Aborted {
		return settle.Aborted
	}
	return settle.Settled
}

// currentSchema changes its version with the meaning of a field.
func currentSchema() fingerprint.Schema { return fingerprint.Schema{Name: "arena.result", Version: 1} }

// Fingerprint digests everything that changes what the lobby does: all of it.
func (r Result) Fingerprint() (fingerprint.Digest, error) {
	return r.FingerprintUnder(currentSchema())
}

// FingerprintUnder is Fingerprint under the schema of a digest that somebody
// else made. errors.Is(err, [receipt.ErrSchemaVersion]) is true for one that
// this build does not know: a newer build may.
func (r Result) FingerprintUnder(schema fingerprint.Schema) (fingerprint.Digest, error) {
	if schema != currentSchema() {
		return fingerprint.Digest{}, fmt.Errorf("result: fingerprint %v: %w", schema, receipt.ErrSchemaVersion)
	}
	digest, err := fingerprint.Of(schema, r)
	if err != nil {
		return fingerprint.Digest{}, fmt.Errorf("result: %w", err)
	}
	return digest, nil
}

// Event returns the result as a new event of node, finished at the given time.
// Make it once and keep it: another call gives an event with another id.
func (r Result) Event(node string, at time.Time) (event.Event, error) {
	if err := r.Validate(); err != nil {
		return event.Event{}, err
	}
	digest, err := r.Fingerprint()
	if err != nil {
		return event.Event{}, err
	}
	data, err := json.Marshal(r)
	if err != nil {
		return event.Event{}, fmt.Errorf("result: %w", err)
	}
	eventType := TypeFinished
	if r.Decision.Aborted {
		eventType = TypeAborted
	}
	return event.Event{
		ID: receipt.NewID(), Source: "/battle/" + node, Type: eventType, Subject: r.RoomID, Time: at.UTC(),
		Data: data, Key: Key(r.RoomID), Fingerprint: digest,
	}, nil
}

// FromEvent reads a result and checks that the envelope says the same as its
// content: the key, the type and the fingerprint. errors.Is(err,
// [receipt.ErrSchemaVersion]) is true where this build cannot tell; every other
// error is the event's fault.
func FromEvent(e event.Event) (Result, error) {
	var r Result
	if err := json.Unmarshal(e.Data, &r); err != nil {
		return Result{}, fmt.Errorf("result: data: %w", err)
	}
	if err := r.Validate(); err != nil {
		return Result{}, err
	}
	if want := Key(r.RoomID); e.Key != want {
		return Result{}, fmt.Errorf("result: the event's key is %s, its content's %s", e.Key, want)
	}
	if aborted := e.Type == TypeAborted; aborted != r.Decision.Aborted {
		return Result{}, fmt.Errorf("result: type %q does not fit a decision with aborted %v", e.Type, r.Decision.Aborted)
	}
	digest, err := r.FingerprintUnder(e.Fingerprint.Schema())
	if err != nil {
		return Result{}, err
	}
	if !e.Fingerprint.Equal(digest) {
		return Result{}, fmt.Errorf("result: the event's fingerprint is %s, its content's %s", e.Fingerprint, digest)
	}
	return r, nil
}
