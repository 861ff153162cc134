package fingerprint

import (
	"reflect"
	"sync"
	"time"

	"github.com/shopspring/decimal"
)

// writer writes one canonical form. Writers are reused, and none is used by
// two calls at once: a value's method that calls this package gets another.
type writer struct {
	buf   []byte
	start int // where the canonical form begins in buf
	depth int
	steps int // work done, so that a test can count it

	tree jsonTree

	// keys and entries are stacks on which nested maps order their keys.
	keys    []byte
	entries []mapEntry

	// instant and number are places that a reflect.Value can be copied to
	// without an allocation; the Values below lead to them.
	instant     time.Time
	number      decimal.Decimal
	instantHere reflect.Value
	numberHere  reflect.Value
}

// writers keeps used writers for their memory alone: what it holds changes no
// result.
//
//nolint:gochecknoglobals // A pool must outlive the calls that it serves.
var writers = sync.Pool{New: func() any {
	w := new(writer)
	w.instantHere = reflect.ValueOf(&w.instant).Elem()
	w.numberHere = reflect.ValueOf(&w.number).Elem()
	return w
}}

func acquireWriter() *writer {
	return writers.Get().(*writer)
}

// release gives w back, without the caller's data and without the memory of an
// unusually large value. A writer whose call panicked is as good as any other,
// because everything is reset here.
func (w *writer) release() {
	const most = 256 << 10
	if cap(w.buf) > most || cap(w.keys) > most || w.tree.size() > most {
		return
	}
	clear(w.entries)
	w.buf, w.keys, w.entries = w.buf[:0], w.keys[:0], w.entries[:0]
	w.start, w.depth, w.steps = 0, 0, 0
	w.instant, w.number = time.Time{}, decimal.Decimal{}
	w.tree.reset()
	writers.Put(w)
}

// begin starts the canonical form behind whatever stands in buf.
func (w *writer) begin() {
	w.start = len(w.buf)
	w.buf = append(w.buf, formatVersion)
}

func (w *writer) goValue(value any) error {
	w.begin()
	if value == nil {
		w.buf = append(w.buf, tagNull)
		return nil
	}
	v := reflect.ValueOf(value)
	if err := planOf(v.Type()).write(w, v); err != nil {
		return err
	}
	return w.checkSize()
}

func (w *writer) jsonText(text []byte) error {
	w.begin()
	return w.json(text)
}

// enter goes one level down, and leave comes back.
func (w *writer) enter() error {
	w.depth++
	w.steps++
	if w.depth > MaxDepth {
		return broken("is a cycle, or more than %d levels deep", MaxDepth)
	}
	return w.checkSize()
}

func (w *writer) leave() { w.depth-- }

func (w *writer) checkSize() error {
	if len(w.buf)-w.start > MaxSize {
		return broken("makes the canonical form longer than %d bytes", MaxSize)
	}
	return nil
}
