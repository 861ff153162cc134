package outboxtest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/outbox/event"
)

// SenderSubject is a sender under test with the destination that it sends to.
type SenderSubject struct {
	Sender outbox.Sender
	// Proof is the kind of acknowledgement that the destination gives:
	// [outbox.AckReceipt] or [outbox.AckPublished].
	Proof outbox.AckKind
	// Taken returns the events that reached the destination, in order.
	Taken func() []event.Event
	// Refuse makes the destination refuse events of a key, with a reason.
	// Nil: the destination can't refuse.
	Refuse func(key event.Key, reason string)
	// Break makes the destination answer nothing from now on, as one does
	// that is down or hangs.
	Break func()
}

// TestSender checks that what open returns keeps the contract of
// [outbox.Sender]. open is called once a case, and must clean up by itself.
func TestSender(t *testing.T, open func(tb testing.TB) SenderSubject) {
	t.Helper()
	for _, c := range []struct {
		name string
		// why is the rule of the contract.
		why string
		run func(t *testing.T, s SenderSubject)
	}{
		{"proof", "The proof names the event that was taken, and the event arrives unchanged.", testSenderProof},
		{"batch", "One answer an event, in the order of the batch.", testSenderBatch},
		{"repeat", "An event that is sent again is proven again.", testSenderRepeat},
		{"refusal", "A refusal names the event and says why, and is not an error.", testSenderRefusal},
		{"broken", "Without an answer there is an error and no proof, as soon as the context is done.", testSenderBroken},
		{"cancelled", "Under a cancelled context there is still one answer an event.", testSenderCancelled},
		{"owned", "The events belong to the caller: Send doesn't change them.", testSenderOwned},
		{"concurrent", "Send is safe for concurrent use.", testSenderConcurrent},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Log(c.why)
			c.run(t, open(t))
		})
	}
}

func testSenderProof(t *testing.T, s SenderSubject) {
	t.Helper()
	e := NewEvent("a", "x")
	wantProof(t, s, e, send(t, s, e)[0])
	wantTaken(t, s, e)
}

func testSenderBatch(t *testing.T, s SenderSubject) {
	t.Helper()
	batch := []event.Event{NewEvent("c", "x"), NewEvent("a", "y"), NewEvent("b", "z")}
	for i, answer := range send(t, s, batch...) {
		wantProof(t, s, batch[i], answer)
	}
	send(t, s)
}

func testSenderRepeat(t *testing.T, s SenderSubject) {
	t.Helper()
	e := NewEvent("a", "x")
	for range 2 {
		wantProof(t, s, e, send(t, s, e)[0])
	}
}

func testSenderRefusal(t *testing.T, s SenderSubject) {
	t.Helper()
	if s.Refuse == nil {
		t.Log("the destination can't refuse, and the subject says so")
		return
	}
	good, bad := NewEvent("a", "x"), NewEvent("b", "y")
	s.Refuse(bad.Key, "unknown room")
	answers := send(t, s, bad, good)
	want := outbox.Answer{Ack: outbox.Ack{
		Kind: outbox.AckRefusal, Key: bad.Key, Fingerprint: bad.Fingerprint, Reason: answers[0].Ack.Reason,
	}}
	if diff := cmp.Diff(want, answers[0]); diff != "" {
		t.Errorf("refusal (-want +got):\n%s", diff)
	}
	if answers[0].Ack.Reason == "" {
		t.Error("the refusal has no reason")
	}
	wantProof(t, s, good, answers[1])
	wantTaken(t, s, good)
}

func testSenderBroken(t *testing.T, s SenderSubject) {
	t.Helper()
	s.Break()
	ctx, cancel := context.WithCancel(t.Context())
	sent := make(chan []outbox.Answer, 1)
	go func() { sent <- s.Sender.Send(ctx, []event.Event{NewEvent("a", "x"), NewEvent("b", "y")}) }()
	cancel()
	wantErrors(t, <-sent, 2)
}

func testSenderCancelled(t *testing.T, s SenderSubject) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	wantErrors(t, s.Sender.Send(ctx, []event.Event{NewEvent("a", "x"), NewEvent("b", "y")}), 2)
}

func testSenderOwned(t *testing.T, s SenderSubject) {
	t.Helper()
	batch := []event.Event{NewEvent("a", "x"), NewEvent("b", "y")}
	batch[0].Extensions = map[string]any{"text": "value"}
	before := texts(batch)
	send(t, s, batch...)
	if diff := cmp.Diff(before, texts(batch)); diff != "" {
		t.Errorf("Send changed its batch (-before +after):\n%s", diff)
	}
}

func testSenderConcurrent(t *testing.T, s SenderSubject) {
	t.Helper()
	var group sync.WaitGroup
	var want []event.Event
	for i := range 16 {
		e := NewEvent(fmt.Sprintf("%02d", i), "")
		want = append(want, e)
		group.Go(func() { wantProof(t, s, e, send(t, s, e)[0]) })
	}
	group.Wait()
	got, wanted := texts(s.Taken()), texts(want)
	slices.Sort(got)
	slices.Sort(wanted)
	if diff := cmp.Diff(wanted, got); diff != "" {
		t.Errorf("taken (-want +got):\n%s", diff)
	}
}

// send fills up what is missing with zero answers, so that callers may index.
func send(t *testing.T, s SenderSubject, batch ...event.Event) []outbox.Answer {
	t.Helper()
	answers := s.Sender.Send(t.Context(), batch)
	if len(answers) != len(batch) {
		t.Errorf("Send of %d events gave %d answers", len(batch), len(answers))
	}
	return append(answers, make([]outbox.Answer, len(batch))...)[:len(batch)]
}

func wantProof(t *testing.T, s SenderSubject, e event.Event, answer outbox.Answer) {
	t.Helper()
	if answer.Err != nil {
		t.Errorf("event %s: %v", e.ID, answer.Err)
		return
	}
	got := answer.Ack
	want := outbox.Ack{Kind: s.Proof, EventID: got.EventID, Key: got.Key, Fingerprint: got.Fingerprint, Reason: got.Reason}
	switch s.Proof {
	case outbox.AckPublished:
		want.EventID = e.ID
	default:
		want.Key, want.Fingerprint = e.Key, e.Fingerprint
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("event %s: proof (-want +got):\n%s", e.ID, diff)
	}
}

func wantErrors(t *testing.T, answers []outbox.Answer, count int) {
	t.Helper()
	if len(answers) != count {
		t.Errorf("Send of %d events gave %d answers", count, len(answers))
	}
	for i, answer := range answers {
		if answer.Err == nil {
			t.Errorf("answer %d has no error: %+v", i, answer)
		}
	}
}

func wantTaken(t *testing.T, s SenderSubject, want ...event.Event) {
	t.Helper()
	if diff := cmp.Diff(texts(want), texts(s.Taken())); diff != "" {
		t.Errorf("taken (-want +got):\n%s", diff)
	}
}
