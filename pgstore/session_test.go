package pgstore_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/settleonce/settleonce/pgstore"
	"github.com/settleonce/settleonce/receipt"
)

func TestCommitStoresReceiptEffectsAndEvents(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	claim := claimOn("m1")
	session := f.begin(t, claim)
	if claimed, newest := session.Prior(); claimed != nil || newest != nil {
		t.Errorf("prior of a fresh key = %v, %v", claimed, newest)
	}
	if err := mark(t.Context(), session.Tx(), "effect"); err != nil {
		t.Fatal(err)
	}
	r := receiptFor(claim)
	r.Canonical, r.OrderingKey = []byte{0, 1, 2}, "player/7"
	sent := eventOf(claim.Key, "player/7")
	stored, err := session.Commit(t.Context(), r, sent)
	if err != nil {
		t.Fatal(err)
	}
	if stored.RecordedAt.IsZero() {
		t.Error("the stored receipt has no time")
	}
	if diff := cmp.Diff(r, stored, cmpopts.IgnoreFields(receipt.Receipt{}, "RecordedAt")); diff != "" {
		t.Errorf("stored receipt (-given +stored):\n%s", diff)
	}
	if diff := cmp.Diff([]receipt.Receipt{stored}, f.history(t, "m1")); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"effect"}, f.marks(t)); diff != "" {
		t.Errorf("effects (-want +got):\n%s", diff)
	}
	var row [8]string
	var lane int16
	err = f.pool.QueryRow(t.Context(), `SELECT lane, ordering_key, source, event_id,
		tenant, scope, operation, id, attempt FROM settleonce.events`).Scan(
		&lane, &row[0], &row[1], &row[2], &row[3], &row[4], &row[5], &row[6], &row[7])
	if err != nil {
		t.Fatal(err)
	}
	want := [8]string{sent.Ordering(), sent.Source, sent.ID, "tenant", "match", "settle", "m1", claim.Attempt}
	if diff := cmp.Diff(want, row); diff != "" || lane != pgstore.Lane(sent.Ordering()) {
		t.Errorf("columns of the event, lane %d (-want +got):\n%s", lane, diff)
	}

	claimed, newest := f.begin(t, claimOn("m1")).Prior()
	if diff := cmp.Diff([]*receipt.Receipt{&stored, &stored}, []*receipt.Receipt{claimed, newest}); diff != "" {
		t.Errorf("prior of the settled key (-want +got):\n%s", diff)
	}
}

func TestRollbackLeavesNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	session := f.begin(t, claimOn("m1"))
	if err := mark(t.Context(), session.Tx(), "effect"); err != nil {
		t.Fatal(err)
	}
	if err := session.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.expectNothing(t, "m1")
}
