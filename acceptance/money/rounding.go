package money

import (
	"encoding"
	"fmt"
	"math/big"
)

// Rounding is the rule by which an exact value is brought to fewer decimals.
// The zero Rounding is no rule: what is given it returns an error, even where
// nothing needs rounding, so that a forgotten setting shows at once.
type Rounding uint8

// The values are names, not numbers, in text and JSON.
const (
	// Down rounds toward zero.
	Down Rounding = iota + 1
	// HalfEven rounds to the nearest, and to the even one of two as near.
	HalfEven
	// HalfUp rounds to the nearest, and away from zero between two as near.
	HalfUp
	// Up rounds away from zero.
	Up
)

var (
	_ fmt.Stringer             = Rounding(0)
	_ encoding.TextMarshaler   = Rounding(0)
	_ encoding.TextUnmarshaler = (*Rounding)(nil)
)

// String returns the rule's name: "down", "half-even", "half-up" or "up". It is
// "none" for the zero Rounding and "unknown" for any other value.
func (r Rounding) String() string {
	switch r {
	case 0:
		return "none"
	case Down:
		return "down"
	case HalfEven:
		return "half-even"
	case HalfUp:
		return "half-up"
	case Up:
		return "up"
	default:
		return "unknown"
	}
}

// Validate reports whether r is one of the rules. errors.Is(err, [ErrInvalid])
// is true where it is not.
func (r Rounding) Validate() error {
	if r < Down || r > Up {
		return broken(roundingField, "must be one of down, half-even, half-up and up, is %s", r)
	}
	return nil
}

// MarshalText returns the rule's name. errors.Is(err, [ErrInvalid]) is true
// where r is none.
func (r Rounding) MarshalText() ([]byte, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	return []byte(r.String()), nil
}

// UnmarshalText reads a rule's name. errors.Is(err, [ErrInvalid]) is true where
// it is none.
func (r *Rounding) UnmarshalText(text []byte) error {
	for rule := Down; rule <= Up; rule++ {
		if string(text) == rule.String() {
			*r = rule
			return nil
		}
	}
	return broken(roundingField, "must be one of down, half-even, half-up and up")
}

// divide returns numerator / denominator, rounded once to a whole number. The
// denominator must be positive, and r a rule.
func (r Rounding) divide(numerator, denominator *big.Int) *big.Int {
	quotient, remainder := new(big.Int).QuoRem(numerator, denominator, new(big.Int))
	if remainder.Sign() == 0 {
		return quotient
	}
	twice := new(big.Int).Lsh(remainder, 1)
	half := twice.CmpAbs(denominator) // -1: below half of a unit, 0: just half
	var away bool
	switch r {
	case Down:
	case HalfEven:
		away = half > 0 || half == 0 && quotient.Bit(0) == 1
	case HalfUp:
		away = half >= 0
	case Up:
		away = true
	}
	if away {
		quotient.Add(quotient, big.NewInt(int64(numerator.Sign())))
	}
	return quotient
}
