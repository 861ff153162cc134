package fingerprint

import (
	"encoding"
	"encoding/json"
	"reflect"
	"sync"
	"time"

	"github.com/shopspring/decimal"
)

// plan writes the values of one type. Plans never change once they are
// published, so any number of goroutines may use them.
type plan interface {
	write(w *writer, v reflect.Value) error
}

// plans remembers the plan of each type. A plan follows from its type alone,
// so the memo changes no result, and it can't grow beyond the program's types.
//
//nolint:gochecknoglobals // A memo per call would save nothing.
var plans sync.Map // reflect.Type → plan

func planOf(t reflect.Type) plan {
	if found, ok := plans.Load(t); ok {
		return found.(plan)
	}
	making := planner{made: map[reflect.Type]plan{}}
	made := making.of(t)
	// Published only now that every plan which made leads to is whole.
	for t, p := range making.made {
		plans.LoadOrStore(t, p)
	}
	return made
}

// planner makes the plan of a type and of the types within it. Recursive types
// find themselves in made.
type planner struct {
	made map[reflect.Type]plan
}

func (m *planner) of(t reflect.Type) plan {
	if found, ok := m.made[t]; ok {
		return found
	}
	if p := leafPlan(t); p != nil {
		m.made[t] = p
		return p
	}
	switch t.Kind() {
	case reflect.Struct:
		p := new(structPlan)
		m.made[t] = p
		p.fields, p.wrong = m.fieldsOf(t)
		return p
	case reflect.Map:
		p := &mapPlan{values: reflect.SliceOf(t.Elem())}
		m.made[t] = p
		p.key, p.value = m.of(t.Key()), m.of(t.Elem())
		return p
	case reflect.Slice, reflect.Array:
		p := new(listPlan)
		m.made[t] = p
		p.element = m.of(t.Elem())
		return p
	case reflect.Pointer:
		p := new(pointerPlan)
		m.made[t] = p
		p.target = m.of(t.Elem())
		return p
	default:
		p := refusedPlan{kind: t.Kind()}
		m.made[t] = p
		return p
	}
}

// leafPlan returns the plan of a type that needs no other type's plan, or nil.
func leafPlan(t reflect.Type) plan {
	switch t {
	case reflect.TypeFor[time.Time]():
		return instantPlan{}
	case reflect.TypeFor[decimal.Decimal]():
		return decimalPlan{}
	case reflect.TypeFor[decimal.NullDecimal]():
		return nullDecimalPlan{}
	case reflect.TypeFor[json.Number]():
		return numberTextPlan{}
	case reflect.TypeFor[json.RawMessage]():
		return rawJSONPlan{}
	}
	if t.Kind() == reflect.Interface {
		return interfacePlan{}
	}
	if p := methodPlan(t); p != nil {
		return p
	}
	return kindPlan(t)
}

// methodPlan returns the plan of a type that has a method for JSON or text of
// its own, or nil.
func methodPlan(t reflect.Type) plan {
	// The method of a pointer is found behind the pointer, where nil has been
	// dealt with.
	if t.Kind() == reflect.Pointer {
		return nil
	}
	if marshaler := reflect.TypeFor[json.Marshaler](); hasMethods(t, marshaler) {
		if mayBePromoted(t, marshaler) {
			return nil
		}
		return marshalerPlan{}
	}
	if marshaler := reflect.TypeFor[encoding.TextMarshaler](); hasMethods(t, marshaler) {
		if mayBePromoted(t, marshaler) {
			return nil
		}
		return textMarshalerPlan{}
	}
	return nil
}

// hasMethods reports whether t, or a pointer to t, has the methods.
func hasMethods(t, methods reflect.Type) bool {
	return t.Implements(methods) || reflect.PointerTo(t).Implements(methods)
}

// mayBePromoted reports whether t may have the methods from an embedded field
// alone, and so not speak for its other fields.
func mayBePromoted(t, methods reflect.Type) bool {
	if t.Kind() != reflect.Struct {
		return false
	}
	for i := range t.NumField() {
		if field := t.Field(i); field.Anonymous && hasMethods(field.Type, methods) {
			return true
		}
	}
	return false
}

// kindPlan returns the plan of a type of a basic kind, or of bytes, or nil.
func kindPlan(t reflect.Type) plan {
	switch t.Kind() {
	case reflect.Bool:
		return boolPlan{}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return intPlan{}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return uintPlan{}
	case reflect.Float32, reflect.Float64:
		return floatPlan{}
	case reflect.String:
		return textPlan{}
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 && methodPlan(t.Elem()) == nil {
			return bytesPlan{}
		}
		return nil
	default:
		return nil
	}
}

// refusedPlan is that of a type whose values have no canonical form.
type refusedPlan struct{ kind reflect.Kind }

func (p refusedPlan) write(*writer, reflect.Value) error {
	return broken("is of kind %v, which has no canonical form", p.kind)
}
