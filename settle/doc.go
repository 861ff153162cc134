// Package settle runs the side effects of a terminal fact (a match ended, a
// bet won, a room voided) and commits them together with the receipt of the
// fact's idempotency key, once.
//
//	result, err := settle.Do(ctx, runner, settle.Request{Key: key, Kind: settle.Settled, Fingerprint: sum},
//		func(ctx context.Context, a *settle.Attempt[pgx.Tx]) (MatchID, error) {
//			// statements on a.Tx(), a.Emit(event), a.AfterCommit(hook)
//		})
//
// # What it promises
//
//   - A key has at most one first receipt. The same request gets it again,
//     byte for byte, whoever sends it, whenever, and to whichever process. The
//     same key with another kind or fingerprint is a [receipt.ConflictError]
//     and changes nothing.
//   - Receipt, events and side effects commit together or not at all, also
//     when the callback fails, panics, ends its goroutine or is cancelled.
//   - A commit whose answer was lost is resolved before [Do] returns, or
//     reported as [receipt.ErrOutcomeUnknown], never guessed.
//
// # What it does not promise
//
//   - The callback may run more than once: after a serialisation failure or a
//     deadlock, and after a commit that is known to have failed. It must touch
//     the transaction and nothing else. What belongs outside is an event, or
//     runs after the commit.
//   - A hook given to [Attempt.AfterCommit] runs at most once a commit, and a
//     crash between the commit and the hook loses it. What must happen even
//     then belongs in Config.OnReceipt, which replays run too.
//   - The key must never be used for a second fact. [receipt.NewID] makes ids
//     that cannot come twice; a serial that starts again with a new database
//     does, and its second fact would be taken for a duplicate.
//   - A transaction that commits and is then lost by the server (failover to
//     an asynchronous standby, fsync off) is outside the promise.
package settle
