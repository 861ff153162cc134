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
	for name, policy := range map[string]outbox.DeadLetterPolicy{
		"holds back": outbox.HoldBack,
		"goes on":    outbox.GoOn,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			outboxtest.TestSource(t, func(testing.TB) outboxtest.SourceSubject {
				source := &outboxtest.Source{Policy: policy}
				return fakeSource(source, source)
			})
		})
	}
}

func TestFakeLeasedSourceKeepsTheContract(t *testing.T) {
	t.Parallel()
	outboxtest.TestSource(t, func(testing.TB) outboxtest.SourceSubject {
		source := &outboxtest.LeasedSource{Source: outboxtest.Source{Policy: outbox.HoldBack, Positions: true}}
		subject := fakeSource(source, &source.Source)
		subject.TakeLeases = func(testing.TB) func() {
			var orderings []string
			for _, e := range source.Pending() {
				orderings = append(orderings, e.Ordering())
			}
			source.TakeAway(orderings...)
			return func() { source.GiveBack(orderings...) }
		}
		return subject
	})
}

// fakeSource has one source under two types.
func fakeSource(source outbox.Source, fake *outboxtest.Source) outboxtest.SourceSubject {
	return outboxtest.SourceSubject{
		Source: source,
		Put: func(_ context.Context, e event.Event) error {
			fake.Put(e)
			return nil
		},
		Policy:    fake.Policy,
		Positions: fake.Positions,
	}
}

func TestFakeSenderKeepsTheContract(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		proof outbox.AckKind
		batch outbox.Batching
	}{
		"receipts":         {outbox.AckReceipt, outbox.Batching{}},
		"broker":           {outbox.AckPublished, outbox.Batching{}},
		"batches":          {outbox.AckReceipt, outbox.Batching{MaxEvents: 100, MaxBytes: 64}},
		"batches in order": {outbox.AckPublished, outbox.Batching{MaxEvents: 100, InOrder: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			outboxtest.TestSender(t, func(tb testing.TB) outboxtest.SenderSubject {
				tb.Helper()
				return fakeSender(tb, c.proof, c.batch)
			})
		})
	}
}

func fakeSender(tb testing.TB, proof outbox.AckKind, batch outbox.Batching) outboxtest.SenderSubject {
	tb.Helper()
	var mu sync.Mutex
	refusals := make(map[event.Key]string)
	failing := make(map[event.Key]bool)
	broken := false
	sender := &outboxtest.Sender{Batch: batch, Fault: func(e event.Event, _ int) outboxtest.Fault {
		mu.Lock()
		defer mu.Unlock()
		fault := outboxtest.Fault{Refuse: refusals[e.Key], Stall: broken, Published: proof == outbox.AckPublished}
		if failing[e.Key] {
			fault.Err = outboxtest.ErrUnavailable
		}
		return fault
	}}
	tb.Cleanup(func() {
		if sender.Overlaps() != 0 {
			tb.Errorf("the suite sent %d events beside others of their ordering key", sender.Overlaps())
		}
	})
	return outboxtest.SenderSubject{
		Sender: sender,
		Proof:  proof,
		Taken:  sender.Taken,
		Refuse: func(key event.Key, reason string) {
			mu.Lock()
			defer mu.Unlock()
			refusals[key] = reason
		},
		Fail: func(key event.Key, fails bool) {
			mu.Lock()
			defer mu.Unlock()
			failing[key] = fails
		},
		Break: func() {
			mu.Lock()
			defer mu.Unlock()
			broken = true
		},
	}
}
