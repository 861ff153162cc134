package fingerprint

import (
	"crypto/sha256"
	"database/sql"
	"database/sql/driver"
	"encoding"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

var (
	// ErrInvalidDigest is wrapped by every error about the text form of a
	// [Digest].
	ErrInvalidDigest = errors.New("fingerprint: invalid digest")
	// ErrInvalidSchema is wrapped by every error about a [Schema].
	ErrInvalidSchema = errors.New("fingerprint: invalid schema")
)

// Digest is the fingerprint of one value under one [Schema]. The zero Digest
// stands for "none": it has no text form that [Parse] accepts.
//
// A Digest is comparable: == and [Digest.Equal] agree, and it may key a map.
type Digest struct {
	schema Schema
	sum    [sha256.Size]byte
}

var (
	_ fmt.Stringer             = Digest{}
	_ encoding.TextMarshaler   = Digest{}
	_ encoding.TextUnmarshaler = (*Digest)(nil)
	_ driver.Valuer            = Digest{}
	_ sql.Scanner              = (*Digest)(nil)
)

// Schema returns the schema under which d was computed.
func (d Digest) Schema() Schema { return d.schema }

// Sum returns the SHA-256 sum itself.
func (d Digest) Sum() [sha256.Size]byte { return d.sum }

// IsZero reports whether d is the zero Digest.
func (d Digest) IsZero() bool { return d == Digest{} }

// Equal reports whether d and other have the same schema, version and sum. Two
// digests of different versions are never equal, and that proves nothing about
// their values: recompute under one version before calling it a mismatch.
func (d Digest) Equal(other Digest) bool { return d == other }

// String returns the text form, "name/version:" and 64 lower-case hexadecimal
// digits, or "" for the zero Digest. It is what JSON and SQL hold too.
func (d Digest) String() string {
	if d.IsZero() {
		return ""
	}
	return d.schema.String() + ":" + hex.EncodeToString(d.sum[:])
}

// Parse reads the text form that [Digest.String] writes and no other.
// errors.Is(err, [ErrInvalidDigest]) is true for every error.
func Parse(text string) (Digest, error) {
	name, sum, found := strings.Cut(text, ":")
	if !found {
		return Digest{}, fmt.Errorf("%w: %q is not of the form schema/version:sum", ErrInvalidDigest, abbreviate(text))
	}
	schema, err := ParseSchema(name)
	if err != nil {
		return Digest{}, fmt.Errorf("%w: %w", ErrInvalidDigest, err)
	}
	digest := Digest{schema: schema}
	if len(sum) != hex.EncodedLen(len(digest.sum)) || sum != strings.ToLower(sum) {
		return Digest{}, fmt.Errorf("%w: the sum must have %d lower-case hexadecimal digits", ErrInvalidDigest, hex.EncodedLen(len(digest.sum)))
	}
	if _, err := hex.Decode(digest.sum[:], []byte(sum)); err != nil {
		return Digest{}, fmt.Errorf("%w: the sum must have %d lower-case hexadecimal digits", ErrInvalidDigest, hex.EncodedLen(len(digest.sum)))
	}
	return digest, nil
}

// abbreviate keeps a hostile text from filling a log.
func abbreviate(text string) string {
	const most = 100
	if len(text) <= most {
		return text
	}
	return text[:most] + "…"
}

// MarshalText returns the text form; of the zero Digest, the empty text.
func (d Digest) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads the text form; the empty text is the zero Digest. After
// an error d is unchanged.
func (d *Digest) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*d = Digest{}
		return nil
	}
	parsed, err := Parse(string(text))
	if err != nil {
		return err
	}
	*d = parsed
	return nil
}

// Value returns the text form for a database, NULL for the zero Digest.
func (d Digest) Value() (driver.Value, error) {
	if d.IsZero() {
		return nil, nil
	}
	return d.String(), nil
}

// Scan reads what [Digest.Value] stored: text, or NULL for the zero Digest.
func (d *Digest) Scan(source any) error {
	switch source := source.(type) {
	case nil:
		*d = Digest{}
		return nil
	case string:
		return d.UnmarshalText([]byte(source))
	case []byte:
		return d.UnmarshalText(source)
	default:
		return fmt.Errorf("%w: cannot scan %T, only text", ErrInvalidDigest, source)
	}
}
