package event

import (
	"log/slog"
	"maps"
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
	// MaxExtensionName is the greatest length in bytes of an extension
	// attribute's name. CloudEvents advises 20 and sets no limit.
	MaxExtensionName = 64
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
	// AttributePosition is CloudEvents' own Sequence extension, whose texts
	// compare as the positions do: 19 decimal digits.
	AttributePosition = "sequence"
)

// Event is one fact on its way to a receiver, a CloudEvents 1.0 envelope. What
// the receiver does with it, it does once a Key.
//
//nolint:recvcheck // LogValue must work on a copy too; the others spare one.
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
	// Time is optional: when the fact came to be, by the sender's clock. Its
	// zone offset must be whole minutes, since RFC 3339 can write no other.
	// The zero Time is absent.
	Time time.Time
	// DataSchema is optional: a URI of the schema that Data follows.
	DataSchema string
	// DataContentType is the media type of Data. Empty means
	// application/json.
	DataContentType string
	// Data is the fact itself. Under a JSON media type it must be one valid
	// JSON text in UTF-8 without unpaired surrogates, and its white space may
	// change on the way. Nil is absent.
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

	// Position is where the event stands in its line, if whoever relays it
	// knows: it rises strictly with the commits of one ordering key, with
	// gaps, and says nothing across ordering keys. A consumer that has seen a
	// higher one of the same ordering key sees an old delivery again. Zero is
	// absent: a sender leaves it so.
	Position int64

	// Extensions holds any further extension attributes, such as
	// "traceparent". Values are string, bool or int32, which are the types
	// that JSON keeps apart. Nil is none.
	Extensions map[string]any
}

var _ slog.LogValuer = Event{}

// Ordering returns the name of the line in which the event stands: the text of
// Key, or tenant and OrderingKey where that is set. Lines of two tenants never
// have one name (I10), and neither has a line of a Key and one of an
// OrderingKey.
func (e *Event) Ordering() string {
	if e.OrderingKey == "" {
		return e.Key.String()
	}
	// No key has an empty part, so no text of a key has two slashes together.
	return url.PathEscape(e.Key.Tenant) + "//" + url.PathEscape(e.OrderingKey)
}

// LogValue returns what identifies the event, and neither its data nor its
// extensions, so that no log ever holds a payload.
func (e Event) LogValue() slog.Value {
	return slog.GroupValue(
		slog.String("id", e.ID),
		slog.String("source", e.Source),
		slog.String("type", e.Type),
		slog.Any("key", e.Key),
		slog.String("fingerprint", e.Fingerprint.String()),
	)
}

// Clone returns a copy that shares no memory with e.
func (e *Event) Clone() Event {
	clone := *e
	clone.Data = slices.Clone(e.Data)
	clone.Extensions = maps.Clone(e.Extensions)
	return clone
}
