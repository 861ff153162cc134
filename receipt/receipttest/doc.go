// Package receipttest is for the tests of code that settles or accepts: an
// in-memory fake of a receipt store that misbehaves on demand, and the
// conformance suite that it and every real store pass.
//
// # The fake
//
// [New] returns a [Fake] over a [World], the in-memory data that callbacks
// change in place of a database: the caller's own, or [Memory]. Effects,
// receipts, those of keys beside too, and events commit together (I2), a key
// has one receipt a revision (I1), and sessions on one key take turns, as in a
// real store. A Commit that writes a key beside never waits for another that
// does: the first one wins.
//
// Faults come from a queue, written by hand or drawn from a seed by
// [Schedule]. The fake counts those that fired, so that a test can tell that
// what it wanted to happen did. Rows and locks of a database, its SQL and its
// deadlocks are not imitated: what depends on them needs a real one.
//
// The fake's only clocks are [Config].Now and the timers of lock timeouts.
// Inside a testing/synctest bubble both are the bubble's.
//
// # The suite
//
// [TestStore] demands of a store what receipt.Store and receipt.Session
// promise. Each of its cases prints, when it fails, the sentence that it
// stands for.
package receipttest
