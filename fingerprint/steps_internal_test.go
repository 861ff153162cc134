package fingerprint

// Steps returns how many steps it took to write the canonical form of value,
// and the form's size.
func Steps(value any) (steps, size int, err error) {
	return countSteps(func(w *writer) error { return w.goValue(value) })
}

// StepsJSON is [Steps] for a JSON text.
func StepsJSON(text []byte) (steps, size int, err error) {
	return countSteps(func(w *writer) error { return w.jsonText(text) })
}

func countSteps(write func(*writer) error) (steps, size int, err error) {
	w := acquireWriter()
	defer w.release()
	err = write(w)
	return w.steps + len(w.buf), len(w.buf), err
}
