package money

import (
	"database/sql"
	"database/sql/driver"
	"encoding"
	"encoding/json"

	"github.com/settleonce/settleonce/internal/strictjson"
)

// maxOddsJSON leaves room for escapes.
const maxOddsJSON = 128

var (
	_ json.Marshaler           = Odds{}
	_ json.Unmarshaler         = (*Odds)(nil)
	_ encoding.TextMarshaler   = Odds{}
	_ encoding.TextUnmarshaler = (*Odds)(nil)
	_ driver.Valuer            = Odds{}
	_ sql.Scanner              = (*Odds)(nil)
)

// MarshalText returns what [Odds.String] does. errors.Is(err, [ErrInvalid]) is
// true where o are not set.
func (o Odds) MarshalText() ([]byte, error) {
	if !o.IsSet() {
		return nil, errOddsNotSet()
	}
	return []byte(o.String()), nil
}

// UnmarshalText is [ParseOdds].
func (o *Odds) UnmarshalText(text []byte) error {
	if len(text) > maxOddsText { // before a copy of it is made
		return broken(oddsField, "must have at most %d bytes, have %d", maxOddsText, len(text))
	}
	parsed, err := ParseOdds(string(text))
	if err != nil {
		return err
	}
	*o = parsed
	return nil
}

// MarshalJSON returns a JSON string, as in "2.5". errors.Is(err, [ErrInvalid])
// is true where o are not set.
func (o Odds) MarshalJSON() ([]byte, error) {
	if !o.IsSet() {
		return nil, errOddsNotSet()
	}
	return []byte(`"` + o.String() + `"`), nil
}

// UnmarshalJSON reads a JSON string by the rules of [ParseOdds]. A JSON number
// is refused, since many readers take it for a float and lose digits on the
// way. A pointer to Odds takes null as nil, before this method has a say.
func (o *Odds) UnmarshalJSON(text []byte) error {
	if len(text) > maxOddsJSON {
		return broken(oddsField, "must have at most %d bytes of JSON, have %d", maxOddsJSON, len(text))
	}
	if err := strictjson.Check(text); err != nil {
		return broken(oddsField, "%v", err)
	}
	number, err := jsonText(oddsField, text)
	if err != nil {
		return err
	}
	parsed, err := ParseOdds(number)
	if err != nil {
		return err
	}
	*o = parsed
	return nil
}

// Value returns the number for a NUMERIC column, as text. errors.Is(err,
// [ErrInvalid]) is true where o are not set.
func (o Odds) Value() (driver.Value, error) {
	if !o.IsSet() {
		return nil, errOddsNotSet()
	}
	return o.String(), nil
}

// Scan reads a NUMERIC column. NULL, NaN, infinities, floats, integers and what
// is out of bounds are errors, for which errors.Is(err, [ErrInvalid]) is true.
// Zeros behind the last decimal do not count.
func (o *Odds) Scan(source any) error {
	text, err := scanNumber(oddsField, source)
	if err != nil {
		return err
	}
	parsed, err := ParseOdds(text)
	if err != nil {
		return err
	}
	*o = parsed
	return nil
}
