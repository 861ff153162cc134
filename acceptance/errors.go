package acceptance

import (
	"errors"
	"fmt"
	"strings"
)

var (
	// ErrInvalid is true for every [*InvalidError]: the command, or what else
	// the call was given, breaks a rule, and the call wrote nothing.
	ErrInvalid = errors.New("acceptance: invalid")

	// ErrConsentUsed is true for a [*ConsentError]: another command has used
	// the consent. Nothing was changed, and sending the same again cannot help.
	ErrConsentUsed = errors.New("acceptance: the consent was used by another command")

	// ErrCallback is true where a callback broke its contract, such as a Board
	// with another number of quotes than legs. Nothing is left. The same call
	// fails again until the callback is mended.
	ErrCallback = errors.New("acceptance: a callback broke its contract")

	// ErrNotPending is true for a Resolve of a command that has neither a
	// referral nor a decision. Nothing was changed.
	ErrNotPending = errors.New("acceptance: the command was not referred")

	// ErrNotAccepted is true for a Close of a bet that was not accepted.
	// Nothing was changed.
	ErrNotAccepted = errors.New("acceptance: the bet was not accepted")

	// ErrValue is true where a decision cannot be written as JSON and read
	// back, or is longer than [receipt.MaxOutcome] then, in which case nothing
	// is left, or where a stored one does not fit the Bet type, in which case
	// its receipt stands.
	ErrValue = errors.New("acceptance: value")
)

// FieldError is one field that breaks a rule.
type FieldError struct {
	// Field is the path in the command's JSON, such as "legs[1].odds", or "$"
	// for the document as a whole. Names that came from outside are quoted
	// where they are not plain, and cut where they are long.
	Field string
	// Rule says what must hold, such as "must be greater than zero", and
	// mostly what is there instead. It reads on from the field.
	Rule string
}

// InvalidError names every field that breaks a rule. errors.Is(err,
// [ErrInvalid]) is true for it.
type InvalidError struct {
	// Fields has at least one entry, and for each wrong field the first rule
	// that it breaks. What is wrong as a whole is not taken apart.
	Fields []FieldError
}

// Error lists the fields and their rules.
func (e *InvalidError) Error() string {
	var text strings.Builder
	text.WriteString(ErrInvalid.Error())
	for i, wrong := range e.Fields {
		separator := "; "
		if i == 0 {
			separator = ": "
		}
		text.WriteString(separator + wrong.Field + " " + wrong.Rule)
	}
	return text.String()
}

// Unwrap makes errors.Is(err, [ErrInvalid]) true.
func (e *InvalidError) Unwrap() error { return ErrInvalid }

// ConsentError says which command has used a consent. errors.Is(err,
// [ErrConsentUsed]) is true for it.
type ConsentError struct {
	// Requoted is the ID of the command that was requoted.
	Requoted string
	// Successor is the ID of the command that consented to it.
	Successor string
}

// Error names both commands.
func (e *ConsentError) Error() string {
	return fmt.Sprintf("%v: the requote of %q has the successor %q", ErrConsentUsed, e.Requoted, e.Successor)
}

// Unwrap makes errors.Is(err, [ErrConsentUsed]) true.
func (e *ConsentError) Unwrap() error { return ErrConsentUsed }
