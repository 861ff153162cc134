package punter

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/settleonce/settleonce/acceptance"

	"github.com/settleonce/settleonce/examples/drill/jsonlines"
	"github.com/settleonce/settleonce/examples/sportsbook/api"
	"github.com/settleonce/settleonce/examples/sportsbook/bet"
)

// Note is one line of a journal, in JSON: what a client is about to send, or
// what it was told.
type Note struct {
	bet.Reference
	// Sent is the body of the request: the one that is about to go out or,
	// beside Told, the one that was answered, so that answers of one key can
	// be told apart. Nil: the answer was to something else than a command, such
	// as a trader's word.
	Sent json.RawMessage `json:"sent,omitempty"`
	// Told is the answer. Nil: this line is about a request.
	Told *Told `json:"told,omitempty"`
}

// Command returns the command of a tenant that Sent is the body of, with the
// wallet and the ID of the reference. Sent must not be nil. An error says that
// it is no command.
func (n Note) Command(tenant string) (acceptance.Command, error) {
	var command acceptance.Command
	if err := json.Unmarshal(n.Sent, &command); err != nil {
		return acceptance.Command{}, fmt.Errorf("punter: note of %v: %w", n.Reference, err)
	}
	command.Tenant, command.Wallet, command.ID = tenant, n.Wallet, n.ID
	return command, nil
}

// Told is what one request was answered with.
type Told struct {
	// Status is that of the answer. Zero: there was none, as Failure says.
	Status int `json:"status"`
	// Body is the answer's, byte for byte.
	Body []byte `json:"body,omitempty"`
	// Replayed says that the answer called itself a replay.
	Replayed bool `json:"replayed,omitempty"`
	// Failure says why there was no answer. Empty: there was one.
	Failure string `json:"failure,omitempty"`
}

// Decision is what an answer says came of a command. It is read with an idea of
// the form that is the client's own.
type Decision struct {
	Verdict acceptance.Verdict `json:"verdict"`
	// Decision is what was decided, byte for byte.
	Decision json.RawMessage `json:"decision"`
	Receipt  *api.Receipt    `json:"receipt"`
}

// Content is what a client reads of a decision.
type Content struct {
	Code      acceptance.Code         `json:"code"`
	Legs      []acceptance.DecidedLeg `json:"legs"`
	ExpiresAt time.Time               `json:"expires_at"`
}

// Content returns what was decided. Zero where it cannot be read.
func (d Decision) Content() Content {
	var content Content
	_ = json.Unmarshal(d.Decision, &content) // what it cannot be, the zero value is
	return content
}

// Decision returns the decision that the answer carries, final or pending.
func (t Told) Decision() (Decision, bool) {
	if t.Status < 200 || t.Status > 202 {
		return Decision{}, false
	}
	var read Decision
	if err := json.Unmarshal(t.Body, &read); err != nil || read.Verdict == "" {
		return Decision{}, false
	}
	return read, true
}

// Problem returns the problem that the answer is. A zero one stands for an
// answer that is none, or no answer at all.
func (t Told) Problem() api.Problem {
	var read api.Problem
	if t.Status < 400 || json.Unmarshal(t.Body, &read) != nil {
		return api.Problem{}
	}
	return read
}

// Conflict reports whether the answer refuses a contradiction: another command
// under the same key, or a consent that was used before.
func (t Told) Conflict() bool {
	switch t.Problem().Type {
	case api.TypeKeyReused, api.TypeConsentUsed:
		return true
	default:
		return false
	}
}

// Passing reports whether the same request may be answered otherwise later, so
// that it must be sent again.
func (t Told) Passing() bool {
	if _, decided := t.Decision(); decided {
		return false
	}
	switch t.Problem().Type {
	case api.TypeInFlight, api.TypeOutcomeUnknown, api.TypeWithheld, api.TypeSchemaVersion, api.TypeUnavailable, api.TypeInternal:
		return true
	case "":
		return true // no answer, or one that is not the API's
	default:
		return false
	}
}

// ReadNotes reads a journal.
func ReadNotes(path string) ([]Note, error) { return jsonlines.Read[Note](path) }
