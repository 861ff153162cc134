package receipttest

import "github.com/settleonce/settleonce/receipt"

func endDemands[Tx any]() []demand[Tx] {
	return []demand[Tx]{
		{
			"rollback", "Rollback leaves neither receipt nor effect nor event, and frees the key (I2)",
			checkRollback[Tx],
		},
		{
			"rollback-cancelled", "Rollback under a context that has ended leaves nothing either, whatever it returns, and the key becomes free",
			checkRollbackCancelled[Tx],
		},
		{
			"look", "Begin with nothing done between it and Rollback changes nothing: that is how a commit of unknown outcome is resolved (I5)",
			checkLook[Tx],
		},
		{
			"after-commit", "after Commit the session commits nothing more, its transaction refuses everything (I2), and Rollback does nothing",
			checkAfterCommit[Tx],
		},
		{
			"after-failed-commit", "a Commit that failed has ended the session too",
			checkAfterFailedCommit[Tx],
		},
		{
			"after-rollback", "after Rollback the session commits nothing, its transaction refuses everything (I2), and a second Rollback does nothing",
			checkAfterRollback[Tx],
		},
	}
}

func checkRollback[Tx any](t *trial[Tx]) {
	claim, mark := claimOn(newKey()), receipt.NewID()
	session := t.begin(claim)
	t.write(session, mark)
	t.rollBack(session)
	t.rollBack(t.begin(claimOn(claim.Key)))
	t.wantHistory(claim.Key)
	t.wantWritten(mark, 0)
}

func checkRollbackCancelled[Tx any](t *trial[Tx]) {
	claim, mark := claimOn(newKey()), receipt.NewID()
	session := t.begin(claim)
	t.write(session, mark)
	_ = session.Rollback(t.cancelled()) // may say that the connection was given up
	t.rollBack(t.begin(claimOn(claim.Key)))
	t.wantHistory(claim.Key)
	t.wantWritten(mark, 0)
}

func checkLook[Tx any](t *trial[Tx]) {
	fresh, settled := claimOn(newKey()), claimOn(newKey())
	stored := t.commitFirst(settled)
	for range 2 {
		t.rollBack(t.begin(claimOn(fresh.Key)))
		t.rollBack(t.begin(claimOn(settled.Key)))
	}
	t.wantHistory(fresh.Key)
	t.wantHistory(settled.Key, stored)
}

func checkAfterCommit[Tx any](t *trial[Tx]) {
	claim, before := claimOn(newKey()), receipt.NewID()
	session := t.begin(claim)
	t.write(session, before)
	stored := t.commit(session, receiptFor(t, claim))
	t.wantEnded(session, claim)
	t.wantHistory(claim.Key, stored)
	t.wantWritten(before, 1)
}

func checkAfterFailedCommit[Tx any](t *trial[Tx]) {
	claim, before := claimOn(newKey()), receipt.NewID()
	session := t.begin(claim)
	t.write(session, before)
	_, err := session.Commit(t.patient(), receipt.Receipt{})
	t.wantNotCommitted(err)
	t.wantEnded(session, claim)
	t.wantHistory(claim.Key)
	t.wantWritten(before, 0)
}

func checkAfterRollback[Tx any](t *trial[Tx]) {
	claim, before := claimOn(newKey()), receipt.NewID()
	session := t.begin(claim)
	t.write(session, before)
	t.rollBack(session)
	t.wantEnded(session, claim)
	t.wantHistory(claim.Key)
	t.wantWritten(before, 0)
}

// wantEnded demands that nothing can be done through session any more.
func (t *trial[Tx]) wantEnded(session receipt.Session[Tx], claim receipt.Claim) {
	t.Helper()
	late, lateEvent := receipt.NewID(), eventFor(t, claim)
	if err := t.Write(t.patient(), session.Tx(), late); err == nil {
		t.Errorf("Write on a session that has ended = nil; want an error")
	}
	_, err := session.Commit(t.patient(), receiptFor(t, claim), lateEvent)
	t.wantNotCommitted(err)
	t.rollBack(session)
	t.wantWritten(late, 0)
	t.wantEmitted(lateEvent.ID, 0)
}
