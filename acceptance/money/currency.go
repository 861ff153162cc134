package money

import "fmt"

const (
	// MaxScale is the greatest number of decimals of a currency. Ether has 18.
	MaxScale = 18
	// MaxCode is the greatest length in bytes of a currency's code.
	MaxCode = 16
)

// Currency is a currency's code and the number of decimals of its amounts. The
// zero Currency stands for "none".
//
// A Currency is comparable, and == compares both. Amounts are of one currency
// where their codes are equal, because an amount that no registry has checked
// has the scale that it was written with.
type Currency struct {
	code  string
	scale uint8
}

var _ fmt.Stringer = Currency{}

// Code returns the code, such as "EUR": an upper-case ASCII letter, followed by
// upper-case letters, digits, '-' and '_', in all at most [MaxCode] bytes. It is
// "" for the zero Currency.
func (c Currency) Code() string { return c.code }

// Scale returns the number of decimals, from 0 to [MaxScale].
func (c Currency) Scale() int { return int(c.scale) }

// String returns the code.
func (c Currency) String() string { return c.code }

// IsZero reports whether c is the zero Currency.
func (c Currency) IsZero() bool { return c == Currency{} }

// checkCode reports whether code has the form of a currency's code.
func checkCode(code string) error {
	switch {
	case code == "":
		return broken(currencyField, "must not be empty")
	case len(code) > MaxCode:
		return broken(currencyField, "must have at most %d bytes, has %d", MaxCode, len(code))
	}
	for i := range len(code) {
		letter := code[i] >= 'A' && code[i] <= 'Z'
		other := code[i] >= '0' && code[i] <= '9' || code[i] == '-' || code[i] == '_'
		if !letter && (i == 0 || !other) {
			return broken(currencyField, "must be an upper-case letter, followed by upper-case letters, digits, '-' and '_'; is %q", code)
		}
	}
	return nil
}
