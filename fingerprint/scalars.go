package fingerprint

import (
	"encoding"
	"encoding/json"
	"math"
	"reflect"
	"time"
	"unicode/utf8"

	"github.com/shopspring/decimal"
)

// The plans of values that become one scalar, or whatever JSON a method gives.
type (
	boolPlan          struct{}
	intPlan           struct{}
	uintPlan          struct{}
	floatPlan         struct{}
	textPlan          struct{}
	bytesPlan         struct{}
	instantPlan       struct{}
	decimalPlan       struct{}
	nullDecimalPlan   struct{}
	numberTextPlan    struct{}
	rawJSONPlan       struct{}
	marshalerPlan     struct{}
	textMarshalerPlan struct{}
)

func (boolPlan) write(w *writer, v reflect.Value) error {
	w.buf = appendBool(w.buf, v.Bool())
	return nil
}

func (intPlan) write(w *writer, v reflect.Value) error {
	w.buf = appendInt(w.buf, v.Int())
	return nil
}

func (uintPlan) write(w *writer, v reflect.Value) error {
	w.buf = appendUint(w.buf, v.Uint())
	return nil
}

func (floatPlan) write(w *writer, v reflect.Value) (err error) {
	value := v.Float()
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return broken("must be a finite number")
	}
	w.buf, err = appendFloat(w.buf, value)
	return err
}

func (textPlan) write(w *writer, v reflect.Value) error { return w.text(v.String()) }

// text writes a text that must be UTF-8.
func (w *writer) text(text string) error {
	if !utf8.ValidString(text) {
		return broken("must be valid UTF-8")
	}
	w.buf = appendScalar(w.buf, tagText, text)
	return nil
}

func (bytesPlan) write(w *writer, v reflect.Value) error {
	if v.Kind() == reflect.Slice && v.IsNil() {
		w.buf = append(w.buf, tagNull)
		return nil
	}
	if v.Kind() == reflect.Array {
		v = addressable(v)
	}
	w.buf = appendScalar(w.buf, tagBytes, v.Bytes())
	return nil
}

func (instantPlan) write(w *writer, v reflect.Value) error {
	w.instantHere.Set(v)
	w.buf = appendInstant(w.buf, w.instant)
	return nil
}

func (decimalPlan) write(w *writer, v reflect.Value) error {
	w.numberHere.Set(v)
	w.buf = appendDecimal(w.buf, w.number)
	return nil
}

func (nullDecimalPlan) write(w *writer, v reflect.Value) error {
	value := valueOf[decimal.NullDecimal](v)
	if !value.Valid {
		w.buf = append(w.buf, tagNull)
		return nil
	}
	w.buf = appendDecimal(w.buf, value.Decimal)
	return nil
}

func (numberTextPlan) write(w *writer, v reflect.Value) (err error) {
	w.buf, err = appendNumberText(w.buf, v.String())
	return err
}

func (rawJSONPlan) write(w *writer, v reflect.Value) error {
	if v.IsNil() {
		w.buf = append(w.buf, tagNull)
		return nil
	}
	return w.json(v.Bytes())
}

func (marshalerPlan) write(w *writer, v reflect.Value) error {
	if isNil(v) {
		w.buf = append(w.buf, tagNull)
		return nil
	}
	text, err := valueOf[json.Marshaler](v).MarshalJSON()
	if err != nil {
		return &fault{rule: "failed to marshal itself: " + err.Error(), cause: err}
	}
	return w.json(text)
}

func (textMarshalerPlan) write(w *writer, v reflect.Value) error {
	if isNil(v) {
		w.buf = append(w.buf, tagNull)
		return nil
	}
	text, err := valueOf[encoding.TextMarshaler](v).MarshalText()
	if err != nil {
		return &fault{rule: "failed to marshal itself: " + err.Error(), cause: err}
	}
	return w.text(string(text))
}

// valueOf returns v as a T, which v or a pointer to v is: a method that needs
// a pointer gets one, wherever v stands.
func valueOf[T any](v reflect.Value) T {
	if !v.Type().AssignableTo(reflect.TypeFor[T]()) {
		v = addressable(v).Addr()
	}
	value, _ := reflect.TypeAssert[T](v)
	return value
}

// addressable returns v, or a copy of it that has an address.
func addressable(v reflect.Value) reflect.Value {
	if v.CanAddr() {
		return v
	}
	place := reflect.New(v.Type()).Elem()
	place.Set(v)
	return place
}

// isNil reports whether v is nil, of any kind that can be.
func isNil(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface, reflect.Slice, reflect.Map:
		return v.IsNil()
	default:
		return false
	}
}

// isAbsent reports whether a field that holds v is absent: it, or what it
// leads to, is nil.
func isAbsent(v reflect.Value) bool {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		if v.IsNil() {
			return true
		}
		v = v.Elem()
	}
	if v.Type() == reflect.TypeFor[decimal.NullDecimal]() {
		return !valueOf[decimal.NullDecimal](v).Valid
	}
	return isNil(v)
}

// isZeroer is how encoding/json finds out what omitzero leaves out.
type isZeroer interface{ IsZero() bool }

// zeroTest returns the test that omitzero applies to a field of type t.
func zeroTest(t reflect.Type) func(w *writer, v reflect.Value) bool {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return func(w *writer, v reflect.Value) bool {
			w.instantHere.Set(v)
			return w.instant.IsZero()
		}
	case t == reflect.TypeFor[decimal.Decimal]():
		return func(w *writer, v reflect.Value) bool {
			w.numberHere.Set(v)
			return w.number.IsZero()
		}
	case hasMethods(t, reflect.TypeFor[isZeroer]()):
		return func(_ *writer, v reflect.Value) bool {
			return isNil(v) || valueOf[isZeroer](v).IsZero()
		}
	default:
		return func(_ *writer, v reflect.Value) bool { return v.IsZero() }
	}
}
