package money

import (
	"math/big"
	"strings"

	"github.com/shopspring/decimal"
)

// number is a number in the form that the package comment describes, taken
// apart and not yet computed with.
type number struct {
	unsigned string // digits with at most one point among them
	// digits is the value of them all. It is right as far as maxInt64Digits
	// digits, which is for whoever uses it to see to.
	digits   int64
	point    int32 // where the point is in unsigned, or its length
	negative bool
}

// whole returns the digits before the point: no leading zero but "0" itself.
func (n number) whole() string { return n.unsigned[:n.point] }

// decimals returns how many digits there are behind the point.
func (n number) decimals() int { return max(len(n.unsigned)-int(n.point)-1, 0) }

// maxInt64Digits is how many digits surely fit into an int64.
const maxInt64Digits = 18

// readNumber takes text apart, which is the value of field, and looks at none
// of it where it has more than most bytes.
func readNumber(field, text string, most int) (number, error) {
	switch {
	case text == "":
		return number{}, broken(field, "must not be empty")
	case len(text) > most:
		return number{}, broken(field, "must have at most %d bytes, has %d", most, len(text))
	}
	unsigned, negative := strings.CutPrefix(text, "-")
	digits, point := int64(0), len(unsigned)
	for i := range len(unsigned) {
		switch digit := unsigned[i]; {
		case digit >= '0' && digit <= '9':
			digits = digits*10 + int64(digit-'0')
		case digit == '.' && point == len(unsigned):
			point = i
		default:
			return number{}, broken(field, "must be digits with at most one point and a minus sign in front, without exponent; is %s", excerpt(text))
		}
	}
	switch {
	case point == 0:
		return number{}, broken(field, "must have a digit before the point; is %s", excerpt(text))
	case point == len(unsigned)-1:
		return number{}, broken(field, "must have a digit behind the point; is %s", excerpt(text))
	case unsigned[0] == '0' && point > 1:
		return number{}, broken(field, "must have no leading zero; is %s", excerpt(text))
	case negative && strings.Trim(unsigned, "0.") == "":
		return number{}, broken(field, "must have no minus sign before zero; is %s", excerpt(text))
	}
	return number{unsigned: unsigned, digits: digits, point: int32(point), negative: negative}, nil //nolint:gosec // at most len(text)
}

// units returns n in units of 10^-scale. The fraction must have at most scale
// digits, and the result at most maxInt64Digits.
func (n number) units(scale int) int64 {
	units := n.digits
	for range scale - n.decimals() {
		units *= 10
	}
	if n.negative {
		return -units
	}
	return units
}

// decimal returns n with exactly scale decimals. The fraction must have at most
// scale digits.
func (n number) decimal(scale int) decimal.Decimal {
	if int(n.point)+scale <= maxInt64Digits {
		return decimal.New(n.units(scale), exponent(scale))
	}
	digits := strings.Replace(n.unsigned, ".", "", 1) + strings.Repeat("0", scale-n.decimals())
	units, _ := new(big.Int).SetString(digits, 10)
	if n.negative {
		units.Neg(units)
	}
	return decimal.NewFromBigInt(units, exponent(scale))
}

// exponent returns the exponent of ten of a decimal that has scale decimals.
func exponent(scale int) int32 {
	return -int32(scale) //nolint:gosec // no scale is above MaxScale
}

// powerOfTen returns 10^n.
func powerOfTen(n int) *big.Int {
	return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil)
}
