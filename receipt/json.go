package receipt

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/settleonce/settleonce/fingerprint"
)

// MediaType is the media type of a receipt's JSON form, so that no proxy's
// page and no echo passes for a receipt.
const MediaType = "application/vnd.settleonce.receipt+json"

// wire is the JSON form of a receipt. It is the proof that travels: do not
// rename, remove or retype a member.
type wire struct {
	Key         Key                `json:"key"`
	Revision    int                `json:"revision"`
	Requested   Kind               `json:"requested"`
	Outcome     Kind               `json:"outcome"`
	Fingerprint fingerprint.Digest `json:"fingerprint"`
	Value       []byte             `json:"value"`
	Canonical   []byte             `json:"canonical,omitempty"`
	OrderingKey string             `json:"ordering_key,omitempty"`
	Attempt     string             `json:"attempt"`
	RecordedAt  time.Time          `json:"recorded_at"`
}

// MarshalJSON returns the receipt's stable JSON form: an object with the
// members key (tenant, scope, operation, id), revision, requested, outcome,
// fingerprint (as text), value (base64, null where there is none), canonical
// (base64) and ordering_key where they are set, attempt, and recorded_at
// (RFC 3339, UTC).
func (r Receipt) MarshalJSON() ([]byte, error) {
	form := wire(r)
	form.RecordedAt = r.RecordedAt.UTC()
	return json.Marshal(form)
}

// UnmarshalJSON reads the form that [Receipt.MarshalJSON] writes. Unknown
// members are ignored, so that an older reader accepts a newer receipt; a
// receipt that breaks a rule is an error. After an error r is unchanged.
func (r *Receipt) UnmarshalJSON(text []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	var form wire
	if err := decoder.Decode(&form); err != nil {
		return fmt.Errorf("receipt: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("receipt: text goes on after the JSON object")
	}
	read := Receipt(form)
	if err := read.Validate(); err != nil {
		return err
	}
	*r = read
	return nil
}
