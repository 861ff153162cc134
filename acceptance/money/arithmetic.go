package money

import (
	"math/big"

	"github.com/shopspring/decimal"
)

// MaxLegs is the greatest number of odds that one return is computed from.
const MaxLegs = 100

// Add returns a + b, with the decimals of the one that has more. errors.Is(err,
// [ErrCurrencyMismatch]) is true where they are of two currencies,
// errors.Is(err, [ErrOverflow]) where the sum has too many digits, and
// errors.Is(err, [ErrInvalid]) where one is not set.
func (a Amount) Add(b Amount) (Amount, error) {
	if err := a.checkSameCurrency(b); err != nil {
		return Amount{}, err
	}
	return newAmount(a.code, a.value.Add(b.value)) // with the smaller exponent of the two
}

// Sub returns a - b, with the errors of [Amount.Add].
func (a Amount) Sub(b Amount) (Amount, error) { return a.Add(b.Neg()) }

// Neg returns -a, which always has a place. Not set stays not set.
func (a Amount) Neg() Amount {
	if !a.IsSet() {
		return Amount{}
	}
	return Amount{code: a.code, value: a.value.Neg()}
}

// Times returns a taken n times. errors.Is(err, [ErrOverflow]) is true where the
// product has too many digits, and errors.Is(err, [ErrInvalid]) where a is not
// set.
func (a Amount) Times(n int64) (Amount, error) {
	if !a.IsSet() {
		return Amount{}, errNotSet()
	}
	return newAmount(a.code, a.value.Mul(decimal.NewFromInt(n)))
}

// Return returns what a stake of a gives back at odds, the stake included: the
// exact product, rounded once to the decimals of a. errors.Is(err,
// [ErrOverflow]) is true where the result has too many digits, and
// errors.Is(err, [ErrInvalid]) where a or odds are not set, or rounding is no
// rule.
func (a Amount) Return(odds Odds, rounding Rounding) (Amount, error) {
	return a.ReturnAll([]Odds{odds}, rounding)
}

// ReturnAll is [Amount.Return] for an accumulator: the exact product of a and
// all legs, rounded once. Rounding the product of the odds first would give
// another result. From 1 to [MaxLegs] legs are allowed; errors.Is(err,
// [ErrInvalid]) is true for any other number.
func (a Amount) ReturnAll(legs []Odds, rounding Rounding) (Amount, error) {
	if !a.IsSet() {
		return Amount{}, errNotSet()
	}
	if err := rounding.Validate(); err != nil {
		return Amount{}, err
	}
	if len(legs) == 0 || len(legs) > MaxLegs {
		return Amount{}, broken(oddsField, "must be from 1 to %d, are %d", MaxLegs, len(legs))
	}
	product, decimals := a.value.Coefficient(), 0
	for _, odds := range legs {
		if !odds.IsSet() {
			return Amount{}, errOddsNotSet()
		}
		product.Mul(product, big.NewInt(odds.units))
		decimals += int(odds.decimals)
	}
	units := rounding.divide(product, powerOfTen(decimals))
	return newAmount(a.code, decimal.NewFromBigInt(units, a.value.Exponent()))
}
