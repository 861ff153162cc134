package outbox_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/outbox/outboxtest"
)

// FuzzDecodeRecord checks that any file is either a record, which can be
// written again and then stays the same, or malformed.
func FuzzDecodeRecord(f *testing.F) {
	text, err := outbox.EncodeRecord(outboxtest.NewEvent("a", "x"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add(text[:len(text)/2])
	f.Add(bytes.Repeat([]byte{0}, 100))
	f.Add([]byte{})
	f.Add([]byte("{}"))
	f.Fuzz(func(t *testing.T, content []byte) {
		e, err := outbox.DecodeRecord(content)
		if err != nil {
			if !errors.Is(err, outbox.ErrMalformed) {
				t.Errorf("%v is not %v", err, outbox.ErrMalformed)
			}
			return
		}
		first, err := outbox.EncodeRecord(e)
		if err != nil {
			if errors.Is(err, outbox.ErrTooLarge) {
				return // Escapes may take more room than what they stand for.
			}
			t.Fatalf("a record that was read can't be written: %v", err)
		}
		again, err := outbox.DecodeRecord(first)
		if err != nil {
			t.Fatalf("what was written can't be read: %v", err)
		}
		second, err := outbox.EncodeRecord(again)
		if err != nil || !bytes.Equal(first, second) {
			t.Errorf("the canonical form changes:\n%s\n%s\n%v", first, second, err)
		}
	})
}
