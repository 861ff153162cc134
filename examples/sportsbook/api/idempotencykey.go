package api

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/settleonce/settleonce/outbox/event"
)

// KeyHeader names the header with the idempotency key.
const KeyHeader = "Idempotency-Key"

// maxKeyField is the greatest length in bytes of the header's value: a key of
// which every character is escaped, in quotes.
const maxKeyField = 2*event.MaxKeyID + 2

// idempotencyKey returns the key of a request, or why there is none.
//
// The draft draft-ietf-httpapi-idempotency-key-header makes the header an Item
// of RFC 9651 whose value is a String:
//
//	Idempotency-Key: "8e03978e-40d5-43dd-bc93-6894a57f9324"
//
// A bare value without quotes is taken too, since many clients send one, as long
// as it has letters, digits, '-', '_' and '.' alone, so that nothing of it could
// mean anything else to a reader of Items. The two forms of a key are one key.
// Parameters are refused and not ignored: a client that sends one means
// something by it.
func idempotencyKey(header http.Header) (key string, failed *failure) {
	values := header.Values(KeyHeader)
	if len(values) == 0 {
		return "", wrongKey("must be set")
	}
	if len(values) > 1 {
		return "", wrongKey("must stand once")
	}
	field := strings.Trim(values[0], " \t")
	switch {
	case field == "":
		return "", wrongKey("must not be empty")
	case len(field) > maxKeyField:
		return "", wrongKey("must have at most %d bytes, has %d", maxKeyField, len(field))
	}
	key, failed = bareKey(field)
	if field[0] == '"' {
		key, failed = quotedKey(field)
	}
	if failed == nil && (key == "." || key == "..") {
		return "", wrongKey("must not be '.' or '..', which a path cannot hold")
	}
	if failed == nil && (key == "" || len(key) > event.MaxKeyID) {
		return "", wrongKey("must hold 1 to %d bytes, holds %d", event.MaxKeyID, len(key))
	}
	return key, failed
}

// quotedKey reads a String of RFC 9651: printable ASCII in quotes, in which '"'
// and '\' are escaped with '\', and nothing else is.
func quotedKey(field string) (string, *failure) {
	var key strings.Builder
	for i := 1; i < len(field); i++ {
		c := field[i]
		switch {
		case c == '"' && i == len(field)-1:
			return key.String(), nil
		case c == '"':
			return "", wrongKey("must end with its closing quote")
		case c == '\\':
			i++
			if i == len(field) || (field[i] != '"' && field[i] != '\\') {
				return "", wrongKey(`may escape only '"' and '\'`)
			}
			key.WriteByte(field[i])
		case c < ' ' || c > '~':
			return "", wrongKey("must be printable ASCII")
		default:
			key.WriteByte(c)
		}
	}
	return "", wrongKey("must have a closing quote")
}

func bareKey(field string) (string, *failure) {
	if strings.ContainsFunc(field, notBare) {
		return "", wrongKey("must stand in quotes if it has more than letters, digits, '-', '_' and '.'")
	}
	return field, nil
}

func notBare(r rune) bool {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_', r == '.':
		return false
	default:
		return true
	}
}

func wrongKey(format string, args ...any) *failure {
	return fail(TypeKey, WrongField{KeyHeader, fmt.Sprintf(format, args...)})
}
