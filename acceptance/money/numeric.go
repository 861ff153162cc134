package money

import (
	"database/sql"
	"database/sql/driver"
	"fmt"
	"strings"
)

// maxScanText is how much of a NUMERIC is read. PostgreSQL's arithmetic adds
// zeros to a number, but does not go beyond.
const maxScanText = 128

// Numeric is the number of an amount as a NUMERIC column holds it, while the
// currency's code stands in a column of its own. [Amount.Numeric] makes one to
// store, and [Registry.FromNumeric] joins one that was read with its code.
//
// The zero Numeric is not set, and cannot be stored: NULL is sql.Null[Numeric].
type Numeric struct {
	_    [0]func() // makes == a compile-time error, since 1.5 may be 1.50
	text string    // in the package's form of a number
}

var (
	_ driver.Valuer = Numeric{}
	_ sql.Scanner   = (*Numeric)(nil)
	_ fmt.Stringer  = Numeric{}
)

// Numeric returns the number of a for a NUMERIC column. It is not set where a is
// not.
func (a Amount) Numeric() Numeric {
	if !a.IsSet() {
		return Numeric{}
	}
	return Numeric{text: a.number()}
}

// Value returns the number as text, from which every driver and each of pgx's
// query modes makes a NUMERIC exactly. errors.Is(err, [ErrInvalid]) is true
// where n is not set.
func (n Numeric) Value() (driver.Value, error) {
	if n.text == "" {
		return nil, errNotSet()
	}
	return n.text, nil
}

// Scan reads a NUMERIC column. NULL, NaN, infinities, floats and integers are
// errors, for which errors.Is(err, [ErrInvalid]) is true: a float has lost what
// it lost, and an integer may count minor units.
func (n *Numeric) Scan(source any) error {
	text, err := scanNumber(amountField, source)
	if err != nil {
		return err
	}
	*n = Numeric{text: text}
	return nil
}

// String returns the number, and "" where n is not set.
func (n Numeric) String() string { return n.text }

func (n Numeric) amount(currency Currency) (Amount, error) {
	if n.text == "" {
		return Amount{}, errNotSet()
	}
	return parseAmount(n.text, currency)
}

// scanNumber returns what a driver made of a NUMERIC, in the package's form and
// without zeros that end its fraction.
func scanNumber(field string, source any) (string, error) {
	var text string
	switch source := source.(type) {
	case nil:
		return "", broken(field, "must not be NULL")
	case string:
		text = source
	case []byte:
		if len(source) > maxScanText { // before a copy of it is made
			return "", broken(field, "must have at most %d bytes, has %d", maxScanText, len(source))
		}
		text = string(source)
	default:
		return "", broken(field, "must come from a NUMERIC column as text, is %T", source)
	}
	n, err := readNumber(field, text, maxScanText)
	if err != nil {
		return "", err
	}
	if n.decimals() > 0 {
		text = strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
	}
	return text, nil
}
