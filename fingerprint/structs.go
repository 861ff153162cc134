package fingerprint

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"
)

// structPlan writes a struct, or reports what is wrong with its type.
type structPlan struct {
	fields []field // in the canonical order of their names
	wrong  error   // what is wrong with the type; nil: nothing
}

// field is one counted field of a struct or of a struct embedded in it.
type field struct {
	name     string
	key      []byte // the name as a whole canonical key
	place    []int  // the way to it, as for reflect.Value.FieldByIndex
	plan     plan
	optional bool                              // absent where it is nil
	zero     func(*writer, reflect.Value) bool // nil: zero counts too
	from     string                            // the field in Go, for errors
}

func (p *structPlan) write(w *writer, v reflect.Value) error {
	if err := w.enter(); err != nil {
		return err
	}
	defer w.leave()
	if p.wrong != nil {
		return broken("%v", p.wrong)
	}
	w.buf = append(w.buf, tagObject)
	for i := range p.fields {
		w.steps++
		if err := p.fields[i].write(w, v); err != nil {
			return within(err, p.fields[i].name)
		}
	}
	w.buf = append(w.buf, tagObjectEnd)
	return nil
}

func (f *field) write(w *writer, outer reflect.Value) error {
	v, present := f.find(outer)
	switch {
	case !present, f.optional && isAbsent(v), f.zero != nil && f.zero(w, v):
		return nil
	}
	w.buf = append(w.buf, f.key...)
	return f.plan.write(w, v)
}

// find returns the field's value, unless an embedded pointer on the way to it
// is nil.
func (f *field) find(v reflect.Value) (reflect.Value, bool) {
	for _, index := range f.place[:len(f.place)-1] {
		v = v.Field(index)
		if v.Kind() == reflect.Pointer {
			if v.IsNil() {
				return v, false
			}
			v = v.Elem()
		}
	}
	return v.Field(f.place[len(f.place)-1]), true
}

// fieldsOf returns the counted fields of struct type t.
func (m *planner) fieldsOf(t reflect.Type) ([]field, error) {
	fields, err := m.flatten(t, nil, nil)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(fields, func(a, b field) int { return cmp.Compare(a.name, b.name) })
	for i := 1; i < len(fields); i++ {
		if a, b := fields[i-1], fields[i]; a.name == b.name {
			return nil, fmt.Errorf("has fields %s and %s of one name, %q: name one of them in a fingerprint tag", a.from, b.from, a.name)
		}
	}
	return fields, nil
}

// flatten gathers the fields of t, and in place of an embedded struct without
// a name that struct's fields. Place leads to t, and outer has the structs
// around it.
func (m *planner) flatten(t reflect.Type, place []int, outer []reflect.Type) ([]field, error) {
	if slices.Contains(outer, t) {
		return nil, fmt.Errorf("embeds type %v in itself: name the embedded field in a tag", t)
	}
	outer = append(slices.Clone(outer), t)
	var fields []field
	for i := range t.NumField() {
		declared := t.Field(i)
		tag, err := readTags(declared)
		if err != nil {
			return nil, err
		}
		if tag.excluded || declared.Name == "_" { // a blank field holds nothing
			continue
		}
		here := append(slices.Clone(place), i)
		if inner := embedded(declared); inner != nil && !tag.named {
			within, err := m.flatten(inner, here, outer)
			if err != nil {
				return nil, err
			}
			fields = append(fields, within...)
			continue
		}
		if !declared.IsExported() {
			return nil, fmt.Errorf(`has an unexported field, %s: export it, or exclude it by the tag fingerprint:"-"`, declared.Name)
		}
		fields = append(fields, m.field(t, declared, tag, here))
	}
	return fields, nil
}

// field returns the field of struct type outer to which place leads.
func (m *planner) field(outer reflect.Type, declared reflect.StructField, tag fieldTag, place []int) field {
	f := field{
		name:     tag.name,
		key:      appendScalar(nil, tagText, tag.name),
		place:    place,
		plan:     m.of(declared.Type),
		optional: canBeAbsent(declared.Type),
		from:     outer.String() + "." + declared.Name,
	}
	if tag.omitZero {
		f.zero = zeroTest(declared.Type)
	}
	return f
}

func canBeAbsent(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Interface, reflect.Slice, reflect.Map:
		return true
	default:
		_, nullable := leafPlan(t).(nullDecimalPlan)
		return nullable
	}
}

// embedded returns the struct type whose fields stand in place of the field,
// or nil.
func embedded(declared reflect.StructField) reflect.Type {
	t := declared.Type
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if !declared.Anonymous || t.Kind() != reflect.Struct || leafPlan(t) != nil {
		return nil
	}
	return t
}

// fieldTag is what a field's tags say.
type fieldTag struct {
	excluded bool
	named    bool // by a tag
	name     string
	omitZero bool
}

func readTags(declared reflect.StructField) (fieldTag, error) {
	const omitZero = "omitzero"
	own := declared.Tag.Get("fingerprint")
	if own == "-" {
		return fieldTag{excluded: true}, nil
	}
	ownName, ownOptions, _ := strings.Cut(own, ",")
	if ownOptions != "" && ownOptions != omitZero {
		return fieldTag{}, fmt.Errorf("has a field, %s, whose fingerprint tag has an option other than omitzero", declared.Name)
	}
	var jsonName, jsonOptions string
	if tag := declared.Tag.Get("json"); tag != "-" { // it still counts, and has no name there
		jsonName, jsonOptions, _ = strings.Cut(tag, ",")
	}
	tagged := cmp.Or(ownName, jsonName)
	if !utf8.ValidString(tagged) {
		return fieldTag{}, errors.New("has a field, " + declared.Name + ", whose name in its tag is not valid UTF-8")
	}
	return fieldTag{
		named:    tagged != "",
		name:     cmp.Or(tagged, declared.Name),
		omitZero: ownOptions == omitZero || slices.Contains(strings.Split(jsonOptions, ","), omitZero),
	}, nil
}
