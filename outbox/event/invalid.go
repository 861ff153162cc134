package event

import (
	"errors"
	"fmt"
	"strings"
)

// ErrInvalid is wrapped by every error about the content of a [Key] or an
// [Event].
var ErrInvalid = errors.New("event: invalid")

// InvalidError names every field that breaks a rule. errors.Is(err,
// [ErrInvalid]) is true for it.
type InvalidError struct {
	// Fields has one entry a broken rule, in the order of the fields.
	Fields []FieldError
}

// FieldError is one broken rule.
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

// violations gathers broken rules.
type violations []FieldError

func (v *violations) add(field, format string, args ...any) {
	*v = append(*v, FieldError{Field: field, Rule: fmt.Sprintf(format, args...)})
}

func (v violations) err() error {
	if len(v) == 0 {
		return nil
	}
	return &InvalidError{Fields: v}
}
