package fingerprint

import (
	"bytes"
	"cmp"
	"encoding/json"
	"math"
	"strconv"
	"unicode/utf8"
)

// JCS returns the form of one JSON text by RFC 8785, the JSON Canonicalization
// Scheme. The caller owns the bytes.
//
// Numbers are doubles there. JCS refuses what a double can't carry: an integer
// that it would change, more than 17 significant digits that are not its exact
// value, and what would become infinite or, not being zero, zero. Any other
// number is rounded to the nearest double, as the RFC has it. All other errors
// are those of [OfJSON]; errors.Is(err, [ErrInvalidValue]) is true for all.
//
// No digest of this package is made from this form.
func JCS(text []byte) ([]byte, error) {
	w := acquireWriter()
	defer w.release()
	root, err := w.parse(text, compareUTF16)
	if err == nil {
		err = w.jcs(&root)
	}
	if err != nil {
		return nil, valueError(err)
	}
	return append([]byte(nil), w.buf...), nil
}

func (w *writer) jcs(node *jsonNode) (err error) {
	switch node.tag {
	case tagNumber:
		w.buf, err = appendDouble(w.buf, node.text)
		return err
	case tagText:
		w.buf = appendJSONString(w.buf, node.text)
	case tagArray:
		return w.jcsArray(node)
	case tagObject:
		return w.jcsObject(node)
	case tagTrue:
		w.buf = append(w.buf, "true"...)
	case tagFalse:
		w.buf = append(w.buf, "false"...)
	default:
		w.buf = append(w.buf, "null"...)
	}
	return nil
}

func (w *writer) jcsArray(node *jsonNode) error {
	w.buf = append(w.buf, '[')
	elements := w.tree.children(node)
	for i := range elements {
		if i > 0 {
			w.buf = append(w.buf, ',')
		}
		if err := w.jcs(&elements[i]); err != nil {
			return withinIndex(err, i)
		}
	}
	w.buf = append(w.buf, ']')
	return nil
}

func (w *writer) jcsObject(node *jsonNode) error {
	w.buf = append(w.buf, '{')
	members := w.tree.children(node)
	for i := range members {
		if i > 0 {
			w.buf = append(w.buf, ',')
		}
		w.buf = appendJSONString(w.buf, members[i].key)
		w.buf = append(w.buf, ':')
		if err := w.jcs(&members[i]); err != nil {
			return within(err, members[i].key)
		}
	}
	w.buf = append(w.buf, '}')
	return nil
}

// appendDouble appends a number as ECMAScript writes the nearest double.
func appendDouble(buf, text []byte) ([]byte, error) {
	if _, err := splitNumber(text); err != nil {
		return buf, err
	}
	value, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		return buf, broken("must be within the range of a double")
	}
	if err := checkDouble(text, value); err != nil {
		return buf, err
	}
	if value == 0 {
		return append(buf, '0'), nil // −0 too
	}
	// encoding/json writes floats as ECMAScript does.
	written, err := json.Marshal(value)
	if err != nil {
		return buf, broken("must be a finite number")
	}
	return append(buf, written...), nil
}

// checkDouble refuses a number that its nearest double does not carry.
func checkDouble(text []byte, value float64) error {
	const fullPrecision = 17
	given, err := appendNumberText(nil, text)
	if err != nil {
		return err
	}
	digits := significantDigits(given)
	if value == 0 && digits != "0" {
		return broken("must not be so small that a double makes it zero")
	}
	if value != math.Trunc(value) && len(digits) <= fullPrecision {
		return nil
	}
	// The double in as many digits as the number has must be the number. No
	// double has more digits than this.
	const most = 1100
	rendered := strconv.AppendFloat(nil, value, 'e', min(len(digits), most)-1, 64)
	same, err := appendNumberText(nil, rendered)
	if err != nil {
		return err
	}
	if !bytes.Equal(given, same) {
		return broken("must be a number that a double carries unchanged")
	}
	return nil
}

// significantDigits returns the digits of a canonical number.
func significantDigits(scalar []byte) string {
	reader := canonicalReader{rest: scalar}
	item, err := reader.next()
	if err != nil {
		return ""
	}
	digits, _, _ := bytes.Cut(bytes.TrimPrefix(item.payload, []byte("-")), []byte("e"))
	return string(digits)
}

// appendJSONString appends a string with the escapes that RFC 8785, section
// 3.2.2.2, asks for and no other.
func appendJSONString(buf, text []byte) []byte {
	const hex = "0123456789abcdef"
	buf = append(buf, '"')
	for _, b := range text {
		switch {
		case b == '"' || b == '\\':
			buf = append(buf, '\\', b)
		case b >= ' ':
			buf = append(buf, b)
		case b == '\b':
			buf = append(buf, `\b`...)
		case b == '\t':
			buf = append(buf, `\t`...)
		case b == '\n':
			buf = append(buf, `\n`...)
		case b == '\f':
			buf = append(buf, `\f`...)
		case b == '\r':
			buf = append(buf, `\r`...)
		default:
			buf = append(buf, `\u00`...)
			buf = append(buf, hex[b>>4], hex[b&0xF])
		}
	}
	return append(buf, '"')
}

// compareUTF16 orders valid UTF-8 as its UTF-16 code units would be ordered:
// characters beyond U+FFFF, being surrogate pairs there, come before U+E000.
func compareUTF16(a, b []byte) int {
	common := 0
	for common < len(a) && common < len(b) && a[common] == b[common] {
		common++
	}
	for common > 0 && common < len(a) && common < len(b) && !utf8.RuneStart(a[common]) {
		common--
	}
	if common == len(a) || common == len(b) {
		return cmp.Compare(len(a), len(b))
	}
	first, _ := utf8.DecodeRune(a[common:])
	second, _ := utf8.DecodeRune(b[common:])
	return cmp.Compare(rankUTF16(first), rankUTF16(second))
}

func rankUTF16(r rune) rune {
	const afterSurrogates, astral = 0xE000, 0x10000
	if r >= afterSurrogates && r < astral {
		return r + utf8.MaxRune
	}
	return r
}
