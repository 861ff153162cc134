package event

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"strings"
	"time"

	"github.com/settleonce/settleonce/fingerprint"
)

// MediaType is the media type of an event in CloudEvents' JSON format.
const MediaType = "application/cloudevents+json"

const (
	specVersion = "1.0"
	jsonType    = "application/json"
)

// envelope lists the attributes that the type maps itself, so that an
// extension can't take their names.
func reserved(name string) bool {
	switch name {
	case "specversion", "id", "source", "type", "subject", "time", "dataschema",
		"datacontenttype", "data", "data_base64",
		AttributeTenant, AttributeScope, AttributeOperation, AttributeKeyID,
		AttributeOrderingKey, AttributeFingerprint:
		return true
	default:
		return false
	}
}

// jsonMediaType reports whether data of contentType stands in the JSON format
// as a JSON value: CloudEvents 1.0, JSON Event Format, section 3.1.
func jsonMediaType(contentType string) (bool, error) {
	if contentType == "" {
		return true, nil
	}
	mediaType, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return false, err
	}
	return mediaType == jsonType || mediaType == "text/json" || strings.HasSuffix(mediaType, "+json"), nil
}

// MarshalJSON returns the event in CloudEvents' JSON format, with its
// attributes in a fixed order. An event that breaks a rule is an error as
// [Event.Validate] reports it.
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
// an event that breaks a rule. After an error e is unchanged. errors.Is(err,
// [ErrInvalid]) is true for every error.
func (e *Event) UnmarshalJSON(text []byte) error {
	members, err := readObject(text)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	var found violations
	var read Event
	for _, member := range members {
		read.set(&found, member)
	}
	if !hasMember(members, "specversion") {
		found.add("specversion", "must be %q", specVersion)
	}
	if err := found.err(); err != nil {
		return err
	}
	if err := read.Validate(); err != nil {
		return err
	}
	*e = read
	return nil
}

func (e *Event) set(found *violations, member member) {
	switch member.name {
	case "specversion":
		var version string
		setString(found, member, &version)
		if version != specVersion {
			found.add("specversion", "must be %q", specVersion)
		}
	case "id":
		setString(found, member, &e.ID)
	case "source":
		setString(found, member, &e.Source)
	case "type":
		setString(found, member, &e.Type)
	case "subject":
		setString(found, member, &e.Subject)
	case "time":
		setTime(found, member, &e.Time)
	case "dataschema":
		setString(found, member, &e.DataSchema)
	case "datacontenttype":
		setString(found, member, &e.DataContentType)
	case "data":
		e.setData(found, bytes.Clone(member.value))
	case "data_base64":
		e.setBase64(found, member)
	default:
		e.setAttribute(found, member)
	}
}

func (e *Event) setAttribute(found *violations, member member) {
	switch member.name {
	case AttributeTenant:
		setString(found, member, &e.Key.Tenant)
	case AttributeScope:
		setString(found, member, &e.Key.Scope)
	case AttributeOperation:
		setString(found, member, &e.Key.Operation)
	case AttributeKeyID:
		setString(found, member, &e.Key.ID)
	case AttributeOrderingKey:
		setString(found, member, &e.OrderingKey)
	case AttributeFingerprint:
		var text string
		setString(found, member, &text)
		digest, err := fingerprint.Parse(text)
		if err != nil {
			found.add(AttributeFingerprint, "must be a digest: %v", err)
			return
		}
		e.Fingerprint = digest
	default:
		e.setExtension(found, member)
	}
}

func (e *Event) setExtension(found *violations, member member) {
	value, err := extensionValue(member.value)
	if err != nil {
		found.add("extensions."+member.name, "%v", err)
		return
	}
	if value == nil {
		return
	}
	if e.Extensions == nil {
		e.Extensions = make(map[string]any)
	}
	e.Extensions[member.name] = value
}

// extensionValue returns nil for null, which CloudEvents reads as absent.
func extensionValue(text json.RawMessage) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	switch value := value.(type) {
	case nil, string, bool:
		return value, nil
	case json.Number:
		if number, ok := integer(value); ok {
			return number, nil
		}
		return nil, errors.New("must be an integer of 32 bits")
	default:
		return nil, errors.New("must be a string, a boolean or an integer")
	}
}

func (e *Event) setData(found *violations, data []byte) {
	if e.Data != nil {
		found.add("data", "must not stand beside data_base64")
		return
	}
	e.Data = data
}

func (e *Event) setBase64(found *violations, member member) {
	var text string
	setString(found, member, &text)
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		found.add("data_base64", "must be base64 (RFC 4648, section 4)")
		return
	}
	e.setData(found, data)
}

func setString(found *violations, member member, target *string) {
	var text *string
	if err := json.Unmarshal(member.value, &text); err != nil {
		found.add(member.name, "must be a string")
		return
	}
	if text != nil {
		*target = *text
	}
}

func setTime(found *violations, member member, target *time.Time) {
	var text string
	setString(found, member, &text)
	if text == "" {
		return
	}
	parsed, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		found.add(member.name, "must be a timestamp (RFC 3339)")
		return
	}
	*target = parsed
}

// member is one name and value of a JSON object, in the order of the text.
type member struct {
	name  string
	value json.RawMessage
}

func hasMember(members []member, name string) bool {
	for _, member := range members {
		if member.name == name {
			return true
		}
	}
	return false
}

// readObject reads exactly one JSON object and refuses duplicate names, which
// two readers might resolve differently.
func readObject(text []byte) ([]member, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	if token, err := decoder.Token(); err != nil {
		return nil, err
	} else if token != json.Delim('{') {
		return nil, errors.New("must be a JSON object")
	}
	var members []member
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		name, ok := token.(string)
		if !ok {
			return nil, fmt.Errorf("member name is %T", token)
		}
		if hasMember(members, name) {
			return nil, fmt.Errorf("member %q stands twice", name)
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return nil, err
		}
		members = append(members, member{name, value})
	}
	if _, err := decoder.Token(); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("text goes on after the JSON object")
	}
	return members, nil
}
