package fingerprint

import "crypto/sha256"

// Of returns the digest of a Go value under schema, by the rules of the
// package comment. errors.Is(err, [ErrInvalidSchema]) is true where the schema
// breaks a rule, errors.Is(err, [ErrInvalidValue]) where the value has no
// canonical form; the latter is a [*ValueError] that names the path.
//
// Nil is a value like any other: null.
func Of(schema Schema, value any) (Digest, error) {
	return digestOf(schema, func(w *writer) error { return w.goValue(value) })
}

// OfJSON returns the digest of one JSON text (RFC 8259) under schema. Its
// errors are those of [Of].
func OfJSON(schema Schema, text []byte) (Digest, error) {
	return digestOf(schema, func(w *writer) error { return w.jsonText(text) })
}

// OfCanonical returns the digest of a canonical form that [Canonical] or
// [CanonicalJSON] made: what [Of] and [OfJSON] return for the same value. So a
// caller who keeps the canonical form makes it only once. errors.Is(err,
// [ErrInvalidCanonical]) is true where the bytes are none.
func OfCanonical(schema Schema, canonical []byte) (Digest, error) {
	if err := checkCanonical(canonical); err != nil {
		return Digest{}, err
	}
	return digestOf(schema, func(w *writer) error {
		w.buf = append(w.buf, canonical...)
		return nil
	})
}

// Canonical returns the canonical form of a Go value. The caller owns the
// bytes. Its errors are those of [Of].
func Canonical(value any) ([]byte, error) {
	return canonicalOf(func(w *writer) error { return w.goValue(value) })
}

// CanonicalJSON returns the canonical form of one JSON text. The caller owns
// the bytes. Its errors are those of [OfJSON].
func CanonicalJSON(text []byte) ([]byte, error) {
	return canonicalOf(func(w *writer) error { return w.jsonText(text) })
}

func digestOf(schema Schema, write func(*writer) error) (Digest, error) {
	if err := schema.Validate(); err != nil {
		return Digest{}, err
	}
	w := acquireWriter()
	defer w.release()
	w.buf = schema.appendText(append(w.buf, 0))
	w.buf = sealLength(w.buf, 1)
	if err := write(w); err != nil {
		return Digest{}, valueError(err)
	}
	return Digest{schema: schema, sum: sha256.Sum256(w.buf)}, nil
}

func canonicalOf(write func(*writer) error) ([]byte, error) {
	w := acquireWriter()
	defer w.release()
	if err := write(w); err != nil {
		return nil, valueError(err)
	}
	return append([]byte(nil), w.buf...), nil
}
