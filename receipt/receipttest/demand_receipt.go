package receipttest

import (
	"slices"
	"strings"
	"time"

	"github.com/settleonce/settleonce/receipt"
)

func receiptDemands[Tx any]() []demand[Tx] {
	return []demand[Tx]{
		{
			"bytes", "every field of a receipt is kept byte for byte, an absent value apart from an empty one, by Commit, History and Prior alike (I1)",
			checkBytes[Tx],
		},
		{
			"no-shared-memory", "what the caller does later to the slices that it gave or got does not change the stored receipt",
			checkNoSharedMemory[Tx],
		},
		{
			"recorded-at", "RecordedAt is the store's clock, whatever the caller set, in whole microseconds and in UTC",
			checkRecordedAt[Tx],
		},
		{
			"revisions", "Prior gives the receipt of the claimed revision and the newest one, and History all in the order of their revisions",
			checkRevisions[Tx],
		},
		{
			"histories", "History of several keys gives the receipts of each, in the order of the keys and then of the revisions, and nothing for a key that has none",
			checkHistories[Tx],
		},
		{
			"began-at", "BeganAt is the store's clock once the key was held, in whole microseconds and in UTC: not before a receipt that was recorded while it waited, nor after one that the session writes",
			checkBeganAt[Tx],
		},
		{
			"history", "History takes no lock and shows only what is committed",
			checkHistory[Tx],
		},
	}
}

func checkBytes[Tx any](t *trial[Tx]) {
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	values := map[string][]byte{
		"absent":        nil,
		"empty":         {},
		"NUL":           {0},
		"every byte":    every,
		"not UTF-8":     {0xff, 0xfe, 0xc3, 0x28},
		"spaced JSON":   []byte("{ \"b\" : 1.50,\n\t\"a\":\"\\u00e9\" }\n"),
		"backslash hex": []byte(`\x00ff`),
		"longest":       slices.Repeat([]byte{0, 0xa7}, receipt.MaxOutcome/2),
	}
	for name, value := range values {
		t.checkKept(name, func(r *receipt.Receipt) { r.Value = value })
	}
	t.checkKept("other outcome", func(r *receipt.Receipt) { r.Requested, r.Outcome = "settled", "aborted" })
	t.checkKept("canonical form", func(r *receipt.Receipt) { r.Canonical = every })
	t.checkKept("ordering key", func(r *receipt.Receipt) { r.OrderingKey = "wallet/5 %_'\"\\ é €" })
	t.checkKept("longest ordering key", func(r *receipt.Receipt) { r.OrderingKey = strings.Repeat("o", 256) })
	t.checkKept("longest kind", func(r *receipt.Receipt) { r.Outcome = receipt.Kind(strings.Repeat("k", receipt.MaxKind)) })
}

// checkKept demands that a receipt with that change comes back as it was sent.
func (t *trial[Tx]) checkKept(what string, change func(*receipt.Receipt)) {
	t.Helper()
	claim := claimOn(newKey())
	sent := receiptFor(t, claim)
	change(&sent)
	stored := t.commit(t.begin(claim), sent)
	sent.RecordedAt = stored.RecordedAt
	t.wantReceipt(what+": what Commit returned", &stored, &sent)
	t.wantHistory(claim.Key, sent)
	session := t.begin(claimOn(claim.Key))
	claimed, newest := session.Prior()
	t.rollBack(session)
	t.wantReceipt(what+": the claimed prior", claimed, &sent)
	t.wantReceipt(what+": the newest prior", newest, &sent)
}

func checkNoSharedMemory[Tx any](t *trial[Tx]) {
	claim := claimOn(newKey())
	sent := receiptFor(t, claim)
	sent.Value, sent.Canonical = []byte("value"), []byte("canonical")
	want := sent.Clone()
	stored := t.commit(t.begin(claim), sent)
	want.RecordedAt = stored.RecordedAt
	scribble(&sent)
	scribble(&stored)
	for _, found := range t.history(claim.Key) {
		scribble(&found)
	}
	session := t.begin(claimOn(claim.Key))
	claimed, newest := session.Prior()
	t.rollBack(session)
	t.wantReceipt("the claimed prior", claimed, &want)
	t.wantReceipt("the newest prior", newest, &want)
	if claimed != nil {
		scribble(claimed)
	}
	t.wantHistory(claim.Key, want)
}

func scribble(r *receipt.Receipt) {
	clear(r.Value)
	clear(r.Canonical)
}

