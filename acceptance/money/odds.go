package money

import (
	"fmt"
	"math/big"

	"github.com/shopspring/decimal"
)

const (
	// MaxOdds is the greatest value of odds.
	MaxOdds = 1_000_000
	// MaxOddsDecimals is the greatest number of decimals of odds.
	MaxOddsDecimals = 10

	// maxOddsText is the length of seven digits, a point and the decimals. All
	// of it can be digits, and fits into an int64.
	maxOddsText = 7 + 1 + MaxOddsDecimals
)

// Odds are decimal odds, also called European: what one unit of stake gives
// back if the bet wins, the stake included. They are exact, greater than 1, at
// most [MaxOdds], and have at most [MaxOddsDecimals] decimals. They never
// change. They cannot be compared with ==; use [Odds.Equal] or [Odds.Cmp].
//
// The zero Odds are not set. They have no form in text, JSON and SQL, and
// nothing can be computed with them. The omitzero option of encoding/json
// leaves them out.
type Odds struct {
	_ [0]func() // makes == a compile-time error, as with decimals and amounts
	// units of 10^-decimals, which do not end in zero where there are
	// decimals, so that equal odds are written the same way.
	units    int64
	decimals uint8
}

var _ fmt.Stringer = Odds{}

// ParseOdds reads decimal odds from a number in the form that the package
// comment describes. Zeros that end it are allowed, and not kept. errors.Is(err,
// [ErrInvalid]) is true for every error.
func ParseOdds(text string) (Odds, error) {
	n, err := readNumber(oddsField, text, maxOddsText)
	if err != nil {
		return Odds{}, err
	}
	if n.decimals() > MaxOddsDecimals {
		return Odds{}, broken(oddsField, "must have at most %d decimals, have %d", MaxOddsDecimals, n.decimals())
	}
	return newOdds(n.units(n.decimals()), n.decimals())
}

// OddsFromFractional returns the decimal odds of fractional ones, as in 6/4 for
// 2.5, rounded once to places decimals, from 0 to [MaxOddsDecimals].
// errors.Is(err, [ErrInvalid]) is true where numerator or denominator is not
// positive, places or rounding is wrong, or the result is out of bounds, as 1/300
// is that rounds down to 1.00.
func OddsFromFractional(numerator, denominator int64, places int, rounding Rounding) (Odds, error) {
	if numerator <= 0 || denominator <= 0 {
		return Odds{}, broken(oddsField, "must have a positive numerator and denominator, have %d/%d", numerator, denominator)
	}
	return oddsFromRatio(big.NewInt(numerator), big.NewInt(denominator), places, rounding)
}

// OddsFromAmerican returns the decimal odds of American ones, also called a
// moneyline: +150 wins 150 on a stake of 100, -200 takes 200 to win 100. They
// are rounded once to places decimals, from 0 to [MaxOddsDecimals].
// errors.Is(err, [ErrInvalid]) is true where american lies between -100 and 100,
// places or rounding is wrong, or the result is out of bounds.
func OddsFromAmerican(american int64, places int, rounding Rounding) (Odds, error) {
	if american > -100 && american < 100 {
		return Odds{}, broken(oddsField, "must be at least 100 or at most -100 in American form, are %d", american)
	}
	won, staked := big.NewInt(american), big.NewInt(100)
	if american < 0 {
		won, staked = staked, won.Neg(won)
	}
	return oddsFromRatio(won, staked, places, rounding)
}

// oddsFromRatio returns 1 + won/staked, of positive numbers.
func oddsFromRatio(won, staked *big.Int, places int, rounding Rounding) (Odds, error) {
	if places < 0 || places > MaxOddsDecimals {
		return Odds{}, broken("places", "must be from 0 to %d, is %d", MaxOddsDecimals, places)
	}
	if err := rounding.Validate(); err != nil {
		return Odds{}, err
	}
	back := new(big.Int).Add(won, staked)
	units := rounding.divide(back.Mul(back, powerOfTen(places)), staked)
	if !units.IsInt64() {
		return Odds{}, errOddsAbove()
	}
	return newOdds(units.Int64(), places)
}

// newOdds returns the odds of so many units of 10^-decimals, of which there may
// be at most MaxOddsDecimals.
func newOdds(units int64, decimals int) (Odds, error) {
	one := int64(1)
	for range decimals {
		one *= 10
	}
	switch {
	case units <= one:
		return Odds{}, broken(oddsField, "must be greater than 1")
	case units > MaxOdds*one:
		return Odds{}, errOddsAbove()
	}
	for decimals > 0 && units%10 == 0 {
		units /= 10
		decimals--
	}
	return Odds{units: units, decimals: uint8(decimals)}, nil //nolint:gosec // at most MaxOddsDecimals
}

func errOddsAbove() error { return broken(oddsField, "must be at most %d", MaxOdds) }

func errOddsNotSet() error { return broken(oddsField, "must be set") }

// IsSet reports whether o are odds, and not the zero Odds.
func (o Odds) IsSet() bool { return o.units != 0 }

// Decimal returns the number, and zero where o are not set.
func (o Odds) Decimal() decimal.Decimal { return decimal.New(o.units, exponent(int(o.decimals))) }

// Equal reports whether o and other have the same value, or are both not set.
func (o Odds) Equal(other Odds) bool { return o.units == other.units && o.decimals == other.decimals }

// Cmp returns -1 where o are shorter than other, 0 where they are equal, and 1
// where they are longer. Odds that are not set are shorter than all others.
func (o Odds) Cmp(other Odds) int { return o.Decimal().Cmp(other.Decimal()) }

// String returns the number without zeros at its end, as in "2.5". It is ""
// where o are not set.
func (o Odds) String() string {
	if !o.IsSet() {
		return ""
	}
	return o.Decimal().String()
}
