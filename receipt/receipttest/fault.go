package receipttest

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// Fault is one way in which a store and the network before it misbehave, or a
// rival gets in between. A [Fake] takes faults from a queue: see
// [Config].Faults.
type Fault string

// Faults that a Begin meets.
const (
	// FailBegin: Begin fails with [ErrInjected], and nothing is open. After
	// a commit of unknown outcome, on the same key, it means "still
	// unknown".
	FailBegin Fault = "fail-begin"
	// SlowLock: Begin waits as if another held the key, until [Fake.Heal] or
	// its lock timeout, which is [receipt.ErrInFlight].
	SlowLock Fault = "slow-lock"
)

// Faults that a Commit meets. Each comment says what Commit returns, what has
// happened, and what the next Begin on the key finds. Receipts that were added
// share the fate of the one that was given to Commit. Where somebody else took
// the place of one while the transaction was in doubt, it rolls back.
const (
	// NoFault: this Commit succeeds. It holds a place in a schedule.
	NoFault Fault = "no-fault"
	// RerunCallback: [receipt.ErrNotCommitted] and [ErrSerialization], which
	// is retryable. Rolled back; nothing is found.
	RerunCallback Fault = "rerun-callback"
	// FailBeforeCommit: [receipt.ErrNotCommitted] and [ErrInjected], which is
	// not retryable. Rolled back; nothing is found.
	FailBeforeCommit Fault = "fail-before-commit"
	// LoseAnswer: [receipt.ErrOutcomeUnknown]. Committed already; this
	// attempt's receipt is found.
	LoseAnswer Fault = "lose-answer"
	// UnknownThenFound: [receipt.ErrOutcomeUnknown]. The transaction is
	// still open and holds the key: History shows nothing, until the next
	// Begin on the key waits for it. Then it commits, and this attempt's
	// receipt is found.
	UnknownThenFound Fault = "unknown-then-found"
	// UnknownThenNotFound: the same, but then the transaction rolls back.
	UnknownThenNotFound Fault = "unknown-then-not-found"
	// UnknownThenRival: the same, but then the transaction rolls back and a
	// rival's commits, whose receipt is found: see [Config].Rival.
	UnknownThenRival Fault = "unknown-then-rival"
	// UnknownUnresolved: the same, but every Begin on the key fails with
	// [ErrInjected], which means "still unknown", until [Fake.Heal]. The
	// transaction commits then.
	UnknownUnresolved Fault = "unknown-unresolved"
	// RivalFirst: [receipt.ErrNotCommitted] and [ErrDuplicate], which is
	// retryable. A rival that does not honour the key's lock committed
	// between Begin and Commit; its receipt is found: see [Config].Rival.
	RivalFirst Fault = "rival-first"
	// TransactionEnded: [receipt.ErrTransactionEnded]. The callback had
	// committed through the bare connection: its effects are there, without
	// receipt and events, and nothing is found.
	TransactionEnded Fault = "transaction-ended"
)

// Faults returns every fault there is, [NoFault] apart.
func Faults() []Fault {
	return append(passingFaults(), SlowLock, UnknownUnresolved, TransactionEnded)
}

// passingFaults returns those that end by themselves and break no promise.
func passingFaults() []Fault {
	return []Fault{
		FailBegin, RerunCallback, FailBeforeCommit, LoseAnswer,
		UnknownThenFound, UnknownThenNotFound, UnknownThenRival, RivalFirst,
	}
}

// Schedule returns length faults for [Config].Faults, half of them [NoFault]
// on average, the others drawn from among. With no among it draws from all
// that a sender who simply sends again gets over: not [SlowLock] and
// [UnknownUnresolved], which wait for [Fake.Heal], and not
// [TransactionEnded].
//
// The same arguments give the same schedule in every build of one release of
// this module. Print the seed, or the schedule itself, when a test fails.
func Schedule(seed uint64, length int, among ...Fault) []Fault {
	if len(among) == 0 {
		among = passingFaults()
	}
	random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // A schedule must be repeatable, not secret.
	schedule := make([]Fault, length)
	for i := range schedule {
		schedule[i] = NoFault
		if random.IntN(2) == 0 {
			schedule[i] = among[random.IntN(len(among))]
		}
	}
	return schedule
}

// point is the call that takes a fault.
type point int

const (
	beginFault point = iota
	commitFault
)

func (f Fault) point() point {
	if f == FailBegin || f == SlowLock {
		return beginFault
	}
	return commitFault
}

func (f Fault) validate() error {
	if f == NoFault || slices.Contains(Faults(), f) {
		return nil
	}
	return fmt.Errorf("receipttest: fault %q is not one of the declared ones", string(f))
}

// faultQueue hands out faults in order and counts those that fired.
type faultQueue struct {
	queued []Fault
	fired  map[Fault]int
}

// none is what head returns where the queue has nothing for the call.
const none Fault = ""

// head returns the fault that a call meets now, and leaves it in the queue.
func (q *faultQueue) head(call point) Fault {
	if len(q.queued) == 0 || q.queued[0].point() != call {
		return none
	}
	return q.queued[0]
}

// fire takes the fault that head returned.
func (q *faultQueue) fire(fault Fault) {
	if fault == none {
		return
	}
	q.queued = q.queued[1:]
	q.fired[fault]++
}
