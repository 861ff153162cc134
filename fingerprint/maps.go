package fingerprint

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"reflect"
	"slices"
)

// mapPlan writes a map.
type mapPlan struct {
	key, value plan
	values     reflect.Type // a slice of the map's element type
}

// mapEntry is one entry of a map that is being ordered. Its key, a whole
// scalar, stands in writer.keys; the payload begins at payload.
type mapEntry struct {
	start, payload, end int
	value               reflect.Value
}

func (p *mapPlan) write(w *writer, v reflect.Value) error {
	if v.IsNil() {
		w.buf = append(w.buf, tagNull)
		return nil
	}
	if err := w.enter(); err != nil {
		return err
	}
	defer w.leave()
	firstKey, first := len(w.keys), len(w.entries)
	if err := p.gather(w, v); err != nil {
		return err
	}
	if err := w.order(first); err != nil {
		return err
	}
	w.buf = append(w.buf, tagObject)
	for i := first; i < len(w.entries); i++ {
		entry := w.entries[i] // a copy: a nested map may move the stack
		w.buf = append(w.buf, w.keys[entry.start:entry.end]...)
		err := p.value.write(w, entry.value)
		if err == nil {
			err = w.checkSize()
		}
		if err != nil {
			return addStep(err, keyStep(w.keys[entry.start:entry.end]))
		}
	}
	w.buf = append(w.buf, tagObjectEnd)
	clear(w.entries[first:])
	w.keys, w.entries = w.keys[:firstKey], w.entries[:first]
	return nil
}

// gather pushes the map's entries onto the stacks.
func (p *mapPlan) gather(w *writer, v reflect.Value) error {
	values := reflect.MakeSlice(p.values, v.Len(), v.Len())
	key := reflect.New(v.Type().Key()).Elem()
	entries := v.MapRange()
	for i := 0; entries.Next(); i++ {
		key.SetIterKey(entries)
		value := values.Index(i)
		value.SetIterValue(entries)
		entry, err := w.pushKey(p.key, key)
		if err != nil {
			return err
		}
		entry.value = value
		w.entries = append(w.entries, entry)
	}
	return nil
}

// pushKey writes a map key, which must be a scalar, and moves it onto the
// stack of keys.
func (w *writer) pushKey(p plan, key reflect.Value) (mapEntry, error) {
	mark := len(w.buf)
	if err := p.write(w, key); err != nil {
		return mapEntry{}, addStep(err, ".(map key)")
	}
	written := w.buf[mark:]
	w.buf = w.buf[:mark]
	width := 1
	switch written[0] {
	case tagFalse, tagTrue:
	case tagNumber, tagText, tagBytes, tagInstant:
		_, length := binary.Uvarint(written[1:])
		width += length
	default:
		return mapEntry{}, addStep(broken("must be a scalar"), ".(map key)")
	}
	entry := mapEntry{start: len(w.keys), payload: len(w.keys) + width}
	w.keys = append(w.keys, written...)
	entry.end = len(w.keys)
	w.steps += len(written)
	return entry, nil
}

// order sorts the entries above first into the canonical order, and refuses
// keys that are equal there.
func (w *writer) order(first int) error {
	entries := w.entries[first:]
	slices.SortFunc(entries, w.compareKeys)
	for i := 1; i < len(entries); i++ {
		if w.compareKeys(entries[i-1], entries[i]) == 0 {
			return addStep(broken("is the form of two keys of the map"), keyStep(w.keys[entries[i].start:entries[i].end]))
		}
	}
	return nil
}

func (w *writer) compareKeys(a, b mapEntry) int {
	w.steps += 1 + min(a.end-a.payload, b.end-b.payload)
	return cmp.Or(
		cmp.Compare(w.keys[a.start], w.keys[b.start]),
		bytes.Compare(w.keys[a.payload:a.end], w.keys[b.payload:b.end]),
	)
}
