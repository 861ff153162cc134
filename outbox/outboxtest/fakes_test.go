package outboxtest_test

import (
	"context"
	"sync"
	"testing"

	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/outbox/outboxtest"
)

func TestFakeSourceKeepsTheContract(t *testing.T) {
	t.Parallel()
	outboxtest.TestSource(t, func(testing.TB) outboxtest.SourceSubject {
		var source outboxtest.Source
		return outboxtest.SourceSubject{
			Source: &source,
			Put: func(_ context.Context, e event.Event) error {
				source.Put(e)
				return nil
			},
			Aside: func(context.Context) ([]string, error) {
				var reasons []string
				for _, aside := range source.Aside() {
					reasons = append(reasons, aside.Why.Reason)
				}
				return reasons, nil
			},
		}
	})
}

func TestFakeSenderKeepsTheContract(t *testing.T) {
	t.Parallel()
	for name, proof := range map[string]outbox.AckKind{
		"receipts": outbox.AckReceipt,
		"broker":   outbox.AckPublished,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			outboxtest.TestSender(t, func(testing.TB) outboxtest.SenderSubject { return fakeSender(proof) })
		})
	}
}

func fakeSender(proof outbox.AckKind) outboxtest.SenderSubject {
	var mu sync.Mutex
	refusals := make(map[event.Key]string)
	broken := false
	sender := &outboxtest.Sender{Fault: func(e event.Event, _ int) outboxtest.Fault {
		mu.Lock()
		defer mu.Unlock()
		return outboxtest.Fault{Refuse: refusals[e.Key], Stall: broken, Published: proof == outbox.AckPublished}
	}}
	return outboxtest.SenderSubject{
		Sender: sender,
		Proof:  proof,
		Taken:  sender.Taken,
		Refuse: func(key event.Key, reason string) {
			mu.Lock()
			defer mu.Unlock()
			refusals[key] = reason
		},
		Break: func() {
			mu.Lock()
			defer mu.Unlock()
			broken = true
		},
	}
}