func checkRecordedAt[Tx any](t *trial[Tx]) {
	claim := claimOn(newKey())
	sent := receiptFor(t, claim)
	sent.RecordedAt = time.Date(1999, 12, 31, 23, 59, 59, 0, time.UTC)
	stored := t.commit(t.begin(claim), sent)
	if stored.RecordedAt.IsZero() || stored.RecordedAt.Equal(sent.RecordedAt) {
		t.Errorf("RecordedAt is %v; want the store's clock", stored.RecordedAt)
	}
	session := t.begin(claimOn(claim.Key))
	claimed, newest := session.Prior()
	t.rollBack(session)
	if claimed == nil || newest == nil {
		t.Fatalf("Prior = %s, %s; want the receipt", t.receiptText(claimed), t.receiptText(newest))
	}
	found := append(t.history(claim.Key), stored, *claimed, *newest)
	for _, r := range found {
		if r.RecordedAt.Location() != time.UTC {
			t.Errorf("RecordedAt is in %v; want UTC", r.RecordedAt.Location())
		}
		if r.RecordedAt.Nanosecond()%1000 != 0 {
			t.Errorf("RecordedAt is %v; want whole microseconds", r.RecordedAt)
		}
	}
}

func checkRevisions[Tx any](t *trial[Tx]) {
	key := newKey()
	var stored []receipt.Receipt
	for revision := range 3 {
		claim := claimOn(key)
		claim.Revision = revision
		t.wantPrior(claim, nil, last(stored))
		stored = append(stored, t.commitFirst(claim))
	}
	for revision := range stored {
		claim := claimOn(key)
		claim.Revision = revision
		t.wantPrior(claim, &stored[revision], last(stored))
	}
	t.wantHistory(key, stored...)
}

func last(receipts []receipt.Receipt) *receipt.Receipt {
	if len(receipts) == 0 {
		return nil
	}
	return &receipts[len(receipts)-1]
}

func (t *trial[Tx]) wantPrior(claim receipt.Claim, wantClaimed, wantNewest *receipt.Receipt) {
	t.Helper()
	session := t.begin(claim)
	claimed, newest := session.Prior()
	t.rollBack(session)
	t.wantReceipt("the claimed prior", claimed, wantClaimed)
	t.wantReceipt("the newest prior", newest, wantNewest)
}

func checkHistory[Tx any](t *trial[Tx]) {
	claim := claimOn(newKey())
	t.wantHistory(claim.Key)
	session := t.begin(claim)
	t.wantHistory(claim.Key)
	stored := t.commit(session, receiptFor(t, claim))
	correction := claimOn(claim.Key)
	correction.Revision = 1
	open := t.begin(correction)
	t.wantHistory(claim.Key, stored)
	t.rollBack(open)
	t.wantHistory(claim.Key, stored)
}

func checkHistories[Tx any](t *trial[Tx]) {
	first, second, none := newKey(), newKey(), newKey()
	var ofFirst []receipt.Receipt
	for revision := range 3 {
		claim := claimOn(first)
		claim.Revision = revision
		ofFirst = append(ofFirst, t.commitFirst(claim))
	}
	ofSecond := t.commitFirst(claimOn(second))
	t.wantHistories([]receipt.Key{second, none, first}, slices.Concat([]receipt.Receipt{ofSecond}, ofFirst))
	t.wantHistories([]receipt.Key{first, second}, append(slices.Clone(ofFirst), ofSecond))
	t.wantHistories([]receipt.Key{none, newKey()}, nil)
	t.wantHistories(nil, nil)
}

func checkBeganAt[Tx any](t *trial[Tx]) {
	var latest time.Time
	for _, isolation := range []receipt.Isolation{receipt.ReadCommitted, receipt.Serializable} {
		claim := claimOn(newKey())
		claim.Isolation = isolation
		latest = t.commitAfter(latest, claim)
		holder := rerunOf(claim)
		holder.Revision = 1
		waited := t.whileWaiting(holder, rerunOf(holder), func(session receipt.Session[Tx]) {
			latest = t.commit(session, receiptFor(t, holder)).RecordedAt
		})
		t.wantBeganAt(waited, latest)
		t.rollBack(waited)
	}
}

// commitAfter commits a receipt in a session that begins after earlier, and
// returns the time at which it was recorded.
func (t *trial[Tx]) commitAfter(earlier time.Time, claim receipt.Claim) time.Time {
	t.Helper()
	session := t.begin(claim)
	t.wantBeganAt(session, earlier)
	recordedAt := t.commit(session, receiptFor(t, claim)).RecordedAt
	if recordedAt.Before(session.BeganAt()) {
		t.Errorf("BeganAt is %v; want it not after %v, at which the session's receipt was recorded", session.BeganAt(), recordedAt)
	}
	return recordedAt
}

func (t *trial[Tx]) wantBeganAt(session receipt.Session[Tx], earlier time.Time) {
	t.Helper()
	began := session.BeganAt()
	if began.Before(earlier) {
		t.Errorf("BeganAt is %v; want it not before %v, which came before the key was had", began, earlier)
	}
	if began.Location() != time.UTC || began.Nanosecond()%1000 != 0 {
		t.Errorf("BeganAt is %v; want whole microseconds in UTC", began)
	}
}
