package event

import (
	"encoding/json"
	"maps"
	"math"
	"net/url"
	"slices"
	"time"

	"github.com/settleonce/settleonce/fingerprint"
)

const (
	// MaxText is the greatest length in bytes of an event's id, source,
	// type, subject and data schema.
	MaxText = 1024
	// MaxOrderingKey is the greatest length in bytes of an ordering key.
	MaxOrderingKey = 256
	// MaxExtensions is the greatest number of extension attributes beside
	// the ones that this package maps itself.
	MaxExtensions = 32
)

// Names of the extension attributes that carry an event's typed fields.
const (
	// AttributeTenant and its three companions carry the [Key].
	AttributeTenant    = "keytenant"
	AttributeScope     = "keyscope"
	AttributeOperation = "keyoperation"
	AttributeKeyID     = "keyid"
	// AttributeOrderingKey is CloudEvents' own Partitioning extension.
	AttributeOrderingKey = "partitionkey"
	// AttributeFingerprint carries the digest's text form.
	AttributeFingerprint = "fingerprint"
)

// Event is one fact on its way to a receiver, a CloudEvents 1.0 envelope. What
// the receiver does with it, it does once a Key.
type Event struct {
	// ID identifies this event within its source. It never changes, however
	// often the event is sent.
	ID string
	// Source says who states the fact, as a URI reference.
	Source string
	// Type says what kind of fact it is, such as "match.finished".
	Type string
	// Subject is optional: what the fact is about, within the source.
	Subject string
	// Time is optional: when the fact came to be, by the sender's clock.
	// The zero Time is absent.
	Time time.Time
	// DataSchema is optional: a URI of the schema that Data follows.
	DataSchema string
	// DataContentType is the media type of Data. Empty means
	// application/json.
	DataContentType string
	// Data is the fact itself. Under a JSON media type it must be one valid
	// JSON text, whose white space may change on the way. Nil is absent.
	Data []byte

	// Key is the idempotency key of the effect that the event asks for or
	// reports.
	Key Key
	// OrderingKey names the line in which the event stands: events of one
	// ordering key are delivered in the order of their commits. Empty means
	// the key itself orders: [Event.Ordering] returns what applies.
	OrderingKey string
	// Fingerprint is the sender's digest of everything that changes the
	// effect. A receiver computes its own and compares.
	Fingerprint fingerprint.Digest

	// Extensions holds any further extension attributes, such as
	// "traceparent". Values are string, bool or int32, which are the types
	// that JSON keeps apart. Nil is none.
	Extensions map[string]any
}

// Ordering returns the ordering key that applies: OrderingKey, or the text of
// Key where that is empty.
func (e *Event) Ordering() string {
	if e.OrderingKey != "" {
		return e.OrderingKey
	}
	return e.Key.String()
}

// Clone returns a copy that shares no memory with e.
func (e *Event) Clone() Event {
	clone := *e
	clone.Data = slices.Clone(e.Data)
	clone.Extensions = maps.Clone(e.Extensions)
	return clone
}

// Validate reports every field that breaks a rule, all at once. errors.Is(err,
// [ErrInvalid]) is true for what it returns, and errors.As finds an
// [*InvalidError].
func (e *Event) Validate() error {
	var found violations
	checkRequired(&found, "id", e.ID, MaxText)
	checkRequired(&found, "source", e.Source, MaxText)
	checkURI(&found, "source", e.Source, false)
	checkRequired(&found, "type", e.Type, MaxText)
	checkText(&found, "subject", e.Subject, MaxText)
	checkText(&found, "dataschema", e.DataSchema, MaxText)
	checkURI(&found, "dataschema", e.DataSchema, true)
	e.checkTime(&found)
	e.checkData(&found)
	e.Key.check(&found, "key.")
	checkText(&found, "orderingkey", e.OrderingKey, MaxOrderingKey)
	if e.Fingerprint.IsZero() {
		found.add("fingerprint", "must be set")
	}
	e.checkExtensions(&found)
	return found.err()
}

// ValidateOrderingKey reports the rules that an ordering key breaks. The empty
// one is valid: the key itself orders.
func ValidateOrderingKey(orderingKey string) error {
	var found violations
	checkText(&found, "orderingkey", orderingKey, MaxOrderingKey)
	return found.err()
}

func checkURI(found *violations, field, text string, absolute bool) {
	if text == "" {
		return
	}
	parsed, err := url.Parse(text)
	switch {
	case err != nil:
		found.add(field, "must be a URI reference (RFC 3986)")
	case absolute && !parsed.IsAbs():
		found.add(field, "must be an absolute URI (RFC 3986)")
	}
}

func (e *Event) checkTime(found *violations) {
	if e.Time.IsZero() {
		return
	}
	if _, err := e.Time.MarshalText(); err != nil {
		found.add("time", "must have a form in RFC 3339 (year 0 to 9999)")
	}
}

func (e *Event) checkData(found *violations) {
	checkText(found, "datacontenttype", e.DataContentType, MaxText)
	isJSON, err := jsonMediaType(e.DataContentType)
	if err != nil {
		found.add("datacontenttype", "must be a media type (RFC 2046)")
		return
	}
	if isJSON && e.Data != nil && !json.Valid(e.Data) {
		found.add("data", "must be one valid JSON text under a JSON media type")
	}
}

func (e *Event) checkExtensions(found *violations) {
	if len(e.Extensions) > MaxExtensions {
		found.add("extensions", "must be at most %d, are %d", MaxExtensions, len(e.Extensions))
		return
	}
	for _, name := range slices.Sorted(maps.Keys(e.Extensions)) {
		checkExtension(found, name, e.Extensions[name])
	}
}

func checkExtension(found *violations, name string, value any) {
	field := "extensions." + name
	if !extensionName(name) {
		found.add("extensions", "name %q must have 1 to 20 characters of a-z and 0-9", name)
		return
	}
	if reserved(name) {
		found.add(field, "is a name that the envelope itself uses")
	}
	switch value := value.(type) {
	case string:
		checkText(found, field, value, MaxText)
	case bool, int32:
	default:
		found.add(field, "must be a string, a bool or an int32, is %T", value)
	}
}

func extensionName(name string) bool {
	if name == "" || len(name) > 20 {
		return false
	}
	for _, r := range name {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') {
			return false
		}
	}
	return true
}

// integer reports whether a JSON number is a CloudEvents Integer.
func integer(number json.Number) (int32, bool) {
	value, err := number.Int64()
	if err != nil || value < math.MinInt32 || value > math.MaxInt32 {
		return 0, false
	}
	return int32(value), true
}
