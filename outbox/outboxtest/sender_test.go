package outboxtest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/outbox/outboxtest"
)

// batch returns events that are named "id/ordering".
func batch(names ...string) []event.Event {
	events := make([]event.Event, len(names))
	for i, name := range names {
		events[i] = outboxtest.NewEvent(name[:1], name[2:])
	}
	return events
}

// words returns what each answer says.
func words(answers []outbox.Answer) []string {
	words := []string{}
	for _, answer := range answers {
		switch {
		case answer.Err != nil:
			words = append(words, answer.Err.Error())
		default:
			words = append(words, fmt.Sprint(answer.Ack.Kind, " ", answer.Ack.EventID, answer.Ack.Key.ID, " ", answer.Ack.Reason))
		}
	}
	return words
}

// TestFaultsInABatch orders one fault for the first of three events of one
// ordering key, before a fourth of another.
func TestFaultsInABatch(t *testing.T) {
	t.Parallel()
	const behind = "outboxtest: an earlier event of the ordering key was not taken"
	receipt := func(id string) string { return fmt.Sprint(outbox.AckReceipt, " ", id, " ") }
	errFault := errors.New("full")
	for name, c := range map[string]struct {
		inOrder bool
		first   outboxtest.Fault
		third   outboxtest.Fault
		want    []string
		taken   int
	}{
		"any order":           {false, outboxtest.Fault{Err: errFault}, outboxtest.Fault{}, []string{"full", receipt("b"), receipt("c"), receipt("d")}, 3},
		"in order":            {true, outboxtest.Fault{Err: errFault}, outboxtest.Fault{}, []string{"full", behind, behind, receipt("d")}, 1},
		"in order, bare":      {true, outboxtest.Fault{Bare: true}, outboxtest.Fault{}, []string{"0  ", behind, behind, receipt("d")}, 1},
		"in order, refused":   {true, outboxtest.Fault{Refuse: "no"}, outboxtest.Fault{}, []string{fmt.Sprint(outbox.AckRefusal, " a no"), behind, behind, receipt("d")}, 1},
		"in order, rejected":  {true, outboxtest.Fault{Reject: "no"}, outboxtest.Fault{}, []string{fmt.Sprint(outbox.AckRejected, " event-a no"), behind, behind, receipt("d")}, 1},
		"in order, lost":      {true, outboxtest.Fault{Lost: true}, outboxtest.Fault{}, []string{outboxtest.ErrUnavailable.Error(), behind, behind, receipt("d")}, 2},
		"in order, overtaken": {true, outboxtest.Fault{Err: errFault}, outboxtest.Fault{Overtakes: true}, []string{"full", behind, receipt("c"), receipt("d")}, 2},
		"no answer":           {false, outboxtest.Fault{Answers: -1}, outboxtest.Fault{}, []string{receipt("b"), receipt("c"), receipt("d")}, 4},
		"two answers":         {false, outboxtest.Fault{Answers: 2}, outboxtest.Fault{}, []string{receipt("a"), receipt("a"), receipt("b"), receipt("c"), receipt("d")}, 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sender := &outboxtest.Sender{
				Batch: outbox.Batching{MaxEvents: 4, InOrder: c.inOrder},
				Fault: func(e event.Event, _ int) outboxtest.Fault {
					return map[string]outboxtest.Fault{"a": c.first, "c": c.third}[e.Key.ID]
				},
			}
			answers := sender.Send(t.Context(), batch("a/x", "b/x", "c/x", "d/y"))
			if diff := cmp.Diff(c.want, words(answers)); diff != "" {
				t.Errorf("answers (-want +got):\n%s", diff)
			}
			if taken := len(sender.Taken()); taken != c.taken {
				t.Errorf("%d were taken, want %d", taken, c.taken)
			}
		})
	}
}

