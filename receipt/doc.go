// Package receipt defines the durable fact that a key has its final outcome,
// and the contract of the stores that keep it.
//
// A [Receipt] commits in the same transaction as the side effects that it
// stands for (I2). Whoever holds one knows that those effects happened and
// will not happen again.
//
// The runners in packages settle and acceptance do the work; this package
// holds what they, their callers and the stores share. Package pgstore is the
// store for PostgreSQL, package receipt/receipttest the fake for tests and the
// conformance suite for both.
package receipt
