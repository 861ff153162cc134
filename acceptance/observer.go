package acceptance

import (
	"context"
	"time"
)

// Observer hears of every answer of a runner, on the goroutine that gives it,
// so it should be quick. It gets no payload, no key and no player.
type Observer interface {
	// Observe is called once an answer, before it is given. What it panics
	// with is logged, and changes nothing of the answer. A call that a
	// callback's panic ends has no answer.
	Observe(ctx context.Context, o Observation)
}

// Observation is what one call cost and came to.
type Observation struct {
	// Tenant is the command's.
	Tenant string
	// Verdict and Code are the decision's. Verdict is empty where the call
	// failed.
	Verdict Verdict
	Code    Code
	// Replayed says that the decision is that of another call.
	Replayed bool
	// Err is the kind of what the call returned, for counting: one of the
	// errors that [Runner.Accept] and [Runner.Resolve] name, of this package
	// and of package receipt, [context.Canceled] or
	// [context.DeadlineExceeded]. Any other is told only as an error. The text
	// and the details of what was returned, which can hold a payload, are
	// kept out. Nil: the call succeeded.
	Err error
	// Total is the whole call.
	Total time.Duration
	// Risk is the time in Assess, all calls together.
	Risk time.Duration
	// GateWait is the wait for the wallet's turn in this process, KeyWait
	// that for a connection and the command's key in the store, also where
	// another process decided the command meanwhile, WalletWait the time in
	// LockWallet, QuoteWait the time in Quote, each over all attempts. The
	// wait for the same command in this process is in Total alone.
	GateWait   time.Duration
	KeyWait    time.Duration
	WalletWait time.Duration
	QuoteWait  time.Duration
	// Attempts counts the runs of the transaction, zero for a replay that was
	// found before.
	Attempts int
}
