package receipttest

import (
	"errors"
	"slices"

	"github.com/settleonce/settleonce/fingerprint"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/receipt"
)

func commitDemands[Tx any]() []demand[Tx] {
	return []demand[Tx]{
		{
			"commit", "a key without receipts has no prior, and Commit makes the receipt, the effects and the events visible together (I2)",
			checkCommit[Tx],
		},
		{
			"invalid-receipt", "Commit of a receipt that breaks a rule changes nothing, says ErrNotCommitted, and frees the key",
			checkInvalidReceipt[Tx],
		},
		{
			"foreign-receipt", "Commit of a receipt whose key, revision or attempt is not the claim's changes nothing: the session holds the lock of its claim only",
			checkForeignReceipt[Tx],
		},
		{
			"invalid-event", "Commit with an event that breaks a rule changes nothing, not even by the valid events beside it",
			checkInvalidEvent[Tx],
		},
		{
			"commit-cancelled", "Commit under a context that has ended commits nothing, and knows it: the error is ErrNotCommitted, not ErrOutcomeUnknown",
			checkCommitCancelled[Tx],
		},
		{
			"event-order", "events of one ordering key are in the order of their commits, whichever transaction began first, and within a commit in the order given (I8)",
			checkEventOrder[Tx],
		},
	}
}

func checkCommit[Tx any](t *trial[Tx]) {
	claim, mark := claimOn(newKey()), receipt.NewID()
	first, second := eventFor(t, claim), eventFor(t, claim)
	session := t.begin(claim)
	if claimed, newest := session.Prior(); claimed != nil || newest != nil {
		t.Errorf("Prior of a fresh key = %s, %s; want none", t.receiptText(claimed), t.receiptText(newest))
	}
	t.write(session, mark)
	t.wantNothing(claim.Key, mark, first.ID)
	stored := t.commit(session, receiptFor(t, claim), first, second)
	t.wantHistory(claim.Key, stored)
	t.wantWritten(mark, 1)
	t.wantEmitted(first.ID, 1)
	t.wantEmitted(second.ID, 1)
}

// failingCommit demands that a commit changes nothing, is known to have
// changed nothing, and frees the key.
func (t *trial[Tx]) failingCommit(claim receipt.Claim, r receipt.Receipt, broken ...event.Event) {
	t.Helper()
	mark, valid := receipt.NewID(), eventFor(t, claim)
	session := t.begin(claim)
	t.write(session, mark)
	_, err := session.Commit(t.patient(), r, append([]event.Event{valid}, broken...)...)
	t.wantNotCommitted(err)
	t.wantNothing(claim.Key, mark, valid.ID)
	for _, e := range broken {
		t.wantEmitted(e.ID, 0)
	}
	t.rollBack(t.begin(claimOn(claim.Key)))
}

func (t *trial[Tx]) wantNotCommitted(err error) {
	t.Helper()
	if !errors.Is(err, receipt.ErrNotCommitted) {
		t.Errorf("Commit = %v; want ErrNotCommitted", err)
	}
	if errors.Is(err, receipt.ErrOutcomeUnknown) {
		t.Errorf("Commit = %v; want an error that is not ErrOutcomeUnknown", err)
	}
}

func checkInvalidReceipt[Tx any](t *trial[Tx]) {
	for _, spoil := range []func(*receipt.Receipt){
		func(r *receipt.Receipt) { *r = receipt.Receipt{} },
		func(r *receipt.Receipt) { r.Requested = "" },
		func(r *receipt.Receipt) { r.Outcome = "Not A Kind" },
		func(r *receipt.Receipt) { r.Fingerprint = fingerprint.Digest{} },
		func(r *receipt.Receipt) { r.Value = make([]byte, receipt.MaxOutcome+1) },
	} {
		claim := claimOn(newKey())
		r := receiptFor(t, claim)
		spoil(&r)
		t.failingCommit(claim, r)
	}
}

func checkForeignReceipt[Tx any](t *trial[Tx]) {
	for _, change := range []func(*receipt.Receipt){
		func(r *receipt.Receipt) { r.Key = newKey() },
		func(r *receipt.Receipt) { r.Revision++ },
		func(r *receipt.Receipt) { r.Attempt = receipt.NewID() },
	} {
		claim := claimOn(newKey())
		r := receiptFor(t, claim)
		change(&r)
		t.failingCommit(claim, r)
		t.wantHistory(r.Key)
	}
}

func checkInvalidEvent[Tx any](t *trial[Tx]) {
	for _, spoil := range []func(*event.Event){
		func(e *event.Event) { e.Type = "" },
		func(e *event.Event) { e.Data = []byte("{") },
		func(e *event.Event) { e.Key.Tenant = "" },
	} {
		claim := claimOn(newKey())
		broken := eventFor(t, claim)
		spoil(&broken)
		t.failingCommit(claim, receiptFor(t, claim), broken)
	}
}

func checkCommitCancelled[Tx any](t *trial[Tx]) {
	claim, mark := claimOn(newKey()), receipt.NewID()
	emitted := eventFor(t, claim)
	session := t.begin(claim)
	t.write(session, mark)
	_, err := session.Commit(t.cancelled(), receiptFor(t, claim), emitted)
	t.wantNotCommitted(err)
	t.rollBack(t.begin(claimOn(claim.Key))) // waits for whatever is still open
	t.wantNothing(claim.Key, mark, emitted.ID)
}

func checkEventOrder[Tx any](t *trial[Tx]) {
	line := receipt.NewID()
	inLine := func(claim receipt.Claim) event.Event {
		e := eventFor(t, claim)
		e.OrderingKey = line
		return e
	}
	older, newer := claimOn(newKey()), claimOn(newKey())
	one, two, three := inLine(newer), inLine(newer), inLine(older)
	olderSession, newerSession := t.begin(older), t.begin(newer)
	t.commit(newerSession, receiptFor(t, newer), one, two)
	t.commit(olderSession, receiptFor(t, older), three)
	want := []string{one.ID, two.ID, three.ID}
	got := slices.DeleteFunc(slices.Clone(t.emitted()), func(id string) bool { return !slices.Contains(want, id) })
	if !slices.Equal(got, want) {
		t.Errorf("events are in the order %q; want %q", got, want)
	}
}
