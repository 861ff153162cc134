package event

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"time"

	"github.com/settleonce/settleonce/internal/strictjson"
)

// MediaType is the media type of an event in CloudEvents' JSON format.
const MediaType = "application/cloudevents+json"

const specVersion = "1.0"

// maxMembers is every attribute that the type maps, and every extension.
const maxMembers = 17 + MaxExtensions

// positionDigits writes every position of 64 bits.
const positionDigits = 19

var (
	_ json.Marshaler   = Event{}
	_ json.Unmarshaler = (*Event)(nil)
)

// MarshalJSON returns the event in CloudEvents' JSON format, with its
// attributes in a fixed order: equal events give equal bytes. An event that
// breaks a rule is an error as [Event.Validate] reports it.
//
// json.Marshal rewrites what this method returns, escaping <, > and &. Call
// the method itself for bytes that are to be compared.
func (e Event) MarshalJSON() ([]byte, error) {
	if err := e.Validate(); err != nil {
		return nil, err
	}
	var object objectWriter
	object.member("specversion", specVersion)
	object.member("id", e.ID)
	object.member("source", e.Source)
	object.member("type", e.Type)
	object.optional("subject", e.Subject)
	if !e.Time.IsZero() {
		object.member("time", e.Time.Format(time.RFC3339Nano))
	}
	object.member(AttributeTenant, e.Key.Tenant)
	object.member(AttributeScope, e.Key.Scope)
	object.member(AttributeOperation, e.Key.Operation)
	object.member(AttributeKeyID, e.Key.ID)
	object.optional(AttributeOrderingKey, e.OrderingKey)
	object.member(AttributeFingerprint, e.Fingerprint.String())
	if e.Position != 0 {
		object.member(AttributePosition, fmt.Sprintf("%0*d", positionDigits, e.Position))
	}
	object.extensions(e.Extensions)
	object.optional("dataschema", e.DataSchema)
	object.optional("datacontenttype", e.DataContentType)
	if e.Data != nil {
		isJSON, err := jsonMediaType(e.DataContentType)
		if err != nil {
			return nil, err
		}
		if isJSON {
			object.member("data", json.RawMessage(e.Data))
		} else {
			object.member("data_base64", base64.StdEncoding.EncodeToString(e.Data))
		}
	}
	return object.close()
}

// UnmarshalJSON reads an event in CloudEvents' JSON format. Attributes that
// the type has no field for become Extensions; those that have no place there
// are errors, so nothing is lost in silence, and so are duplicate members and
// an event that breaks a rule. Every wrong field is reported at once. After an
// error e is unchanged. errors.Is(err, [ErrInvalid]) is true for every error.
func (e *Event) UnmarshalJSON(text []byte) error {
	members, err := strictjson.Object(text, maxMembers)
	if err != nil {
		return fmt.Errorf("%w: JSON %w", ErrInvalid, err)
	}
	var r reader
	if strictjson.Find(members, "specversion") == nil {
		r.found.add("specversion", "must be %q", specVersion)
	}
	for _, member := range members {
		r.attribute(member)
	}
	r.data(strictjson.Find(members, "data"), strictjson.Find(members, "data_base64"))
	r.event.check(&r.found)
	if err := r.found.err(); err != nil {
		return err
	}
	*e = r.event
	return nil
}
