package acceptance

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// violations gathers wrong fields.
type violations []FieldError

// add notes a field with the rule that it breaks, unless the field, or one that
// it is part of, is noted already: what is wrong as a whole is not taken apart.
func (v *violations) add(field, format string, args ...any) {
	if v.cover(field) {
		return
	}
	*v = append(*v, FieldError{Field: field, Rule: fmt.Sprintf(format, args...)})
}

// addUnset notes a field that is not set, unless a part of it is noted: then it
// came, and was wrong.
func (v *violations) addUnset(field string) {
	partNoted := slices.ContainsFunc(*v, func(wrong FieldError) bool { return partOf(wrong.Field, field) })
	if !partNoted {
		v.add(field, "must be set")
	}
}

// cover reports whether a field, or one that it is part of, is noted.
func (v *violations) cover(field string) bool {
	return slices.ContainsFunc(*v, func(wrong FieldError) bool { return partOf(field, wrong.Field) })
}

// partOf reports whether a path leads to whole or into it.
func partOf(path, whole string) bool {
	rest, found := strings.CutPrefix(path, whole)
	return found && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

func (v *violations) err() error {
	if len(*v) == 0 {
		return nil
	}
	return &InvalidError{Fields: *v}
}

// memberPath returns the path of an object's member, such as "stake.amount" or
// meta["user agent"]. The whole has the path "". A name that is not plain is
// quoted and cut, so that it can't fill or forge a line of a log.
func memberPath(object, name string) string {
	const most = 64
	switch {
	case len(name) > most:
		return object + "[" + strconv.Quote(name[:most]) + "…]"
	case !plainName(name):
		return object + "[" + strconv.Quote(name) + "]"
	case object == "":
		return name
	default:
		return object + "." + name
	}
}

func plainName(name string) bool {
	for _, r := range name {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '_'
		if !letter && (r < '0' || r > '9') {
			return false
		}
	}
	return name != ""
}

func elementPath(array string, index int) string {
	return array + "[" + strconv.Itoa(index) + "]"
}
