package settlehttp_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/fingerprint"
	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/receipt"
	"github.com/settleonce/settleonce/settle"
	"github.com/settleonce/settleonce/settle/settlehttp"
)

// otherSchema returns a digest under another version than that of digest, of
// the schema of that name.
func otherSchema(t *testing.T, name string) fingerprint.Digest {
	t.Helper()
	sum, err := fingerprint.Of(fingerprint.Schema{Name: name, Version: 2}, "content")
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

// TestBothEnds sends to a real handler: every class of answer as the relay
// sees it.
func TestBothEnds(t *testing.T) {
	t.Parallel()
	e := match("42")
	refusal := func(reason string) outbox.Ack {
		return outbox.Ack{Kind: outbox.AckRefusal, Key: e.Key, Fingerprint: e.Fingerprint, Reason: reason}
	}
	for _, test := range []struct {
		name        string
		settle      settleFunc
		ack         outbox.Ack
		problemType string
		retryAfter  time.Duration
	}{
		{"settled", settles, outbox.Ack{Kind: outbox.AckReceipt, Key: e.Key, Fingerprint: e.Fingerprint}, "", 0},
		{"longest receipt", func(_ context.Context, e event.Event) (receipt.Receipt, error) {
			r := settled(e)
			r.Value, r.Canonical = make([]byte, receipt.MaxOutcome), make([]byte, receipt.MaxCanonical)
			return r, nil
		}, outbox.Ack{Kind: outbox.AckReceipt, Key: e.Key, Fingerprint: e.Fingerprint}, "", 0},
		{"receipt under another version of the schema", func(_ context.Context, e event.Event) (receipt.Receipt, error) {
			r := settled(e)
			r.Fingerprint = otherSchema(t, "match.result")
			return r, nil
		}, outbox.Ack{Kind: outbox.AckReceipt, Key: e.Key, Fingerprint: e.Fingerprint}, "", 0},
		{"receipt under another schema", func(_ context.Context, e event.Event) (receipt.Receipt, error) {
			r := settled(e)
			r.Fingerprint = otherSchema(t, "match.other")
			return r, nil
		}, outbox.Ack{}, settlehttp.TypeInternal, 0},
		{"receipt of another fingerprint", func(_ context.Context, e event.Event) (receipt.Receipt, error) {
			r := settled(e)
			r.Fingerprint = digest("ff")
			return r, nil
		}, outbox.Ack{}, settlehttp.TypeInternal, 0},
		{"refused", failsWith(settle.Refuse("unknown-room", "no room 42")), refusal("unknown-room: no room 42"), "", 0},
		{"kind mismatch", failsWith(&receipt.ConflictError{
			Key: e.Key, Stored: settled(e), Requested: "aborted", Fingerprint: e.Fingerprint,
		}), refusal(`kind-mismatch: receipt: conflict on key arena/match/settle/42: stored for kind "settled", requested "aborted"; nothing was changed`), "", 0},
		{"in flight", failsWith(receipt.ErrInFlight), outbox.Ack{}, settlehttp.TypeInFlight, time.Second},
		{"outcome unknown", failsWith(receipt.ErrOutcomeUnknown), outbox.Ack{}, settlehttp.TypeOutcomeUnknown, time.Second},
		{"withheld", failsWith(receipt.ErrWithheld), outbox.Ack{}, settlehttp.TypeWithheld, time.Second},
		{"panic", func(context.Context, event.Event) (receipt.Receipt, error) { panic("x") }, outbox.Ack{}, settlehttp.TypeInternal, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := send(t, newSender(t, newRig(t, settlehttp.HandlerConfig{Settle: test.settle}).server.URL), e)
			if diff := cmp.Diff(test.ack, got.Ack); diff != "" {
				t.Errorf("ack (-want +got):\n%s", diff)
			}
			problemType := ""
			if described, ok := errors.AsType[*settlehttp.AnswerError](got.Err); ok {
				problemType = described.Problem.Type
			}
			if problemType != test.problemType || got.RetryAfter != test.retryAfter || (got.Err == nil) != (test.ack.Kind != outbox.AckNone) {
				t.Errorf("error %v, problem %q, RetryAfter %v", got.Err, problemType, got.RetryAfter)
			}
		})
	}
}

// TestWithheldProofIsGivenLater keeps I4: the first answer is withheld, the
// second delivery of the same event gets the receipt.
func TestWithheldProofIsGivenLater(t *testing.T) {
	t.Parallel()
	deliveries := 0
	rig := newRig(t, settlehttp.HandlerConfig{
		Settle: func(_ context.Context, e event.Event) (receipt.Receipt, error) {
			deliveries++
			if deliveries == 1 {
				return settled(e), errors.New("players are not free yet")
			}
			return settled(e), nil
		},
	})
	sender := newSender(t, rig.server.URL)
	if got := send(t, sender, match("42")); got.Ack.Kind != outbox.AckNone || got.RetryAfter == 0 {
		t.Errorf("first answer %+v, want it withheld", got)
	}
	if got := send(t, sender, match("42")); got.Ack.Kind != outbox.AckReceipt {
		t.Errorf("second answer %+v, want the receipt", got)
	}
}

// TestConcurrentSends runs many requests through one sender and one handler;
// each answer names its own event.
func TestConcurrentSends(t *testing.T) {
	t.Parallel()
	rig := newRig(t, settlehttp.HandlerConfig{})
	sender := newSender(t, rig.server.URL)
	var group sync.WaitGroup
	for i := range 50 {
		group.Go(func() {
			e := match(strings.Repeat("x", i+1))
			if got := sender.Send(t.Context(), []event.Event{e})[0]; got.Err != nil || got.Ack.Key != e.Key {
				t.Errorf("answer %+v to key %v", got, e.Key)
			}
		})
	}
	group.Wait()
}

// TestDefaultsHoldTheGreatestRecordAndReceipt has an event that fills a file of
// an outbox, and a receipt that has all it may have.
func TestDefaultsHoldTheGreatestRecordAndReceipt(t *testing.T) {
	t.Parallel()
	rig := newRig(t, settlehttp.HandlerConfig{
		Settle: func(_ context.Context, e event.Event) (receipt.Receipt, error) {
			r := settled(e)
			r.Value, r.Canonical = make([]byte, receipt.MaxOutcome), make([]byte, receipt.MaxCanonical)
			return r, nil
		},
	})
	e := match("42")
	e.Data = []byte(`""`)
	filling := outbox.MaxRecord - len("\n") - len(text(t, e))
	e.Data = []byte(`"` + strings.Repeat("x", filling) + `"`)
	if got := send(t, newSender(t, rig.server.URL), e); got.Err != nil || got.Ack.Kind != outbox.AckReceipt {
		t.Errorf("%+v, want the receipt", got)
	}
}
