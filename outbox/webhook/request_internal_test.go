package webhook

import (
	"slices"
	"testing"

	"github.com/settleonce/settleonce/outbox/outboxtest"
)

// TestBodyIsCopied shows that a body shares no memory with the caller's event,
// which the caller may use again while a transport still reads the body.
func TestBodyIsCopied(t *testing.T) {
	t.Parallel()
	for _, mode := range []Mode{Structured, Binary, Batched} {
		e := outboxtest.NewEvent("a", "")
		before := slices.Clone(e.Data)
		body, err := encode(mode, &e)
		if err != nil {
			t.Fatal(err)
		}
		for i := range body {
			body[i] = 0
		}
		if !slices.Equal(e.Data, before) {
			t.Errorf("mode %d: the body is the event's data", mode)
		}
	}
}
