// Package pgstore keeps receipts and events in PostgreSQL 13 to 18, through
// pgx, in the same transaction as the caller's side effects.
//
// # What it does not promise
//
// A commit that the server loses is lost here too: with fsync or
// synchronous_commit off, and in a failover to a standby that did not have it
// yet. [Store.Check] refuses the settings; nothing can see a failover coming.
// Receipts are never deleted by this package, and must outlive every sender
// that may still deliver their keys: an effect whose receipt is gone happens
// again.
//
// # What it promises
//
//   - The primary key of the table of receipts is the guard: no key has two
//     receipts of one revision, whatever the locks do (I1).
//   - The effects, the receipts and the events are in one transaction. It
//     commits only as the one that Begin opened (I2).
//   - Commit says "not committed" only where that is certain, and "outcome
//     unknown" everywhere else (I5). Begin on the same key then tells, on a
//     primary only, and only after the transaction in doubt has ended.
//   - The events of one ordering key get positions in the order of their
//     commits (I8).
//
// # A session
//
// Two network flushes, beside what the callback sends. Begin opens the
// transaction at READ COMMITTED or SERIALIZABLE, sets its timeouts, waits for
// the advisory lock of the key, looks at the clock and reads the key's receipts
// and the first ones of the keys beside. Commit runs the deferred statements,
// writes the receipts in the order of their keys, takes the advisory locks of
// the ordering keys in a fixed order, writes the events and commits. Each is
// one write to a warm connection in pgx's modes cache_statement,
// cache_describe and exec; a connection warms up once for each number of keys
// beside. Whatever fails in a flush makes pgx forget the statements in it, so
// the next two flushes cost a write more each.
//
// At READ COMMITTED a duplicate waits for the key and then sees its receipt.
// At SERIALIZABLE the snapshot is older than the wait: a duplicate may run its
// callback and then fail on the primary key or with a serialisation failure,
// both of which [Store.Retryable] knows.
//
// Keys beside have no lock. A transaction that writes a receipt which another
// has written and not committed yet waits for its end, for the lock timeout at
// most, and then fails on the primary key. At READ COMMITTED Beside is as of a
// moment after the wait for the claim's key. At SERIALIZABLE it is as of the
// snapshot; a transaction that waited for the claim's key, decided without a
// receipt beside that was committed meanwhile, and writes the claimed receipt
// fails with a serialisation failure.
//
// Connections must be in UTF-8 (client_encoding), as the texts of Go are.
//
// Everything that a session sets ends with its transaction, so it works behind
// a pooler in transaction mode. Behind PgBouncer use pgx's exec or
// cache_describe mode, or a version of PgBouncer that knows prepared
// statements.
//
// # The callback's transaction
//
// A callback gets a pgx.Tx that it cannot end: Commit and Rollback, and SQL
// that begins, ends or nests a transaction or sets its modes, return
// [receipt.ErrTransactionControl] before anything is sent, whether in Exec,
// Query, QueryRow, SendBatch, Prepare, or in what a pgx.QueryRewriter makes. So
// does a literal or comment without an end, which could hide them in a batch.
// Begin sets a savepoint, whose own Commit and Rollback work; what was
// deferred in it dies with its rollback. Once the callback has returned, the
// transaction and everything that was taken from it (savepoints, rows, batch
// results, large objects) return [pgx.ErrTxClosed], and Conn returns nil. A
// callback that leaves rows or batch results open is not committed.
//
// Conn gives the bare connection, on which nothing is refused. A transaction
// that was ended there is detected when the session ends: the error is
// [receipt.ErrTransactionEnded], effects may have been committed without a
// receipt, and nobody may retry. The mark that tells is the transaction-local
// setting settleonce.attempt; a callback that resets it is taken for one that
// ended the transaction. Where the connection ends up in another transaction
// that has failed, the server is asked what became of the first one, whose id
// the first call of Conn learns in a round trip of its own. A connection that is
// lost cannot be asked: a callback that commits on it and then loses it goes
// undetected.
//
// An error of a statement makes PostgreSQL refuse the rest of the transaction.
// A callback that swallows it is not committed, and Commit returns that error.
// Nor is one committed that goes on after a savepoint could not be ended, for
// instance because its context was done.
//
// The handles belong to the callback's goroutine, as a pgx.Tx does.
//
// # Clients that vanish
//
// Three settings, local to the transaction, free the key and the rows of a
// client that has gone: lock_timeout bounds each wait for a lock,
// idle_in_transaction_session_timeout the silence between two statements, and
// from PostgreSQL 14 on client_connection_check_interval the time for which a
// running statement outlives its client.
//
// # Fences
//
// A [Fence] keeps apart the bets on a market and its suspension. Unlike row
// locks it queues: no bet that comes after the suspension is granted before it.
// At READ COMMITTED it suffices. At SERIALIZABLE a bet must also read the
// market's row FOR SHARE, or it may go on under the state from before its wait.
//
// # Events
//
// [Events] hands the committed events to a relay, and shares them among as many
// relay processes as there are. It looks at positions and at which transactions
// are open, and keeps no watermark: a transaction that stays open anywhere hides
// no event of another, and a gap in the positions means nothing.
//
// # Tables
//
// [Migrate] creates them in a schema of the caller's choice; [Migrations]
// exports the same files for other tools. The comments in the database say
// what each column is for. Advisory locks are 64 bits of the SHA-256 over a
// domain, the schema and the key; the domain keeps keys and ordering keys
// apart. Processes of all releases agree on them.
package pgstore
