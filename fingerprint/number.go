package fingerprint

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"math/bits"
	"strconv"

	"github.com/shopspring/decimal"
)

// MaxExponent is the greatest magnitude of the exponent of ten that a number
// text may have, counted from its last digit that is not zero.
const MaxExponent = 1_000_000_000_000_000

var (
	errNumberSyntax   = errors.New("is not a number in JSON's syntax")
	errNumberExponent = errors.New("has an exponent of ten beyond 10^15")
)

// sealNumber finishes a number whose sign and digits stand in buf[start:],
// without leading zeros, and whose length byte stands before them. The value
// is those digits times ten to exponent.
func sealNumber(buf []byte, start int, exponent int64) []byte {
	end := len(buf)
	for end-1 > start && buf[end-1] == '0' {
		end--
		exponent++
	}
	if end-1 == start && buf[start] == '0' {
		exponent = 0
	}
	buf = buf[:end]
	if exponent != 0 {
		buf = append(buf, 'e')
		buf = strconv.AppendInt(buf, exponent, 10)
	}
	return sealLength(buf, start)
}

// sealLength writes the length of the payload buf[start:] into the one byte
// before it, and makes room where one byte is too few.
func sealLength(buf []byte, start int) []byte {
	size := len(buf) - start
	if size < 0x80 {
		buf[start-1] = byte(size) //nolint:gosec // size is below 0x80.
		return buf
	}
	var length [binary.MaxVarintLen64]byte
	width := binary.PutUvarint(length[:], uint64(size))
	buf = append(buf, length[1:width]...)
	copy(buf[start+width-1:], buf[start:start+size])
	copy(buf[start-1:], length[:width])
	return buf
}

// appendDecimal never expands the exponent: the text of 1E5000000 would have
// five million digits.
func appendDecimal(buf []byte, value decimal.Decimal) []byte {
	const digitsOfInt64 = 18 // any number of so many digits fits
	buf = append(buf, tagNumber, 0)
	start := len(buf)
	if value.NumDigits() <= digitsOfInt64 {
		buf = strconv.AppendInt(buf, value.CoefficientInt64(), 10)
	} else {
		buf = value.Coefficient().Append(buf, 10)
	}
	return sealNumber(buf, start, int64(value.Exponent()))
}

// appendFloat appends the exact value of a finite double.
func appendFloat(buf []byte, value float64) ([]byte, error) {
	const mantissaBits = 53
	if value == 0 {
		return appendInt(buf, 0), nil // −0 is 0
	}
	// The value is an odd mantissa times two to exponent.
	fraction, exponent := math.Frexp(value)
	mantissa := int64(math.Ldexp(fraction, mantissaBits))
	//nolint:gosec // A negative number has the trailing zeros of its magnitude.
	shift := bits.TrailingZeros64(uint64(mantissa))
	mantissa >>= shift
	exponent += shift - mantissaBits
	if exponent >= 0 && exponent < 63-mantissaBits+shift {
		return appendInt(buf, mantissa<<exponent), nil
	}
	// An odd mantissa has at most 16 digits, and neither 2^k nor 5^k adds more
	// than k of them.
	var text [128]byte
	digits := 17 + max(exponent, -exponent)
	return appendNumberText(buf, strconv.AppendFloat(text[:0], value, 'e', digits, 64))
}

// appendNumberText appends the value of a number in JSON's syntax.
func appendNumberText[T string | []byte](buf []byte, text T) ([]byte, error) {
	number, err := splitNumber(text)
	if err != nil {
		return buf, err
	}
	buf = append(buf, tagNumber, 0)
	start := len(buf)
	if number.negative {
		buf = append(buf, '-')
	}
	digitsStart := len(buf)
	buf = append(buf, number.whole...)
	buf = append(buf, number.fraction...)
	significant := bytes.TrimLeft(buf[digitsStart:], "0")
	if len(significant) == 0 {
		return sealNumber(append(buf[:start], '0'), start, 0), nil // −0 is 0
	}
	digits := bytes.TrimRight(significant, "0")
	exponent := number.exponent - int64(len(number.fraction)) + int64(len(significant)-len(digits))
	if exponent > MaxExponent || exponent < -MaxExponent {
		return buf, errNumberExponent
	}
	return sealNumber(append(buf[:digitsStart], digits...), start, exponent), nil
}

// numberParts are the parts of a number's text: digits without the point.
type numberParts[T string | []byte] struct {
	negative        bool
	whole, fraction T
	exponent        int64
}

// splitNumber takes a number apart by the grammar of RFC 8259, section 6.
func splitNumber[T string | []byte](text T) (numberParts[T], error) {
	var parts numberParts[T]
	rest := text
	if len(rest) > 0 && rest[0] == '-' {
		parts.negative = true
		rest = rest[1:]
	}
	width := countDigits(rest)
	if width == 0 || width > 1 && rest[0] == '0' {
		return parts, errNumberSyntax
	}
	parts.whole, rest = rest[:width], rest[width:]
	if len(rest) > 0 && rest[0] == '.' {
		width = countDigits(rest[1:])
		if width == 0 {
			return parts, errNumberSyntax
		}
		parts.fraction, rest = rest[1:1+width], rest[1+width:]
	}
	if len(rest) == 0 {
		return parts, nil
	}
	if rest[0] != 'e' && rest[0] != 'E' {
		return parts, errNumberSyntax
	}
	var err error
	parts.exponent, err = parseExponent(rest[1:])
	return parts, err
}

func parseExponent[T string | []byte](text T) (int64, error) {
	negative := len(text) > 0 && text[0] == '-'
	if negative || len(text) > 0 && text[0] == '+' {
		text = text[1:]
	}
	if len(text) == 0 || countDigits(text) != len(text) {
		return 0, errNumberSyntax
	}
	// The digits of the number can shift it by no more than their count.
	const most = 2 * MaxExponent
	var exponent int64
	for i := range len(text) {
		exponent = exponent*10 + int64(text[i]-'0')
		if exponent > most {
			return 0, errNumberExponent
		}
	}
	if negative {
		exponent = -exponent
	}
	return exponent, nil
}

func countDigits[T string | []byte](text T) int {
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return i
		}
	}
	return len(text)
}
