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
// An [outbox.BatchSender] gets batches within what it declares.
type SenderSubject struct {
	Sender outbox.Sender
	// Proof is the kind of acknowledgement that the destination gives:
	// [outbox.AckReceipt] or [outbox.AckPublished].
	Proof outbox.AckKind
	// Taken returns the events that reached the destination, in order, each
	// Key once.
	Taken func() []event.Event
	// Refuse makes the destination refuse events of a key, with a reason.
	// Nil: the destination can't refuse.
	Refuse func(key event.Key, reason string)
	// Fail makes the destination fail events of a key for now, or take them
	// again. Required where the sender declares InOrder; else nil says that
	// the destination can't fail an event alone.
	Fail func(key event.Key, failing bool)
	// Break makes the destination answer nothing from now on, as one does
	// that is down or hangs.
	Break func()
}

// TestSender checks that what open returns keeps the contract of
// [outbox.Sender], and of [outbox.BatchSender] where it is one. open is called
// once a case, and must clean up by itself.
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
		{"batching", "What a sender declares of its batches is sound, and the same at each call.", testSenderBatching},
		{"full batch", "A call of as many events as declared is taken, in its order.", testSenderFullBatch},
		{"in order", "Where the sender says InOrder, a failure fails what follows it in its ordering key.", testSenderInOrder},
		{"in order, refused", "The same holds behind an event that is refused.", testSenderInOrderRefused},
		{"failure in a batch", "Whatever fails, one answer an event, and no proof for what was not taken.", testSenderFailureInBatch},
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
	if answers := s.Sender.Send(t.Context(), nil); len(answers) != 0 {
		t.Errorf("Send of nothing gave %d answers", len(answers))
	}
}

func testSenderBatching(t *testing.T, s SenderSubject) {
	t.Helper()
	sender, ok := s.Sender.(outbox.BatchSender)
	if !ok {
		t.Log("the sender takes one event a call")
		return
	}
	declared := sender.Batching()
	if declared.MaxEvents < 0 || declared.MaxBytes < 0 {
		t.Errorf("declared %+v", declared)
	}
	send(t, s, NewEvent("a", "x"))
	if diff := cmp.Diff(declared, sender.Batching()); diff != "" {
		t.Errorf("Batching (-before +after):\n%s", diff)
	}
}

// fullBatch bounds the batch of testSenderFullBatch: some destinations take
// any number.
const fullBatch = 500

func testSenderFullBatch(t *testing.T, s SenderSubject) {
	t.Helper()
	batch := make([]event.Event, min(batching(s).MaxEvents, fullBatch))
	for i := range batch {
		batch[i] = NewEvent(fmt.Sprintf("%04d", i), "")
	}
	for i, answer := range send(t, s, batch...) {
		wantProof(t, s, batch[i], answer)
	}
	got, want := texts(s.Taken()), texts(batch)
	if !batching(s).InOrder { // Of several ordering keys, which come in any order.
		slices.Sort(got)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("taken (-want +got):\n%s", diff)
	}
}

func testSenderInOrder(t *testing.T, s SenderSubject) {
	t.Helper()
	batch, ok := batchInOrder(t, s)
	if !ok {
		return
	}
	if s.Fail == nil {
		t.Fatal("the sender declares InOrder, and the subject doesn't say how an event fails")
	}
	s.Fail(batch[0].Key, true)
	answers := send(t, s, batch...)
	wantErrors(t, []outbox.Answer{answers[0], answers[1], answers[3]}, 3)
	wantProof(t, s, batch[2], answers[2])
	wantTaken(t, s, batch[2])
	s.Fail(batch[0].Key, false)
	for i, answer := range send(t, s, batch...) {
		wantProof(t, s, batch[i], answer)
	}
	wantTaken(t, s, batch[2], batch[0], batch[1], batch[3])
}

