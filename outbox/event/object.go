package event

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
)

// objectWriter writes one JSON object with its members in the order in which
// they come, and without the escapes for HTML that json.Marshal adds.
type objectWriter struct {
	buffer bytes.Buffer
	err    error
}

func (w *objectWriter) member(name string, value any) {
	if w.err != nil {
		return
	}
	separator := byte(',')
	if w.buffer.Len() == 0 {
		separator = '{'
	}
	w.buffer.WriteByte(separator)
	w.encode(name)
	w.buffer.WriteByte(':')
	w.encode(value)
}

func (w *objectWriter) optional(name, value string) {
	if value != "" {
		w.member(name, value)
	}
}

func (w *objectWriter) extensions(values map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		w.member(name, values[name])
	}
}

func (w *objectWriter) encode(value any) {
	encoder := json.NewEncoder(&w.buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		w.err = err
		return
	}
	w.buffer.Truncate(w.buffer.Len() - 1) // Encode ends its text with a line feed.
}

func (w *objectWriter) close() ([]byte, error) {
	if w.err != nil {
		return nil, w.err
	}
	w.buffer.WriteByte('}')
	return w.buffer.Bytes(), nil
}
