package receipttest

import (
	"fmt"
	"slices"
	"time"

	"github.com/settleonce/settleonce/receipt"
)

func besideDemands[Tx any]() []demand[Tx] {
	return []demand[Tx]{
		{
			"beside-read", "Beside gives the first receipts of the keys beside, those that have one, in the order of the claim",
			checkBesideRead[Tx],
		},
		{
			"beside-after-wait", "a Begin that waited shows the receipts beside that were committed while it waited",
			checkBesideAfterWait[Tx],
		},
		{
			"beside-commit", "receipts that were added are committed together with the claimed one, the effects and the events, as they were when they were added and with the store's clock, whatever the caller does later to what it gave; Rollback leaves nothing of them (I2)",
			checkBesideCommit[Tx],
		},
		{
			"beside-instead", "the first receipt of a key beside may be committed in place of the claimed one, which can be committed later",
			checkBesideInstead[Tx],
		},
		{
			"beside-taken", "a Commit that writes a receipt beside which has committed meanwhile changes nothing, and its error is retryable (I1)",
			checkBesideTaken[Tx],
		},
		{
			"beside-serializable", "at SERIALIZABLE a receipt beside that committed under the claim's key is shown, or the Commit that decided without it changes nothing and is retryable",
			checkBesideSerializable[Tx],
		},
		{
			"beside-receipts", "Commit with a receipt that was not claimed, stands twice, is another attempt's or breaks a rule changes nothing, not even by the valid ones beside it",
			checkBesideReceipts[Tx],
		},
		{
			"beside-claim", "Begin refuses keys beside that are invalid, doubled, the claim's own, another tenant's (I10) or too many, and then holds nothing",
			checkBesideClaim[Tx],
		},
		{
			"beside-unlocked", "keys beside are not locked: a session waits neither for one on such a key nor for one that has it beside",
			checkBesideUnlocked[Tx],
		},
	}
}

// claimBeside returns a claim with that many keys beside, all of them fresh.
func claimBeside(count int) receipt.Claim {
	claim := claimOn(newKey())
	for range count {
		claim.Beside = append(claim.Beside, newKey())
	}
	return claim
}

// rerunOf returns the same claim for a fresh attempt.
func rerunOf(claim receipt.Claim) receipt.Claim {
	claim.Attempt = receipt.NewID()
	return claim
}

// receiptBeside returns a valid receipt for a key beside the claim's.
func (t *trial[Tx]) receiptBeside(claim receipt.Claim, key receipt.Key) receipt.Receipt {
	t.Helper()
	r := receiptFor(t, claim)
	r.Key, r.Revision, r.Outcome = key, 0, "consumed"
	return r
}

func checkBesideRead[Tx any](t *trial[Tx]) {
	claim := claimBeside(4)
	corrected, none, onlyCorrected, plain := claim.Beside[0], claim.Beside[1], claim.Beside[2], claim.Beside[3]
	first := t.commitFirst(claimOn(corrected))
	for _, key := range []receipt.Key{corrected, onlyCorrected} {
		correction := claimOn(key)
		correction.Revision = 1
		t.commitFirst(correction)
	}
	second := t.commitFirst(claimOn(plain))
	for revision := range 2 {
		claim.Revision = revision
		t.wantBeside(claim, first, second)
		claim.Beside = []receipt.Key{plain, onlyCorrected, none, corrected}
		t.wantBeside(claim, second, first)
		claim.Beside = []receipt.Key{corrected, none, onlyCorrected, plain}
	}
	claim.Beside = nil
	t.wantBeside(claim)
}

func (t *trial[Tx]) wantBeside(claim receipt.Claim, want ...receipt.Receipt) {
	t.Helper()
	session := t.begin(claim)
	beside := session.Beside()
	t.rollBack(session)
	t.wantReceipts("Beside", beside, want)
}

func checkBesideAfterWait[Tx any](t *trial[Tx]) {
	holder := claimBeside(2)
	key := holder.Beside[1]
	var stored receipt.Receipt
	waited := t.whileWaiting(holder, rerunOf(holder), func(session receipt.Session[Tx]) {
		stored = t.commit(session, t.receiptBeside(holder, key))
	})
	beside := waited.Beside()
	t.wantWaitersPrior(waited, nil)
	t.wantReceipts("Beside of the Begin that waited", beside, []receipt.Receipt{stored})
}

