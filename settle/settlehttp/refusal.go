package settlehttp

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/settleonce/settleonce/fingerprint"
	"github.com/settleonce/settleonce/internal/strictjson"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/receipt"
)

// RefusalMediaType is the media type of a [Refusal], so that no proxy's page
// and no problem document of another program passes for one.
const RefusalMediaType = "application/vnd.settleonce.refusal+json"

// The types of refusals. After each of these the sender sets its record aside.
const (
	// TypeRefused: the receiver's code refused the event, and Code says why.
	// No receipt was written.
	TypeRefused = typeBase + "TypeRefused"
	// TypeFingerprintMismatch: the key has a receipt for other content.
	// Nothing was changed.
	TypeFingerprintMismatch = typeBase + "TypeFingerprintMismatch"
	// TypeKindMismatch: the key has a receipt that was requested with
	// another kind. Nothing was changed.
	TypeKindMismatch = typeBase + "TypeKindMismatch"
	// TypeTransactionEnded: the receiver's code ended the transaction
	// itself, and effects may be committed without a receipt. Sending again
	// could double them: people must look.
	TypeTransactionEnded = typeBase + "TypeTransactionEnded"
)

// The codes of refusals that the handler makes itself.
const (
	codeFingerprintMismatch = "fingerprint-mismatch"
	codeKindMismatch        = "kind-mismatch"
	codeTransactionEnded    = "transaction-ended"
)

// maxRefusalMembers leaves room for the members of versions to come.
const maxRefusalMembers = 64

// ErrInvalidRefusal is wrapped by every error about the content of a refusal.
var ErrInvalidRefusal = errors.New("settlehttp: invalid refusal")

// Refusal is the receiver's proof that it will not take an event: a problem
// document that names the event's key and fingerprint. It holds nothing of a
// stored receipt's value.
type Refusal struct {
	// Type, Title, Status and Detail are those of a [Problem].
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail,omitempty"`
	// Code is a short stable name for programs, such as "unknown-room".
	Code string `json:"code"`
	// Key and Fingerprint are those of the event that is refused.
	Key         receipt.Key        `json:"key"`
	Fingerprint fingerprint.Digest `json:"fingerprint"`
}

var _ json.Unmarshaler = (*Refusal)(nil)

// UnmarshalJSON reads a refusal as strictly as a receipt: a member that stands
// twice, is missing, or differs from a known one by letter case alone is an
// error; other unknown members are ignored. After an error r is unchanged.
// errors.Is(err, [ErrInvalidRefusal]) is true for every error.
func (r *Refusal) UnmarshalJSON(text []byte) error {
	var read Refusal
	broken := strictjson.Read(text, maxRefusalMembers, []strictjson.Field{
		{Name: "type", Place: &read.Type},
		{Name: "title", Place: &read.Title},
		{Name: "status", Place: &read.Status},
		{Name: "detail", Place: &read.Detail, Optional: true},
		{Name: "code", Place: &read.Code},
		{Name: "key", Place: &read.Key},
		{Name: "fingerprint", Place: &read.Fingerprint},
	})
	if len(broken) == 0 {
		if read.Type == "" {
			broken = append(broken, "type must not be empty")
		}
		if read.Fingerprint.IsZero() {
			broken = append(broken, "fingerprint must be set")
		}
	}
	if len(broken) > 0 {
		return fmt.Errorf("%w: %s", ErrInvalidRefusal, strings.Join(broken, "; "))
	}
	*r = read
	return nil
}

// refuse returns a refusal of e. Its detail is for people on the other side.
func refuse(e *event.Event, refusalType, code, detail string) *Refusal {
	refusal := &Refusal{
		Type: refusalType, Code: code, Detail: detail, Key: e.Key, Fingerprint: e.Fingerprint,
	}
	switch refusalType {
	case TypeFingerprintMismatch:
		refusal.Status, refusal.Title = http.StatusUnprocessableEntity, "The key has a receipt for other content"
	case TypeKindMismatch:
		refusal.Status, refusal.Title = http.StatusConflict, "The key has a receipt for another kind"
	case TypeTransactionEnded:
		refusal.Status, refusal.Title = http.StatusConflict, "Effects may be committed without a receipt"
	default:
		refusal.Status, refusal.Title = http.StatusUnprocessableEntity, "The receiver refuses the event for good"
	}
	return refusal
}

func (r *Refusal) answer() (answer, error) {
	body, err := json.Marshal(r)
	if err != nil {
		return answer{}, fmt.Errorf("settlehttp: refusal cannot be written: %w", err)
	}
	return answer{status: r.Status, mediaType: RefusalMediaType, body: body}, nil
}
