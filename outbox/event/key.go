package event

import (
	"encoding"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/settleonce/settleonce/internal/strictjson"
)

const (
	// MaxKeyPart is the greatest length in bytes of a key's tenant, scope
	// and operation.
	MaxKeyPart = 128
	// MaxKeyID is the greatest length in bytes of a key's id.
	MaxKeyID = 256
)

// Key is an idempotency key: the identity of one effect. It has four parts,
// so that nobody has to join them with a separator (I10).
//
// A key must never be used for a second effect. Take ids from a source that
// cannot repeat, such as a UUIDv7, not from a serial that starts again with a
// new database.
//
// A Key is comparable and may key a map.
type Key struct {
	// Tenant is whose key it is. Acting for one tenant never touches
	// another's keys.
	Tenant string `json:"tenant"`
	// Scope is what the id is unique in, such as "match" or a wallet's id.
	Scope string `json:"scope"`
	// Operation is what the effect is, such as "settle" or "place-bet".
	Operation string `json:"operation"`
	// ID is the effect's own id.
	ID string `json:"id"`
}

var (
	_ encoding.BinaryAppender = Key{}
	_ json.Unmarshaler        = (*Key)(nil)
	_ slog.LogValuer          = Key{}
)

// Validate reports every part that is empty, too long, not UTF-8, or holds a
// character that CloudEvents 1.0 forbids in a string: a control character or
// a Unicode noncharacter. errors.Is(err, [ErrInvalid]) is true for what it
// returns, and errors.As finds an [*InvalidError].
func (k Key) Validate() error {
	var found violations
	k.check(&found, "")
	return found.err()
}

func (k Key) check(found *violations, prefix string) {
	checkRequired(found, prefix+"tenant", k.Tenant, MaxKeyPart)
	checkRequired(found, prefix+"scope", k.Scope, MaxKeyPart)
	checkRequired(found, prefix+"operation", k.Operation, MaxKeyPart)
	checkRequired(found, prefix+"id", k.ID, MaxKeyID)
}

func checkRequired(found *violations, field, text string, most int) {
	if text == "" {
		found.add(field, "must not be empty")
		return
	}
	checkText(found, field, text, most)
}

func checkText(found *violations, field, text string, most int) {
	switch {
	case len(text) > most:
		found.add(field, "must have at most %d bytes, has %d", most, len(text))
	case !utf8.ValidString(text):
		found.add(field, "must be valid UTF-8")
	case strings.ContainsFunc(text, forbidden):
		found.add(field, "must not hold control characters or Unicode noncharacters")
	}
}

// forbidden reports what CloudEvents 1.0, "Type System", String, excludes.
func forbidden(r rune) bool {
	switch {
	case r <= 0x1f, r >= 0x7f && r <= 0x9f:
		return true
	case r >= 0xfdd0 && r <= 0xfdef:
		return true
	default:
		return r&0xfffe == 0xfffe
	}
}

// AppendBinary appends the key's unambiguous encoding: of each part its
// length as an unsigned varint and its bytes, in the order of the fields. Two
// keys have the same encoding only if they are equal (I10). It never fails.
func (k Key) AppendBinary(b []byte) ([]byte, error) {
	for _, part := range []string{k.Tenant, k.Scope, k.Operation, k.ID} {
		b = binary.AppendUvarint(b, uint64(len(part)))
		b = append(b, part...)
	}
	return b, nil
}

// UnmarshalJSON reads an object with the members tenant, scope, operation and
// id. A member that is missing, unknown, or stands twice, and a part that
// breaks a rule, are errors: another reader must not see another key. After
// an error k is unchanged. errors.Is(err, [ErrInvalid]) is true for every
// error.
func (k *Key) UnmarshalJSON(text []byte) error {
	var read Key
	fields := []strictjson.Field{
		{Name: "tenant", Place: &read.Tenant},
		{Name: "scope", Place: &read.Scope},
		{Name: "operation", Place: &read.Operation},
		{Name: "id", Place: &read.ID},
	}
	if broken := strictjson.Read(text, len(fields), fields); len(broken) > 0 {
		return fmt.Errorf("%w: JSON %s", ErrInvalid, strings.Join(broken, "; "))
	}
	if err := read.Validate(); err != nil {
		return err
	}
	*k = read
	return nil
}

// String returns the four parts, each percent-encoded, joined by slashes, such
// as "shop/match/settle/0199…". Two keys have the same text only if they are
// equal. It is for people, and the default ordering key; there is no way back
// from it, so nothing needs to parse it.
func (k Key) String() string {
	return strings.Join([]string{
		url.PathEscape(k.Tenant), url.PathEscape(k.Scope), url.PathEscape(k.Operation), url.PathEscape(k.ID),
	}, "/")
}

// LogValue returns the parts as a group.
func (k Key) LogValue() slog.Value {
	return slog.GroupValue(
		slog.String("tenant", k.Tenant),
		slog.String("scope", k.Scope),
		slog.String("operation", k.Operation),
		slog.String("id", k.ID),
	)
}

// IsZero reports whether every part is empty.
func (k Key) IsZero() bool { return k == Key{} }
