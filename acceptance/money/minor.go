package money

import (
	"database/sql"
	"database/sql/driver"
)

// Minor is a number of minor units, such as cents, as a bigint column holds it.
// [Amount.Minor] makes one to store, and [Registry.FromMinor] joins one that was
// read with its currency's code. Where the house changes a currency's scale,
// such columns change their meaning; a [Numeric] keeps it.
type Minor int64

var (
	_ driver.Valuer = Minor(0)
	_ sql.Scanner   = (*Minor)(nil)
)

// Minor returns the minor units of a for a bigint column, with the errors of
// [Amount.MinorUnits].
func (a Amount) Minor() (Minor, error) {
	units, err := a.MinorUnits()
	return Minor(units), err
}

// Value returns the number as an int64.
func (m Minor) Value() (driver.Value, error) { return int64(m), nil }

// Scan reads a bigint column. NULL and every other type are errors, for which
// errors.Is(err, [ErrInvalid]) is true. PostgreSQL's sum of a bigint is a
// NUMERIC; cast it to bigint, which checks that it fits.
func (m *Minor) Scan(source any) error {
	switch source := source.(type) {
	case nil:
		return broken(amountField, "must not be NULL")
	case int64:
		*m = Minor(source)
		return nil
	default:
		return broken(amountField, "must come from a bigint column as an integer, is %T", source)
	}
}