func checkBesideCommit[Tx any](t *trial[Tx]) {
	for _, commits := range []bool{false, true} {
		claim, mark := claimBeside(2), receipt.NewID()
		emitted := eventFor(t, claim)
		session, keys := t.begin(claim), slices.Clone(claim.Beside)
		clear(claim.Beside)
		t.write(session, mark)
		var want []receipt.Receipt
		for _, key := range keys {
			added := t.receiptBeside(claim, key)
			want = append(want, added.Clone())
			added.RecordedAt = time.Date(1999, 12, 31, 23, 59, 59, 0, time.UTC)
			session.Add(added)
			scribble(&added)
		}
		t.wantHistories(keys, nil)
		t.wantNothing(claim.Key, mark, emitted.ID)
		if !commits {
			t.rollBack(session)
			t.wantHistories(keys, nil)
			continue
		}
		stored := t.commit(session, receiptFor(t, claim), emitted)
		t.wantHistory(claim.Key, stored)
		t.wantWritten(mark, 1)
		t.wantEmitted(emitted.ID, 1)
		got := t.history(keys...)
		for i := range min(len(got), len(want)) {
			if got[i].RecordedAt.Before(session.BeganAt()) {
				t.Errorf("RecordedAt of an added receipt is %v; want the store's clock", got[i].RecordedAt)
			}
			want[i].RecordedAt = got[i].RecordedAt
		}
		t.wantReceipts("the history beside", got, want)
	}
}

func checkBesideInstead[Tx any](t *trial[Tx]) {
	claim, mark := claimBeside(2), receipt.NewID()
	emitted := eventFor(t, claim)
	session := t.begin(claim)
	t.write(session, mark)
	session.Add(t.receiptBeside(claim, claim.Beside[0]))
	pending := t.commit(session, t.receiptBeside(claim, claim.Beside[1]), emitted)
	t.wantHistory(claim.Key)
	t.wantHistory(claim.Beside[1], pending)
	t.wantWritten(mark, 1)
	t.wantEmitted(emitted.ID, 1)
	if added := t.history(claim.Beside[0]); len(added) != 1 {
		t.Errorf("the history of the added receipt's key has %d receipts; want 1", len(added))
	}

	resolved := claimOn(claim.Key)
	resolved.Beside = claim.Beside[1:]
	t.wantBeside(resolved, pending)
	stored := t.commitFirst(resolved)
	t.wantHistories([]receipt.Key{claim.Key, claim.Beside[1]}, []receipt.Receipt{stored, pending})
}

// besideCommit is one way to commit receipts beside: the one that is given to
// Commit and the ones that are added.
type besideCommit struct {
	given receipt.Receipt
	added []receipt.Receipt
}

// tryBeside commits it in a session on the claim, together with an effect and an
// event of which nothing may be left: the error is returned.
func (t *trial[Tx]) tryBeside(claim receipt.Claim, session receipt.Session[Tx], c besideCommit) error {
	t.Helper()
	mark, emitted := receipt.NewID(), eventFor(t, claim)
	t.write(session, mark)
	session.Add(c.added...)
	_, err := session.Commit(t.patient(), c.given, emitted)
	t.wantNotCommitted(err)
	t.wantNothing(claim.Key, mark, emitted.ID)
	t.rollBack(t.begin(claimOn(claim.Key)))
	return err
}

func (t *trial[Tx]) wantRetryable(err error) {
	t.Helper()
	if !t.Store.Retryable(fmt.Errorf("wrapped: %w", err)) {
		t.Errorf("Retryable(%v) = false; want true", err)
	}
}

