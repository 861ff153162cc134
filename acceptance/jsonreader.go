package acceptance

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/settleonce/settleonce/internal/strictjson"
)

// wholeDocument is the path of a document as a whole, of which then nothing else
// is known.
const wholeDocument = "$"

// jsonReader reads JSON and notes every member that is wrong. What is wrong
// stays at its zero value.
type jsonReader struct{ found violations }

// member is a member that an object may have, and how its value is read.
type member struct {
	name string
	read func(path string, value json.RawMessage)
}

// object reads the object at path, which has no members but the known ones.
func (r *jsonReader) object(path string, text []byte, known ...member) {
	// Twice as many leaves room to name the unknown ones.
	for _, found := range r.members(path, text, 2*len(known)) {
		r.member(memberPath(path, found.Name), found, known)
	}
}

func (r *jsonReader) member(path string, found strictjson.Member, known []member) {
	rule := "is not known"
	for _, one := range known {
		switch {
		case one.name == found.Name && string(found.Value) == "null":
			r.found.add(path, "must be left out instead of null")
			return
		case one.name == found.Name:
			one.read(path, found.Value)
			return
		case strings.EqualFold(one.name, found.Name):
			rule = "must be written " + one.name
		}
	}
	r.found.add(path, "%s", rule)
}

// members returns the members of the object at path.
func (r *jsonReader) members(path string, text []byte, most int) []strictjson.Member {
	members, err := strictjson.Object(text, most)
	if err != nil {
		r.found.add(cmp.Or(path, wholeDocument), "%v", err)
	}
	return members
}

// array returns the elements of the array at path.
func (r *jsonReader) array(path string, text json.RawMessage, most int) []json.RawMessage {
	elements, err := strictjson.Array(text, most)
	if err != nil {
		r.found.add(path, "%v", err)
	}
	return elements
}

func (r *jsonReader) integers(path string, text json.RawMessage, most int) []int {
	var integers []int
	for i, element := range r.array(path, text, most) {
		integers = append(integers, r.integer(elementPath(path, i), element))
	}
	return integers
}

// integer reads a number that is written without fraction and exponent.
func (r *jsonReader) integer(path string, value json.RawMessage) (integer int) {
	if string(value) == "null" || json.Unmarshal(value, &integer) != nil {
		r.found.add(path, "must be a JSON number that is an integer of 64 bits")
		return 0
	}
	return integer
}

// readText returns how a text is read into place.
func readText[T ~string](r *jsonReader, place *T) func(path string, value json.RawMessage) {
	return func(path string, value json.RawMessage) {
		switch first := value[0]; {
		case first == '-' || first >= '0' && first <= '9':
			r.found.add(path, "must be a JSON string: a JSON number loses digits in readers that take it for a float")
		case first != '"' || json.Unmarshal(value, place) != nil:
			r.found.add(path, "must be a JSON string")
		}
	}
}
