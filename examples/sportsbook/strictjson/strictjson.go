// Package strictjson reads the JSON of requests and answers without guessing:
// what it takes has one meaning for every reader.
//
// encoding/json alone lets the last of two equal names win, takes "ID" for
// "id", puts U+FFFD in place of text that is no UTF-8, and overlooks names that
// it does not know.
package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/settleonce/settleonce/fingerprint"
)

// Whole is the path of a text as a whole.
const Whole = "$"

// ErrTooLong is true for a text that is longer than its reader takes.
var ErrTooLong = errors.New("strictjson: the text is too long")

// Error says what is wrong with a text.
type Error struct {
	// Field is the path of the wrong member, such as "legs[1].odds", or
	// [Whole].
	Field string
	// Rule says what must hold.
	Rule string
}

// Error names the field and the rule.
func (e *Error) Error() string {
	return "strictjson: " + e.Field + " " + e.Rule
}

// Read reads all of r, at most limit bytes. errors.Is(err, [ErrTooLong]) is
// true where there is more.
func Read(r io.Reader, limit int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, fmt.Errorf("strictjson: the text ended early: %w", err)
	}
	if int64(len(text)) > limit {
		return nil, fmt.Errorf("%w: at most %d bytes", ErrTooLong, limit)
	}
	return text, nil
}

// Decode fills the struct that value points to from a text that is one JSON
// object and nothing else. Names must be those of the struct, in their case and
// at most once. The error is an [*Error]; value may be half filled then.
func Decode(text []byte, value any) error {
	if err := check(text); err != nil {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(value)
	if err == nil {
		return nil
	}
	if mistyped, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return &Error{mistyped.Field, "must not be a JSON " + mistyped.Value}
	}
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return &Error{strings.Trim(name, `"`), "is not known"}
	}
	return &Error{Whole, err.Error()}
}

// check refuses what has two meanings. The fingerprint of a text is refused for
// most of that.
func check(text []byte) error {
	if !bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("{")) {
		return &Error{Whole, "must be a JSON object"}
	}
	_, err := fingerprint.OfJSON(fingerprint.Schema{Name: "strictjson", Version: 1}, text)
	if wrong, ok := errors.AsType[*fingerprint.ValueError](err); ok {
		return &Error{strings.TrimPrefix(wrong.Path, "$."), wrong.Rule}
	}
	if err != nil {
		return &Error{Whole, err.Error()}
	}
	return checkNames(json.NewDecoder(bytes.NewReader(text)))
}

// checkNames refuses names that encoding/json would match with another case.
// The text is valid JSON.
func checkNames(decoder *json.Decoder) error {
	token, err := decoder.Token()
	if err != nil {
		return &Error{Whole, err.Error()}
	}
	opened, isDelimiter := token.(json.Delim)
	if !isDelimiter {
		return nil
	}
	for decoder.More() {
		if opened == '{' {
			name, err := decoder.Token()
			if err != nil {
				return &Error{Whole, err.Error()}
			}
			if text, _ := name.(string); strings.ContainsFunc(text, notPlain) {
				return &Error{text, "is not known"}
			}
		}
		if err := checkNames(decoder); err != nil {
			return err
		}
	}
	if _, err := decoder.Token(); err != nil {
		return &Error{Whole, err.Error()}
	}
	return nil
}

func notPlain(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '_' }
