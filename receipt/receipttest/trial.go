package receipttest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/settleonce/settleonce/fingerprint"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/receipt"
)

// shortWait is the lock timeout where the key is known to be held, or was
// never held: what Begin returns is then the same however short it is.
const shortWait = 250 * time.Millisecond

// patience is after how long a call counts as stuck.
const patience = 30 * time.Second

// trial is one run of a demand against one subject. Its methods that return
// no error fail the test instead.
type trial[Tx any] struct {
	testing.TB
	Subject[Tx]
}

// patient returns a context that ends when a call counts as stuck.
func (t *trial[Tx]) patient() context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// cancelled returns a context that has ended.
func (t *trial[Tx]) cancelled() context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

func newKey() receipt.Key {
	return receipt.Key{Tenant: "tenant", Scope: "suite", Operation: "settle", ID: receipt.NewID()}
}

// claimOn returns a claim of a fresh attempt on the first revision of key.
func claimOn(key receipt.Key) receipt.Claim {
	return receipt.Claim{Key: key, Attempt: receipt.NewID()}
}

// receiptFor returns a valid receipt for claim.
func receiptFor(t testing.TB, claim receipt.Claim) receipt.Receipt {
	t.Helper()
	sum, err := fingerprint.Parse("suite/1:4f1d9c0b7a3e58264f1d9c0b7a3e58264f1d9c0b7a3e58264f1d9c0b7a3e5826")
	if err != nil {
		t.Fatalf("the suite's own fingerprint: %v", err)
	}
	return receipt.Receipt{
		Key:         claim.Key,
		Revision:    claim.Revision,
		Requested:   "settled",
		Outcome:     "settled",
		Fingerprint: sum,
		Value:       []byte(`{"attempt":"` + claim.Attempt + `"}`),
		Attempt:     claim.Attempt,
	}
}

// eventFor returns a valid event with an id of its own.
func eventFor(t testing.TB, claim receipt.Claim) event.Event {
	t.Helper()
	return event.Event{
		ID:          receipt.NewID(),
		Source:      "/receipttest",
		Type:        "suite.settled",
		Data:        []byte(`{}`),
		Key:         claim.Key,
		Fingerprint: receiptFor(t, claim).Fingerprint,
	}
}

// tryBegin opens a session that is rolled back at the end of the case.
func (t *trial[Tx]) tryBegin(claim receipt.Claim) (receipt.Session[Tx], error) {
	session, err := t.Store.Begin(t.patient(), claim)
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		_ = session.Rollback(ctx) // After an end that the case itself saw it does nothing.
	})
	return session, nil
}

func (t *trial[Tx]) begin(claim receipt.Claim) receipt.Session[Tx] {
	t.Helper()
	session, err := t.tryBegin(claim)
	if err != nil {
		t.Fatalf("Begin(%s) = %v; want a session", claim.Key, err)
	}
	return session
}

// beginFree is begin for a key that nobody ever held: a wait is a failure.
func (t *trial[Tx]) beginFree(claim receipt.Claim) receipt.Session[Tx] {
	t.Helper()
	claim.LockTimeout = shortWait
	return t.begin(claim)
}

func (t *trial[Tx]) write(session receipt.Session[Tx], mark string) {
	t.Helper()
	if err := t.Write(t.patient(), session.Tx(), mark); err != nil {
		t.Fatalf("Write on an open session = %v; want nil", err)
	}
}

func (t *trial[Tx]) commit(session receipt.Session[Tx], r receipt.Receipt, events ...event.Event) receipt.Receipt {
	t.Helper()
	stored, err := session.Commit(t.patient(), r, events...)
	if err != nil {
		t.Fatalf("Commit = %v; want nil", err)
	}
	return stored
}

func (t *trial[Tx]) rollBack(session receipt.Session[Tx]) {
	t.Helper()
	if err := session.Rollback(t.patient()); err != nil {
		t.Errorf("Rollback = %v; want nil", err)
	}
}

// commitFirst commits a receipt on a claim in a session of its own.
func (t *trial[Tx]) commitFirst(claim receipt.Claim) receipt.Receipt {
	t.Helper()
	return t.commit(t.begin(claim), receiptFor(t, claim))
}

func (t *trial[Tx]) history(keys ...receipt.Key) []receipt.Receipt {
	t.Helper()
	history, err := t.Store.History(t.patient(), keys...)
	if err != nil {
		t.Fatalf("History(%s) = %v; want receipts", keys, err)
	}
	return history
}

func (t *trial[Tx]) wantHistory(key receipt.Key, want ...receipt.Receipt) {
	t.Helper()
	t.wantHistories([]receipt.Key{key}, want)
}

func (t *trial[Tx]) wantHistories(keys []receipt.Key, want []receipt.Receipt) {
	t.Helper()
	t.wantReceipts(fmt.Sprintf("History(%s)", keys), t.history(keys...), want)
}

func (t *trial[Tx]) wantReceipts(what string, got, want []receipt.Receipt) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s has %d receipts; want %d", what, len(got), len(want))
		return
	}
	for i := range want {
		t.wantReceipt(fmt.Sprintf("receipt %d of %s", i, what), &got[i], &want[i])
	}
}

// wantReceipt compares two receipts byte for byte, in the form that travels;
// it tells an absent canonical form from an empty one, which that form does
// not.
func (t *trial[Tx]) wantReceipt(what string, got, want *receipt.Receipt) {
	t.Helper()
	if got == nil || want == nil {
		if got != want {
			t.Errorf("%s is\n%.2000s\nwant\n%.2000s", what, t.receiptText(got), t.receiptText(want))
		}
		return
	}
	gotRest, wantRest := *got, *want
	gotRest.Value, wantRest.Value = nil, nil // compared apart: it may be long
	same := sameBytes(got.Value, want.Value) && sameBytes(got.Canonical, want.Canonical) &&
		t.receiptText(&gotRest) == t.receiptText(&wantRest)
	if !same {
		t.Errorf("%s is\n%.2000s\nwant\n%.2000s", what, t.receiptText(got), t.receiptText(want))
	}
}

func sameBytes(a, b []byte) bool { return bytes.Equal(a, b) && (a == nil) == (b == nil) }

func (t *trial[Tx]) receiptText(r *receipt.Receipt) string {
	t.Helper()
	if r == nil {
		return "none"
	}
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatalf("a receipt cannot be written as JSON: %v", err)
	}
	return string(text)
}

// wantNothing demands that neither receipt nor effect nor event is committed.
func (t *trial[Tx]) wantNothing(key receipt.Key, mark, eventID string) {
	t.Helper()
	t.wantHistory(key)
	t.wantWritten(mark, 0)
	t.wantEmitted(eventID, 0)
}

func (t *trial[Tx]) wantWritten(mark string, times int) {
	t.Helper()
	written, err := t.Written(t.patient())
	if err != nil {
		t.Fatalf("Written = %v; want marks", err)
	}
	if got := count(written, mark); got != times {
		t.Errorf("the effect is committed %d times; want %d", got, times)
	}
}

func (t *trial[Tx]) wantEmitted(id string, times int) {
	t.Helper()
	if got := count(t.emitted(), id); got != times {
		t.Errorf("the event is committed %d times; want %d", got, times)
	}
}

func (t *trial[Tx]) emitted() []string {
	t.Helper()
	emitted, err := t.Emitted(t.patient())
	if err != nil {
		t.Fatalf("Emitted = %v; want event ids", err)
	}
	return emitted
}

func count(all []string, one string) int {
	return len(slices.DeleteFunc(slices.Clone(all), func(s string) bool { return s != one }))
}