func checkBesideTaken[Tx any](t *trial[Tx]) {
	for _, instead := range []bool{false, true} {
		claim := claimBeside(2)
		session := t.begin(claim)
		taken := t.commitFirst(claimOn(claim.Beside[1]))
		free, other := t.receiptBeside(claim, claim.Beside[0]), t.receiptBeside(claim, claim.Beside[1])
		commit := besideCommit{receiptFor(t, claim), []receipt.Receipt{free, other}}
		if instead {
			commit = besideCommit{other, []receipt.Receipt{free}}
		}
		t.wantRetryable(t.tryBeside(claim, session, commit))
		t.wantHistories(claim.Beside, []receipt.Receipt{taken})
	}
}

func checkBesideSerializable[Tx any](t *trial[Tx]) {
	holder := claimBeside(1)
	holder.Isolation = receipt.Serializable
	var stored receipt.Receipt
	waiter := rerunOf(holder)
	waited := t.whileWaiting(holder, waiter, func(session receipt.Session[Tx]) {
		stored = t.commit(session, t.receiptBeside(holder, holder.Beside[0]))
	})
	if beside := waited.Beside(); len(beside) > 0 { // its snapshot may be late
		t.rollBack(waited)
		t.wantReceipts("Beside of the Begin that waited", beside, []receipt.Receipt{stored})
		return
	}
	t.wantRetryable(t.tryBeside(waiter, waited, besideCommit{given: receiptFor(t, waiter)}))
	t.wantBeside(rerunOf(waiter), stored)
}

func checkBesideReceipts[Tx any](t *trial[Tx]) {
	for _, spoil := range []func(claim receipt.Claim, c *besideCommit){
		func(_ receipt.Claim, c *besideCommit) { c.added[1].Key = newKey() },
		func(_ receipt.Claim, c *besideCommit) { c.added[1].Key.Tenant = "another" },
		func(_ receipt.Claim, c *besideCommit) { c.added[1].Revision = 1 },
		func(_ receipt.Claim, c *besideCommit) { c.added[1].Attempt = receipt.NewID() },
		func(_ receipt.Claim, c *besideCommit) { c.added[1].Outcome = "Not A Kind" },
		func(_ receipt.Claim, c *besideCommit) { c.added[1] = c.added[0] },
		func(_ receipt.Claim, c *besideCommit) { c.given = c.added[1] },
		func(claim receipt.Claim, c *besideCommit) { c.given.Revision = claim.Revision + 1 },
		func(_ receipt.Claim, c *besideCommit) { c.given = receipt.Receipt{} },
	} {
		claim := claimBeside(2)
		commit := besideCommit{receiptFor(t, claim), []receipt.Receipt{
			t.receiptBeside(claim, claim.Beside[0]), t.receiptBeside(claim, claim.Beside[1]),
		}}
		spoil(claim, &commit)
		_ = t.tryBeside(claim, t.begin(claim), commit)
		for _, r := range append(commit.added, commit.given) {
			if r.Key.Validate() == nil {
				t.wantHistory(r.Key)
			}
		}
	}
}

func checkBesideClaim[Tx any](t *trial[Tx]) {
	for name, spoil := range map[string]func(*receipt.Claim){
		"an invalid key":       func(c *receipt.Claim) { c.Beside[1].ID = "" },
		"a doubled key":        func(c *receipt.Claim) { c.Beside[1] = c.Beside[0] },
		"its own key":          func(c *receipt.Claim) { c.Beside[1] = c.Key },
		"another tenant's key": func(c *receipt.Claim) { c.Beside[1].Tenant = "another" },
		"too many keys":        func(c *receipt.Claim) { c.Beside = append(c.Beside, newKey()) },
	} {
		claim := claimBeside(receipt.MaxBeside)
		spoil(&claim)
		if _, err := t.tryBegin(claim); err == nil {
			t.Errorf("Begin with %s beside = nil; want an error", name)
		}
		t.rollBack(t.beginFree(claimOn(claim.Key)))
	}
	t.wantBeside(claimBeside(receipt.MaxBeside))
}

func checkBesideUnlocked[Tx any](t *trial[Tx]) {
	first, second := claimBeside(1), claimBeside(1)
	second.Beside[0] = first.Beside[0]
	sessions := []receipt.Session[Tx]{t.beginFree(first), t.beginFree(second), t.beginFree(claimOn(first.Beside[0]))}
	for _, session := range sessions {
		t.rollBack(session)
	}
}
