// Package strictjson reads JSON objects that have one meaning only.
//
// encoding/json is lenient where a proof must not be: it takes the last of two
// members of one name, matches names whatever their letter case, and puts
// U+FFFD where a text is not UTF-8 or half of a surrogate pair is missing. Two
// readers can then see two keys in one document. This package refuses such
// texts.
package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// Member is one name and value of an object.
type Member struct {
	Name  string
	Value json.RawMessage
}

// Check reports whether text is one JSON text (RFC 8259) in UTF-8 in which
// every surrogate is half of a pair. It does not look for duplicate names.
func Check(text []byte) error {
	switch {
	case !utf8.Valid(text):
		return errors.New("must be valid UTF-8")
	case !json.Valid(text):
		return errors.New("must be one valid JSON text")
	case unpairedSurrogate(text):
		return errors.New("must not hold half of a surrogate pair")
	default:
		return nil
	}
}

// Object returns the members of the one object that text is, in their order.
// Duplicate names, more than most members, and all that [Check] refuses are
// errors. The values do not share memory with text.
func Object(text []byte, most int) ([]Member, error) {
	if err := Check(text); err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	if token, err := decoder.Token(); err != nil || token != json.Delim('{') {
		return nil, errors.New("must be a JSON object")
	}
	var members []Member
	for decoder.More() {
		member, err := next(decoder)
		if err != nil {
			return nil, err
		}
		if Find(members, member.Name) != nil {
			return nil, fmt.Errorf("member %s stands twice", quote(member.Name))
		}
		if len(members) == most {
			return nil, fmt.Errorf("must have at most %d members", most)
		}
		members = append(members, member)
	}
	return members, nil
}

// Array returns the elements of the one array that text is, in their order.
// More than most elements, and all that [Check] refuses, are errors. The
// elements do not share memory with text.
func Array(text []byte, most int) ([]json.RawMessage, error) {
	if err := Check(text); err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	if token, err := decoder.Token(); err != nil || token != json.Delim('[') {
		return nil, errors.New("must be a JSON array")
	}
	var elements []json.RawMessage
	for decoder.More() {
		if len(elements) == most {
			return nil, fmt.Errorf("must have at most %d elements", most)
		}
		var element json.RawMessage
		if err := decoder.Decode(&element); err != nil {
			return nil, err
		}
		elements = append(elements, element)
	}
	return elements, nil
}

// next reads one member of a text that is known to be valid.
func next(decoder *json.Decoder) (Member, error) {
	token, err := decoder.Token()
	if err != nil {
		return Member{}, err
	}
	name, ok := token.(string)
	if !ok {
		return Member{}, fmt.Errorf("member name is %T", token)
	}
	var value json.RawMessage
	if err := decoder.Decode(&value); err != nil {
		return Member{}, err
	}
	return Member{name, value}, nil
}

// Find returns the member of exactly that name, or nil.
func Find(members []Member, name string) *Member {
	for i := range members {
		if members[i].Name == name {
			return &members[i]
		}
	}
	return nil
}

// quote keeps a hostile name from filling a log.
func quote(name string) string {
	const most = 64
	if len(name) <= most {
		return strconv.Quote(name)
	}
	return strconv.Quote(name[:most]) + "…"
}

// unpairedSurrogate looks for an escape of half a surrogate pair in a text
// that is known to be valid, where a backslash can only stand in a string.
func unpairedSurrogate(text []byte) bool {
	for {
		at := bytes.IndexByte(text, '\\')
		if at < 0 {
			return false
		}
		text = text[at:]
		switch unit := escapedUnit(text); {
		case unit < 0:
			text = text[len(`\n`):]
		case unit >= 0xd800 && unit < 0xdc00:
			text = text[len(`\ud800`):]
			if low := escapedUnit(text); low < 0xdc00 || low > 0xdfff {
				return true
			}
			text = text[len(`\udc00`):]
		case unit >= 0xdc00 && unit <= 0xdfff:
			return true
		default:
			text = text[len(`\u0000`):]
		}
	}
}

// escapedUnit returns the UTF-16 unit of the \u escape that text begins with,
// or -1 where it begins with none.
func escapedUnit(text []byte) int {
	const length = len(`\u0000`)
	if len(text) < length || text[0] != '\\' || text[1] != 'u' {
		return -1
	}
	unit, err := strconv.ParseUint(string(text[2:length]), 16, 16)
	if err != nil {
		return -1
	}
	return int(unit)
}
