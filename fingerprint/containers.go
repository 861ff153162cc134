package fingerprint

import "reflect"

// pointerPlan writes what a pointer leads to.
type pointerPlan struct{ target plan }

func (p *pointerPlan) write(w *writer, v reflect.Value) error {
	if v.IsNil() {
		w.buf = append(w.buf, tagNull)
		return nil
	}
	if err := w.enter(); err != nil {
		return err
	}
	defer w.leave()
	return p.target.write(w, v.Elem())
}

// interfacePlan writes what an interface holds.
type interfacePlan struct{}

func (interfacePlan) write(w *writer, v reflect.Value) error {
	if v.IsNil() {
		w.buf = append(w.buf, tagNull)
		return nil
	}
	if err := w.enter(); err != nil {
		return err
	}
	defer w.leave()
	held := v.Elem()
	return planOf(held.Type()).write(w, held)
}

// listPlan writes a slice or an array.
type listPlan struct{ element plan }

func (p *listPlan) write(w *writer, v reflect.Value) error {
	if isNil(v) {
		w.buf = append(w.buf, tagNull)
		return nil
	}
	if err := w.enter(); err != nil {
		return err
	}
	defer w.leave()
	w.buf = append(w.buf, tagArray)
	for i := range v.Len() {
		w.steps++
		if err := p.element.write(w, v.Index(i)); err != nil {
			return withinIndex(err, i)
		}
		if err := w.checkSize(); err != nil {
			return withinIndex(err, i)
		}
	}
	w.buf = append(w.buf, tagArrayEnd)
	return nil
}
