package money

import (
	"fmt"
	"math/big"

	"github.com/shopspring/decimal"
)

// MaxDigits is the greatest number of digits of an amount in minor units, so
// decimals included.
const MaxDigits = 38

// maxAmountText is the length of a minus sign, MaxDigits digits and a point.
const maxAmountText = 1 + MaxDigits + 1

// Amount is an exact amount of money: a whole number of minor units of one
// currency. It never changes. It cannot be compared with ==, which would
// compare addresses; use [Amount.Equal] or [Amount.Cmp].
//
// The zero Amount is not set: it is no amount of any currency, not even zero.
// It has no form in text, JSON and SQL, and no operation takes it. The omitzero
// option of encoding/json leaves it out.
//
// It holds no more than fits into registers, which halves the time to parse.
type Amount struct {
	_     [0]func() // makes == a compile-time error
	code  string
	value decimal.Decimal // its exponent is minus the currency's scale
}

var _ fmt.Stringer = Amount{}

func parseAmount(text string, currency Currency) (Amount, error) {
	n, err := readNumber(amountField, text, maxAmountText)
	if err != nil {
		return Amount{}, err
	}
	return amountOfNumber(n, currency)
}

func amountOfNumber(n number, currency Currency) (Amount, error) {
	scale := currency.Scale()
	if n.decimals() > scale {
		return Amount{}, tooManyDecimals(n.decimals(), currency)
	}
	if whole := n.whole(); len(whole)+scale > MaxDigits && whole != "0" {
		return Amount{}, broken(amountField, "must have at most %d digits before the point in %s, has %d", MaxDigits-scale, currency, len(whole))
	}
	return Amount{code: currency.code, value: n.decimal(scale)}, nil
}

// newAmount returns the amount of that code and value, or ErrOverflow. The
// value's exponent must be minus the currency's scale.
func newAmount(code string, value decimal.Decimal) (Amount, error) {
	if digits := value.NumDigits(); digits > MaxDigits {
		return Amount{}, fmt.Errorf("%w: %d digits in %s with its %d decimals, at most %d", ErrOverflow, digits, code, -value.Exponent(), MaxDigits)
	}
	return Amount{code: code, value: value}, nil
}

// withScale returns a with more decimals than it has, or ErrOverflow.
func (a Amount) withScale(scale int) (Amount, error) {
	missing := scale - a.Currency().Scale()
	units := new(big.Int).Mul(a.value.Coefficient(), powerOfTen(missing))
	return newAmount(a.code, decimal.NewFromBigInt(units, exponent(scale)))
}

func tooManyDecimals(found int, currency Currency) error {
	return broken(amountField, "must have at most %d decimals in %s, has %d", currency.Scale(), currency, found)
}

func errNotSet() error { return broken(amountField, "must be set") }

// IsSet reports whether a is an amount, and not the zero Amount.
func (a Amount) IsSet() bool { return a.code != "" }

// Currency returns the currency, or the zero Currency where a is not set. Its
// scale is how many decimals a has.
func (a Amount) Currency() Currency {
	return Currency{code: a.code, scale: uint8(-a.value.Exponent())} //nolint:gosec // from 0 to MaxScale
}

// Decimal returns the number, and zero where a is not set.
func (a Amount) Decimal() decimal.Decimal { return a.value }

// Sign returns -1, 0 or 1, and 0 where a is not set.
func (a Amount) Sign() int { return a.value.Sign() }

// MinorUnits returns the number of minor units, such as cents. errors.Is(err,
// [ErrOverflow]) is true where it does not fit into an int64, and errors.Is(err,
// [ErrInvalid]) where a is not set.
func (a Amount) MinorUnits() (int64, error) {
	if !a.IsSet() {
		return 0, errNotSet()
	}
	units := a.value.Coefficient()
	if !units.IsInt64() {
		return 0, fmt.Errorf("%w: %s has more minor units than an int64 can hold", ErrOverflow, a)
	}
	return units.Int64(), nil
}

// Equal reports whether a and b are of the same currency and value, however
// many decimals each was written with, or are both not set.
func (a Amount) Equal(b Amount) bool {
	return a.code == b.code && a.value.Equal(b.value)
}

// Cmp returns -1 where a is less than b, 0 where they are equal, and 1 where a
// is greater. errors.Is(err, [ErrCurrencyMismatch]) is true where they are of
// two currencies, and errors.Is(err, [ErrInvalid]) where one is not set.
func (a Amount) Cmp(b Amount) (int, error) {
	if err := a.checkSameCurrency(b); err != nil {
		return 0, err
	}
	return a.value.Cmp(b.value), nil
}

// checkSameCurrency reports whether a and b can be added and compared.
func (a Amount) checkSameCurrency(b Amount) error {
	switch {
	case !a.IsSet() || !b.IsSet():
		return errNotSet()
	case a.code != b.code:
		return fmt.Errorf("%w: %s and %s", ErrCurrencyMismatch, a.code, b.code)
	default:
		return nil
	}
}

// String returns the text form, the number with all decimals of the currency, a
// space and the code, as in "10.00 EUR". It is "" where a is not set.
func (a Amount) String() string {
	if !a.IsSet() {
		return ""
	}
	return a.number() + " " + a.code
}

// number returns the number with all decimals of the currency.
func (a Amount) number() string { return a.value.StringFixed(-a.value.Exponent()) }

// Canonical is what of an amount counts in a fingerprint.
type Canonical struct {
	Amount   decimal.Decimal `fingerprint:"amount"`
	Currency string          `fingerprint:"currency"`
}

// Canonical returns the form of a to take a fingerprint of: it is the same for
// equal amounts, however many decimals they were written with.
func (a Amount) Canonical() Canonical {
	return Canonical{Amount: a.value, Currency: a.code}
}
