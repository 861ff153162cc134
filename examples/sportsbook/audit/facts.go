// Package audit compares what clients sent and were told with what is kept:
// receipts, bets, holds, the journal, wallets, markets, events, and what a consumer
// made of those. It trusts no counter that a process held in memory, and computes
// every sum itself.
package audit

import (
	"time"

	"github.com/settleonce/settleonce/acceptance"
	"github.com/settleonce/settleonce/fingerprint"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/receipt"

	"github.com/settleonce/settleonce/examples/sportsbook/bet"
	"github.com/settleonce/settleonce/examples/sportsbook/house"
	"github.com/settleonce/settleonce/examples/sportsbook/projection"
)

// Facts is everything that the audit judges.
type Facts struct {
	// Tenant is the house's name in keys.
	Tenant string
	// Sent are the commands that clients sent, each once.
	Sent []bet.Reference
	// Answers are what clients were told of them, in the order in which they
	// took note of it.
	Answers []Answer
	// Receipts are all that the store has.
	Receipts []receipt.Receipt
	// Events are those that the outbox still has to deliver. Where there is no
	// projection, nobody delivers them, and they are all that were committed.
	Events []event.Event
	// DeadLetters are those that the outbox has set aside.
	DeadLetters []event.Event
	// Projection is what a consumer has made of the events that were
	// delivered. Nil: there is none.
	Projection *Projection
	// Tables are the house's.
	Tables house.Tables
	// Suspensions are the times in which nobody could bet on a market.
	Suspensions []Suspension
}

// Projection is a consumer's tables and receipts.
type Projection struct {
	projection.Tables
	// Receipts are all that its own store has.
	Receipts []receipt.Receipt
}

// Answer is what one delivery of a command was answered with.
type Answer struct {
	bet.Reference
	// Sent is the command that was delivered, as its client noted it down
	// before. Nil: somebody else was told, such as the trader who decided.
	Sent *acceptance.Command
	// Verdict is what the answer said came of the command. Empty: it said
	// nothing, and was a conflict or a failure.
	Verdict acceptance.Verdict
	// Decision is the stored decision that the answer carried, byte for byte.
	// Nil where there is no Verdict.
	Decision []byte
	// Attempt and Fingerprint are those of the receipt that the answer names.
	// Zero where there is no Verdict.
	Attempt     string
	Fingerprint fingerprint.Digest
	// Conflict says that the answer called the request a conflict with an
	// earlier one.
	Conflict bool
	// Refusal is what else the answer had against the command, for good.
	// Empty: nothing.
	Refusal string
}

// Suspension is a time in which a market was suspended. Both ends are the
// store's clock, read after the market had been suspended and before it was
// opened again, so that no bet may have been recorded between them, ends
// included.
type Suspension struct {
	Market   string
	From, To time.Time
}