func testSenderInOrderRefused(t *testing.T, s SenderSubject) {
	t.Helper()
	batch, ok := batchInOrder(t, s)
	if !ok {
		return
	}
	if s.Refuse == nil {
		t.Log("the destination can't refuse, and the subject says so")
		return
	}
	s.Refuse(batch[0].Key, "unknown room")
	answers := send(t, s, batch...)
	wantErrors(t, []outbox.Answer{answers[1], answers[3]}, 2)
	wantProof(t, s, batch[2], answers[2])
	wantTaken(t, s, batch[2])
}

// batchInOrder returns a batch that has three events of one ordering key, for a
// sender that takes it in one call.
func batchInOrder(t *testing.T, s SenderSubject) ([]event.Event, bool) {
	t.Helper()
	batch := []event.Event{NewEvent("a", "x"), NewEvent("b", "x"), NewEvent("c", "y"), NewEvent("d", "x")}
	if declared := batching(s); !declared.InOrder || declared.MaxEvents < len(batch) {
		t.Log("the sender doesn't get two events of one ordering key in a call")
		return nil, false
	}
	return batch, true
}

func testSenderFailureInBatch(t *testing.T, s SenderSubject) {
	t.Helper()
	if s.Fail == nil {
		t.Log("the destination can't fail an event alone, and the subject says so")
		return
	}
	batch := []event.Event{NewEvent("a", "x"), NewEvent("b", "y"), NewEvent("c", "z")}
	s.Fail(batch[1].Key, true)
	answers := send(t, s, batch...)
	wantErrors(t, answers[1:2], 1)
	taken := texts(s.Taken())
	for i, answer := range answers {
		if answer.Err != nil {
			continue // A destination may fail the whole call.
		}
		wantProof(t, s, batch[i], answer)
		if !slices.Contains(taken, texts(batch[i : i+1])[0]) {
			t.Errorf("event %s is proven and was not taken", batch[i].ID)
		}
	}
	s.Fail(batch[1].Key, false)
	for i, answer := range send(t, s, batch...) {
		wantProof(t, s, batch[i], answer)
	}
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
	batch := oneCall(s)
	go func() { sent <- s.Sender.Send(ctx, batch) }()
	cancel()
	wantErrors(t, <-sent, len(batch))
}

func testSenderCancelled(t *testing.T, s SenderSubject) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	batch := oneCall(s)
	wantErrors(t, s.Sender.Send(ctx, batch), len(batch))
}

// oneCall returns what may go in one call: two events if the sender takes them.
func oneCall(s SenderSubject) []event.Event {
	batch := []event.Event{NewEvent("a", "x"), NewEvent("b", "y")}
	return batch[:min(batching(s).MaxEvents, len(batch))]
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

// batching returns what a sender declares. A plain sender takes one event a
// call.
func batching(s SenderSubject) outbox.Batching {
	var declared outbox.Batching
	if sender, ok := s.Sender.(outbox.BatchSender); ok {
		declared = sender.Batching()
	}
	declared.MaxEvents = max(declared.MaxEvents, 1)
	return declared
}

// send makes as few calls as the sender's declaration allows. It fills up what
// is missing with zero answers, so that callers may index.
func send(t *testing.T, s SenderSubject, batch ...event.Event) []outbox.Answer {
	t.Helper()
	declared := batching(s)
	var answers []outbox.Answer
	for rest := batch; len(rest) > 0; {
		count, size := 1, len(rest[0].Data)
		for count < min(len(rest), declared.MaxEvents) {
			size += len(rest[count].Data)
			if declared.MaxBytes > 0 && size > declared.MaxBytes {
				break
			}
			count++
		}
		got := s.Sender.Send(t.Context(), rest[:count])
		if len(got) != count {
			t.Errorf("Send of %d events gave %d answers", count, len(got))
		}
		answers = append(answers, append(got, make([]outbox.Answer, count)...)[:count]...)
		rest = rest[count:]
	}
	return answers
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
