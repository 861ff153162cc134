package receipttest

// World is the in-memory data that callbacks change, in place of a database.
// Tx is its transaction: what the callback gets, usually the caller's own unit
// of work over maps. [Memory] is a ready-made World.
//
// A [Fake] calls Begin, Commit and Rollback one at a time, and ends every Tx
// exactly once, by Commit or by Rollback. Callbacks on different keys use
// their transactions at the same time, so a World guards what they share. A
// World must not call the Fake.
type World[Tx any] interface {
	// Begin opens a transaction.
	Begin() Tx

	// Commit makes everything that was done through tx visible to others,
	// all at once. After an error nothing of tx may be left; one for which
	// errors.Is(err, [ErrSerialization]) is true makes the callback run
	// again.
	//
	// After Commit, whatever it returned, tx must refuse every use: that is
	// what the guard of a real store does (I2).
	Commit(tx Tx) error

	// Rollback leaves nothing of what was done through tx. After it tx must
	// refuse every use.
	Rollback(tx Tx)
}
