package strictjson

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Field is a member that an object has, and the place that it is read into as
// encoding/json does.
type Field struct {
	Name  string
	Place any
	// Optional fields may be missing.
	Optional bool
	// Nullable fields may be null, which their Place understands.
	Nullable bool
}

// Read fills the places of fields from the object that text is, and returns
// every rule that is broken, each with its member's name: a member that is
// missing, null or of another type, and one whose name differs from a field's
// by letter case alone, so that a reader which ignores case, as encoding/json
// does, would take it for that field. It refuses what [Object] refuses.
// Unknown members are ignored.
func Read(text []byte, most int, fields []Field) (broken []string) {
	members, err := Object(text, most)
	if err != nil {
		return []string{err.Error()}
	}
	for _, field := range fields {
		if err := field.read(Find(members, field.Name)); err != nil {
			broken = append(broken, field.Name+" "+err.Error())
		}
	}
	for _, member := range members {
		for _, field := range fields {
			if member.Name != field.Name && strings.EqualFold(member.Name, field.Name) {
				broken = append(broken, fmt.Sprintf("%s must be written %s", quote(member.Name), field.Name))
			}
		}
	}
	return broken
}

// read fills the field's place from member, which is nil where it is missing.
func (f *Field) read(member *Member) error {
	switch {
	case member == nil && f.Optional:
		return nil
	case member == nil:
		return errors.New("is missing")
	case string(member.Value) == "null" && !f.Nullable:
		return errors.New("must not be null")
	}
	err := json.Unmarshal(member.Value, f.Place)
	if _, wrongType := errors.AsType[*json.UnmarshalTypeError](err); wrongType {
		return errors.New("has the wrong JSON type") // The text of err can hold the whole value.
	}
	return err
}
