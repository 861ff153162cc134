package fingerprint

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

var (
	// ErrInvalidValue is wrapped by every error about a value or a JSON text
	// that has no canonical form. The same value fails again, so a retry
	// cannot help.
	ErrInvalidValue = errors.New("fingerprint: invalid value")
	// ErrInvalidCanonical is wrapped by every error about bytes that are not
	// a canonical form which this build can read.
	ErrInvalidCanonical = errors.New("fingerprint: invalid canonical form")
)

// ValueError says where and why a value has no canonical form. errors.Is(err,
// [ErrInvalidValue]) is true for it, and so is errors.Is for the error of the
// value's own method that caused it.
type ValueError struct {
	// Path leads to the place, as in $.legs[2].odds; $ is the whole value.
	// Long names and long paths are cut, and end in "…".
	Path string
	// Rule is the rule that the place breaks. It holds nothing of the value,
	// except for what an error of the value's own method says.
	Rule string

	cause error
}

// Error gives the path and the rule.
func (e *ValueError) Error() string {
	return fmt.Sprintf("%v: %s %s", ErrInvalidValue, e.Path, e.Rule)
}

// Unwrap returns [ErrInvalidValue] and the cause, if there is one.
func (e *ValueError) Unwrap() []error {
	if e.cause == nil {
		return []error{ErrInvalidValue}
	}
	return []error{ErrInvalidValue, e.cause}
}

// fault is a broken rule on its way up: each level adds its step, so that a
// path costs nothing where there is no error.
type fault struct {
	rule  string
	cause error
	steps []string // innermost first
}

func (f *fault) Error() string { return f.rule }

func broken(format string, args ...any) error {
	return &fault{rule: fmt.Sprintf(format, args...)}
}

// within adds an object member's name to the path of err.
func within[T string | []byte](err error, name T) error { return addStep(err, nameStep(string(name))) }

// withinIndex adds an array element's index to the path of err.
func withinIndex(err error, index int) error { return addStep(err, indexStep(index)) }

func addStep(err error, step string) error {
	found, ok := errors.AsType[*fault](err)
	if !ok {
		found = &fault{rule: err.Error(), cause: err}
	}
	found.steps = append(found.steps, step)
	return found
}

// valueError turns what came up into the exported error.
func valueError(err error) error {
	found, ok := errors.AsType[*fault](err)
	if !ok {
		found = &fault{rule: err.Error(), cause: err}
	}
	slices.Reverse(found.steps)
	return &ValueError{Path: joinPath(found.steps), Rule: found.rule, cause: found.cause}
}

func indexStep(index int) string { return "[" + strconv.Itoa(index) + "]" }

// nameStep writes a member's name as .name, or quoted where it holds more than
// letters, digits and '_'.
func nameStep(name string) string {
	if plainName(name) {
		return "." + abbreviate(name)
	}
	return "[" + strconv.Quote(abbreviate(name)) + "]"
}

func plainName(name string) bool {
	if name == "" {
		return false
	}
	for i := range len(name) {
		b := name[i]
		letter := b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b == '_'
		if !letter && (b < '0' || b > '9') {
			return false
		}
	}
	return true
}

// joinPath cuts a path that is too deep to be read.
func joinPath(steps []string) string {
	const most = 32
	if len(steps) > most {
		return "$" + strings.Join(steps[:most], "") + "…"
	}
	return "$" + strings.Join(steps, "")
}
