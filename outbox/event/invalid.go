package event

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrInvalid is wrapped by every error about the content of a [Key] or an
// [Event]. Nothing was read or written, and the same content is refused again.
var ErrInvalid = errors.New("event: invalid")

// InvalidError names every field that breaks a rule. errors.Is(err,
// [ErrInvalid]) is true for it.
type InvalidError struct {
	// Fields has one entry a wrong field, with the first rule that it breaks.
	Fields []FieldError
}

// FieldError is one wrong field.
type FieldError struct {
	Field string // such as "key.tenant"
	Rule  string // such as "must not be empty"
}

// Error lists every field with its rule.
func (e *InvalidError) Error() string {
	texts := make([]string, len(e.Fields))
	for i, field := range e.Fields {
		texts[i] = fmt.Sprintf("%s %s", field.Field, field.Rule)
	}
	return ErrInvalid.Error() + ": " + strings.Join(texts, "; ")
}

// Unwrap returns [ErrInvalid].
func (e *InvalidError) Unwrap() error { return ErrInvalid }

// violations gathers wrong fields.
type violations []FieldError

// add notes a field with the rule that it breaks, unless it is noted already.
func (v *violations) add(field, format string, args ...any) {
	if v.has(field) {
		return
	}
	*v = append(*v, FieldError{Field: field, Rule: fmt.Sprintf(format, args...)})
}

func (v *violations) has(field string) bool {
	return slices.ContainsFunc(*v, func(wrong FieldError) bool { return wrong.Field == field })
}

func (v *violations) err() error {
	if len(*v) == 0 {
		return nil
	}
	return &InvalidError{Fields: *v}
}
