package money

import (
	"errors"
	"fmt"
	"strconv"
)

// All errors are about what was given. The same call fails again, so a retry
// cannot help.
var (
	// ErrInvalid is wrapped by every error about a text, JSON, database value
	// or argument that is no amount, no odds or no rounding rule.
	ErrInvalid = errors.New("money: invalid value")
	// ErrCurrency is wrapped by every error about a currency: its code has not
	// the form of one, or the registry does not know it, or its definition is
	// wrong.
	ErrCurrency = errors.New("money: invalid currency")
	// ErrCurrencyMismatch is wrapped by the error of an operation on amounts
	// of two currencies.
	ErrCurrencyMismatch = errors.New("money: amounts of two currencies")
	// ErrOverflow is wrapped by the error of an operation whose result has
	// more than [MaxDigits] digits, or does not fit into an int64 where it has
	// to.
	ErrOverflow = errors.New("money: overflow")
)

// RuleError names the rule that a value breaks. errors.Is(err, [ErrInvalid]) is
// true for it, or errors.Is(err, [ErrCurrency]) where Field is "currency".
type RuleError struct {
	// Field is what is wrong: "amount", "currency", "odds", "rounding", or
	// another argument's name.
	Field string
	// Rule is the rule, as in "must not be empty". It quotes at most the
	// first 40 bytes of the value.
	Rule string
}

// Error gives the field and the rule.
func (e *RuleError) Error() string { return "money: " + e.Field + " " + e.Rule }

// Unwrap returns [ErrCurrency] or [ErrInvalid].
func (e *RuleError) Unwrap() error {
	if e.Field == currencyField {
		return ErrCurrency
	}
	return ErrInvalid
}

// What RuleError.Field says.
const (
	amountField   = "amount"
	currencyField = "currency"
	oddsField     = "odds"
	roundingField = "rounding"
)

func broken(field, format string, args ...any) error {
	return &RuleError{Field: field, Rule: fmt.Sprintf(format, args...)}
}

// excerpt quotes text, and keeps a hostile one from filling a log.
func excerpt(text string) string {
	const most = 40
	if len(text) <= most {
		return strconv.Quote(text)
	}
	return strconv.Quote(text[:most]) + "…"
}
