package webhook_test

import (
	"fmt"
	"testing"

	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/outbox/outboxtest"
	"github.com/settleonce/settleonce/outbox/webhook"
)

func TestSenderSuite(t *testing.T) {
	t.Parallel()
	for mode, modeName := range []string{"structured", "binary", "batched"} {
		for proof, ack := range map[webhook.Proof]outbox.AckKind{
			webhook.ProofReceipt: outbox.AckReceipt, webhook.ProofStatus: outbox.AckPublished,
		} {
			t.Run(fmt.Sprintf("%s, proof %d", modeName, proof), func(t *testing.T) {
				t.Parallel()
				outboxtest.TestSender(t, func(tb testing.TB) outboxtest.SenderSubject {
					tb.Helper()
					return subject(tb, webhook.Mode(mode), proof, ack)
				})
			})
		}
	}
}

func subject(tb testing.TB, mode webhook.Mode, proof webhook.Proof, ack outbox.AckKind) outboxtest.SenderSubject {
	tb.Helper()
	end := newReceiver(tb, proof)
	made := outboxtest.SenderSubject{
		Sender: end.sender(tb, mode),
		Proof:  ack,
		Taken: func() []event.Event {
			var events []event.Event
			known := make(map[event.Key]bool)
			for _, e := range end.takenEvents() {
				if mode == webhook.Binary { // What the binary mode adds.
					e.DataContentType = ""
				}
				if !known[e.Key] {
					events = append(events, e)
				}
				known[e.Key] = true
			}
			return events
		},
		Fail: func(key event.Key, failing bool) {
			end.mu.Lock()
			defer end.mu.Unlock()
			end.failing[key] = failing
		},
		Break: func() {
			end.mu.Lock()
			defer end.mu.Unlock()
			end.broken = true
		},
	}
	if proof == webhook.ProofReceipt {
		made.Refuse = func(key event.Key, reason string) {
			end.mu.Lock()
			defer end.mu.Unlock()
			end.refused[key] = reason
		}
	}
	return made
}
