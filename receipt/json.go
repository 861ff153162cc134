package receipt

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"time"

	"github.com/settleonce/settleonce/fingerprint"
	"github.com/settleonce/settleonce/internal/strictjson"
)

// MediaType is the media type of a receipt's JSON form, so that no proxy's
// page and no echo passes for a receipt.
const MediaType = "application/vnd.settleonce.receipt+json"

// maxMembers bounds the members of a receipt, with room for those of versions
// to come.
const maxMembers = 64

var (
	_ json.Marshaler   = Receipt{}
	_ json.Unmarshaler = (*Receipt)(nil)
)

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
// (RFC 3339, UTC). A receipt that breaks a rule is an error as
// [Receipt.Validate] reports it: JSON would repair a key that is not UTF-8
// into another one.
func (r Receipt) MarshalJSON() ([]byte, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	form := wire(r)
	form.RecordedAt = r.RecordedAt.UTC()
	return json.Marshal(form)
}

// UnmarshalJSON reads the form that [Receipt.MarshalJSON] writes. A proof has
// one meaning or none: a member that stands twice, that is missing though
// every receipt has it, or whose name differs from a known one by letter case
// alone is an error, and so is a receipt that breaks a rule. Every wrong
// member is named at once. Other unknown members are ignored, so that an older
// reader accepts a newer receipt.
//
// errors.Is(err, [ErrInvalid]) is true for every error, and r is then
// unchanged.
func (r *Receipt) UnmarshalJSON(text []byte) error {
	var read Receipt
	broken := rules(strictjson.Read(text, maxMembers, read.fields()))
	if len(broken) == 0 {
		read.check(&broken)
	}
	if err := broken.err(); err != nil {
		return err
	}
	*r = read
	return nil
}

func (r *Receipt) fields() []strictjson.Field {
	return []strictjson.Field{
		{Name: "key", Place: &r.Key},
		{Name: "revision", Place: &r.Revision},
		{Name: "requested", Place: &r.Requested},
		{Name: "outcome", Place: &r.Outcome},
		{Name: "fingerprint", Place: &r.Fingerprint},
		{Name: "value", Place: (*strictBytes)(&r.Value), Nullable: true},
		{Name: "canonical", Place: (*strictBytes)(&r.Canonical), Optional: true},
		{Name: "ordering_key", Place: &r.OrderingKey, Optional: true},
		{Name: "attempt", Place: &r.Attempt},
		{Name: "recorded_at", Place: (*strictTime)(&r.RecordedAt)},
	}
}

// strictBytes reads base64, or null for nil. encoding/json alone also takes an
// array of numbers.
type strictBytes []byte

func (b *strictBytes) UnmarshalJSON(text []byte) error {
	var encoded *string
	if err := json.Unmarshal(text, &encoded); err != nil {
		return errors.New("must be base64 text")
	}
	if encoded == nil {
		*b = nil
		return nil
	}
	decoded, err := base64.StdEncoding.Strict().DecodeString(*encoded)
	if err != nil {
		return errors.New("must be base64 text (RFC 4648, section 4)")
	}
	*b = decoded
	return nil
}

// strictTime reads a time into UTC, whatever its zone.
type strictTime time.Time

func (t *strictTime) UnmarshalJSON(text []byte) error {
	var read time.Time
	if err := json.Unmarshal(text, &read); err != nil {
		return errors.New("must be a timestamp (RFC 3339)")
	}
	*t = strictTime(read.UTC())
	return nil
}
