package webhook

import (
	"bytes"
	"testing"

	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/outbox/outboxtest"
)

// FuzzAnswers checks that no document gives an event a proof that names another
// key.
func FuzzAnswers(f *testing.F) {
	f.Add([]byte(`[]`))
	f.Add([]byte(`[{"mediatype":"application/problem+json","key":{"tenant":"acme","scope":"test","operation":"happen","id":"a"},"document":{"type":"t"}}]`))
	f.Add([]byte(`[{"mediatype":"application/vnd.settleonce.receipt+json","document":{"key":{"tenant":"acme","scope":"test","operation":"happen","id":"a"},` +
		`"revision":0,"requested":"settled","outcome":"settled","fingerprint":"outboxtest/1:0000000000000000000000000000000000000000000000000000000000000000","attempt":"1"}}]`))
	f.Add([]byte(`[{"mediatype":"application/vnd.settleonce.refusal+json","document":{"type":"t","title":"t","status":422,"code":"c",` +
		`"key":{"tenant":"acme","scope":"test","operation":"happen","id":"a"},"fingerprint":"outboxtest/1:0000000000000000000000000000000000000000000000000000000000000000"}}]`))
	e := outboxtest.NewEvent("a", "")
	f.Fuzz(func(t *testing.T, text []byte) {
		documents, err := readBatch(bytes.NewReader(text), 1<<20)
		if err != nil {
			return
		}
		answer := documents.answer(&e, 0)
		if answer.Err == nil && answer.Ack.Key != e.Key {
			t.Errorf("proof %+v for key %s", answer.Ack, e.Key)
		}
		if answer.Err != nil && (answer.Ack != outbox.Ack{} || !answer.EventAlone) {
			t.Errorf("error %v with %+v", answer.Err, answer)
		}
	})
}