// TestAPanicLeavesTakenWhatStoodBefore is how a sender loses the answers of a
// whole call.
func TestAPanicLeavesTakenWhatStoodBefore(t *testing.T) {
	t.Parallel()
	sender := &outboxtest.Sender{
		Batch: outbox.Batching{MaxEvents: 3},
		Fault: func(e event.Event, n int) outboxtest.Fault { return outboxtest.Fault{Panic: e.Key.ID == "b" && n == 1} },
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("Send did not panic")
			}
		}()
		sender.Send(t.Context(), batch("a/x", "b/y", "c/z"))
	}()
	sender.Send(t.Context(), batch("b/y"))
	if taken, overlaps := len(sender.Taken()), sender.Overlaps(); taken != 2 || overlaps != 0 {
		t.Errorf("%d were taken with %d overlaps, want a and b with none", taken, overlaps)
	}
	var got []string
	for _, attempt := range sender.Attempts() {
		got = append(got, fmt.Sprint(attempt.Event.Key.ID, attempt.Number, " in call ", attempt.Call))
	}
	if diff := cmp.Diff([]string{"a1 in call 1", "b1 in call 1", "c1 in call 1", "b2 in call 2"}, got); diff != "" {
		t.Errorf("attempts (-want +got):\n%s", diff)
	}
}

// TestTheSenderTellsWhatBreaksItsBatching makes one call after the other, or one
// while another is out.
func TestTheSenderTellsWhatBreaksItsBatching(t *testing.T) {
	t.Parallel()
	data := len(outboxtest.NewEvent("a", "").Data)
	for name, c := range map[string]struct {
		batching  outbox.Batching
		out       []string // while the calls are made
		calls     [][]string
		overlaps  int
		oversized int
	}{
		"one event a call":      {outbox.Batching{}, nil, [][]string{{"a/x"}, {"b/x"}}, 0, 0},
		"two events":            {outbox.Batching{}, nil, [][]string{{"a/x", "b/y"}}, 0, 1},
		"of one ordering key":   {outbox.Batching{MaxEvents: 3}, nil, [][]string{{"a/x", "b/y", "c/x"}}, 1, 0},
		"of one, in order":      {outbox.Batching{MaxEvents: 3, InOrder: true}, nil, [][]string{{"a/x", "b/y", "c/x"}}, 0, 0},
		"beside another call":   {outbox.Batching{MaxEvents: 3, InOrder: true}, []string{"a/x"}, [][]string{{"b/x", "c/x"}}, 1, 0},
		"bytes":                 {outbox.Batching{MaxEvents: 3, MaxBytes: 2 * data}, nil, [][]string{{"a/x", "b/y"}}, 0, 0},
		"too many bytes":        {outbox.Batching{MaxEvents: 3, MaxBytes: 2*data - 1}, nil, [][]string{{"a/x", "b/y"}}, 0, 1},
		"too many bytes, alone": {outbox.Batching{MaxEvents: 3, MaxBytes: data - 1}, nil, [][]string{{"a/x"}}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			out, ended := make(chan struct{}), make(chan struct{})
			sender := &outboxtest.Sender{Batch: c.batching, Fault: func(e event.Event, _ int) outboxtest.Fault {
				if !slices.Contains(c.out, e.Key.ID+"/"+e.OrderingKey) {
					return outboxtest.Fault{}
				}
				close(out)
				return outboxtest.Fault{Stall: true}
			}}
			if len(c.out) > 0 {
				go func() {
					defer close(ended)
					sender.Send(ctx, batch(c.out...))
				}()
				<-out
			} else {
				close(ended)
			}
			for _, names := range c.calls {
				sender.Send(t.Context(), batch(names...))
			}
			cancel()
			<-ended
			if sender.Overlaps() != c.overlaps || sender.Oversized() != c.oversized {
				t.Errorf("%d overlaps and %d oversized calls, want %d and %d", sender.Overlaps(), sender.Oversized(), c.overlaps, c.oversized)
			}
		})
	}
}
