package outboxtest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/settleonce/settleonce/fingerprint"
	"github.com/settleonce/settleonce/outbox/event"
)

// NewEvent returns an event whose Key, ID, data and fingerprint follow from id.
// With ordering "" the key itself orders. It is valid if id may be a key's.
func NewEvent(id, ordering string) event.Event {
	data := fmt.Appendf(nil, `{"id":%q}`, id)
	return event.Event{
		ID:          "event-" + id,
		Source:      "/outboxtest",
		Type:        "test.happened",
		Data:        data,
		Key:         event.Key{Tenant: "acme", Scope: "test", Operation: "happen", ID: id},
		OrderingKey: ordering,
		Fingerprint: digest(data),
	}
}

// WithData returns e with other data and the fingerprint that goes with it: a
// different fact under the same key.
func WithData(e event.Event, data string) event.Event {
	e = e.Clone()
	e.Data = []byte(data)
	e.Fingerprint = digest(e.Data)
	return e
}

func digest(data []byte) fingerprint.Digest {
	sum := sha256.Sum256(data)
	parsed, _ := fingerprint.Parse("outboxtest/1:" + hex.EncodeToString(sum[:])) // The form is right by construction.
	return parsed
}
