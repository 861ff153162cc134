package fingerprint

import (
	"fmt"
	"strconv"
	"strings"
)

// MaxSchemaName is the greatest length of a schema name in bytes.
const MaxSchemaName = 64

// Schema names the rules under which a value was fingerprinted: which fields
// it had and what they meant. Two digests are comparable only under one
// schema and version.
//
// A new optional field needs no new version, because an absent one does not
// count. A field that changes its meaning, or that leaves the fingerprint,
// does.
type Schema struct {
	// Name is 1 to [MaxSchemaName] bytes of a-z, 0-9, '.', '-' and '_',
	// beginning with a letter.
	Name string
	// Version is 1 or more.
	Version int
}

// String returns "name/version", such as "match.result/3".
func (s Schema) String() string {
	return s.Name + "/" + strconv.Itoa(s.Version)
}

// appendText appends what String returns.
func (s Schema) appendText(buf []byte) []byte {
	buf = append(buf, s.Name...)
	buf = append(buf, '/')
	return strconv.AppendInt(buf, int64(s.Version), 10)
}

// Validate reports the first rule that s breaks. errors.Is(err,
// [ErrInvalidSchema]) is true for what it returns.
func (s Schema) Validate() error {
	if s.Name == "" || len(s.Name) > MaxSchemaName {
		return fmt.Errorf("%w: name must have 1 to %d bytes, has %d", ErrInvalidSchema, MaxSchemaName, len(s.Name))
	}
	for i := range len(s.Name) {
		if !schemaNameByte(s.Name[i], i == 0) {
			return fmt.Errorf("%w: name %q may hold a-z, 0-9, '.', '-' and '_', and begins with a letter", ErrInvalidSchema, s.Name)
		}
	}
	if s.Version < 1 {
		return fmt.Errorf("%w: version must be 1 or more, is %d", ErrInvalidSchema, s.Version)
	}
	return nil
}

func schemaNameByte(b byte, first bool) bool {
	switch {
	case b >= 'a' && b <= 'z':
		return true
	case first:
		return false
	default:
		return b >= '0' && b <= '9' || b == '.' || b == '-' || b == '_'
	}
}

// ParseSchema reads the form that [Schema.String] writes and no other: no
// sign, no leading zero. errors.Is(err, [ErrInvalidSchema]) is true for every
// error.
func ParseSchema(text string) (Schema, error) {
	name, number, found := strings.Cut(text, "/")
	if !found {
		return Schema{}, fmt.Errorf("%w: %q is not of the form name/version", ErrInvalidSchema, abbreviate(text))
	}
	version, err := strconv.Atoi(number)
	if err != nil || strconv.Itoa(version) != number {
		return Schema{}, fmt.Errorf("%w: version %q is not a plain decimal number", ErrInvalidSchema, abbreviate(number))
	}
	schema := Schema{Name: name, Version: version}
	if err := schema.Validate(); err != nil {
		return Schema{}, err
	}
	return schema, nil
}
