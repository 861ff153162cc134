package event

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"math"
	"regexp"
	"strconv"
	"time"

	"github.com/settleonce/settleonce/fingerprint"
	"github.com/settleonce/settleonce/internal/strictjson"
)

// reader gathers an event, and what is wrong with it, from the members of a
// JSON object. A field that is wrong stays at its zero value.
type reader struct {
	event Event
	found violations
}

func (r *reader) attribute(member strictjson.Member) {
	switch member.Name {
	case "specversion":
		if text, _ := r.text("specversion", member.Value); text != specVersion {
			r.found.add("specversion", "must be %q", specVersion)
		}
	case "data", "data_base64":
		// Read last, since they depend on datacontenttype.
	case "time":
		r.time(member.Value)
	case AttributeFingerprint:
		r.fingerprint(member.Value)
	case AttributePosition:
		r.position(member.Value)
	default:
		if target, field := r.target(member.Name); target != nil {
			*target, _ = r.text(field, member.Value)
			return
		}
		r.extension(member)
	}
}

// target returns the place of an attribute that is a text, and the name by
// which an error calls it.
func (r *reader) target(name string) (place *string, field string) {
	e := &r.event
	switch name {
	case "id":
		return &e.ID, name
	case "source":
		return &e.Source, name
	case "type":
		return &e.Type, name
	case "subject":
		return &e.Subject, name
	case "dataschema":
		return &e.DataSchema, name
	case "datacontenttype":
		return &e.DataContentType, name
	case AttributeTenant:
		return &e.Key.Tenant, "key.tenant"
	case AttributeScope:
		return &e.Key.Scope, "key.scope"
	case AttributeOperation:
		return &e.Key.Operation, "key.operation"
	case AttributeKeyID:
		return &e.Key.ID, "key.id"
	case AttributeOrderingKey:
		return &e.OrderingKey, "orderingkey"
	default:
		return nil, ""
	}
}

// text reads a string, or null, which is as good as absent. An attribute that
// is present must not be empty: CloudEvents says so of each that is read here.
func (r *reader) text(field string, value json.RawMessage) (text string, present bool) {
	var read *string
	switch err := json.Unmarshal(value, &read); {
	case err != nil:
		r.found.add(field, "must be a string")
	case read == nil:
	case *read == "":
		r.found.add(field, "must not be empty")
	default:
		return *read, true
	}
	return "", false
}

// timestamp is what RFC 3339 allows and a time.Time can hold. The parser in
// package time takes more, and cuts a longer fraction.
var timestamp = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$`)

// time reads a timestamp that is not the instant that stands for "absent".
func (r *reader) time(value json.RawMessage) {
	text, present := r.text("time", value)
	if !present {
		return
	}
	read, err := time.Parse(time.RFC3339Nano, text)
	if err != nil || read.IsZero() || !timestamp.MatchString(text) {
		r.found.add("time", "must be a timestamp (RFC 3339) of at most nanoseconds, after the first instant of year 1")
		return
	}
	r.event.Time = read
}

func (r *reader) fingerprint(value json.RawMessage) {
	text, present := r.text("fingerprint", value)
	if !present {
		return
	}
	if len(text) > MaxText {
		r.found.add("fingerprint", "must have at most %d bytes, has %d", MaxText, len(text))
		return
	}
	digest, err := fingerprint.Parse(text)
	if err != nil {
		r.found.add("fingerprint", "must be a digest: %v", err)
		return
	}
	r.event.Fingerprint = digest
}

// position reads what MarshalJSON writes and nothing else, so that an event has
// one form.
func (r *reader) position(value json.RawMessage) {
	text, present := r.text("position", value)
	if !present {
		return
	}
	read, err := strconv.ParseInt(text, 10, 64)
	if err != nil || read <= 0 || len(text) != positionDigits || text[0] == '+' {
		r.found.add("position", "must be a positive integer of 64 bits in %d decimal digits", positionDigits)
		return
	}
	r.event.Position = read
}

func (r *reader) extension(member strictjson.Member) {
	value, ok := extensionValue(member.Value)
	if !ok {
		r.found.add(extensionField(member.Name), "must be a string, a boolean or an integer of 32 bits")
		return
	}
	if value == nil {
		return
	}
	if r.event.Extensions == nil {
		r.event.Extensions = make(map[string]any)
	}
	r.event.Extensions[member.Name] = value
}

// extensionValue returns nil for null, which CloudEvents reads as absent.
func extensionValue(text json.RawMessage) (value any, ok bool) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		return nil, false
	}
	switch value := value.(type) {
	case nil, string, bool:
		return value, true
	case json.Number:
		return integer(value)
	default:
		return nil, false
	}
}

// integer reads a CloudEvents Integer: 32 bits, no fraction, no exponent.
func integer(number json.Number) (value any, ok bool) {
	read, err := number.Int64()
	if err != nil || read < math.MinInt32 || read > math.MaxInt32 {
		return nil, false
	}
	return int32(read), true
}

// data reads the payload: CloudEvents 1.0, JSON Event Format, section 3.1.2.
func (r *reader) data(plain, encoded *strictjson.Member) {
	switch {
	case plain != nil && encoded != nil:
		r.found.add("data", "must not stand beside data_base64")
	case encoded != nil:
		r.base64(encoded.Value)
	case plain != nil:
		r.plain(plain.Value)
	}
}

func (r *reader) base64(value json.RawMessage) {
	var text *string
	if err := json.Unmarshal(value, &text); err != nil || text == nil {
		r.found.add("data_base64", "must be a string")
		return
	}
	data, err := base64.StdEncoding.Strict().DecodeString(*text)
	if err != nil {
		r.found.add("data_base64", "must be base64 (RFC 4648, section 4)")
		return
	}
	r.event.Data = data
}

// plain takes JSON data as it stands. Under any other media type the value is
// a string that holds the data, here in UTF-8.
func (r *reader) plain(value json.RawMessage) {
	isJSON, err := jsonMediaType(r.event.DataContentType)
	if err != nil || r.found.has("datacontenttype") {
		return // datacontenttype is reported as wrong; what data means is not known.
	}
	if isJSON {
		r.event.Data = value
		return
	}
	var text *string
	if err := json.Unmarshal(value, &text); err != nil || text == nil {
		r.found.add("data", "must be a string under a media type other than JSON")
		return
	}
	r.event.Data = []byte(*text)
}
