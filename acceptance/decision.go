package acceptance

import (
	"time"

	"github.com/settleonce/settleonce/receipt"
)

// Verdict is what came of a command. It is the outcome kind of its receipt.
type Verdict = receipt.Kind

// The verdicts.
const (
	// Accepted: the bet stands.
	Accepted Verdict = "accepted"
	// Rejected: there is no bet, and there will be none under this ID.
	Rejected Verdict = "rejected"
	// Requoted: there is no bet; other odds are offered, to which a new
	// command may consent.
	Requoted Verdict = "requoted"
	// Pending: a trader decides later. The same command is then answered with
	// one of the other verdicts.
	Pending Verdict = "pending"
)

// Decision is the answer to a command.
type Decision[Bet any] struct {
	Verdict Verdict
	// Bet is what Place returned, where the verdict is [Accepted].
	Bet Bet
	// Code and Detail say why, where the verdict is [Rejected].
	Code   Code
	Detail string
	// Legs are the command's legs, each with the requested quote and the one
	// that was used or is offered. They stand in the order of the command that
	// was decided, which under [Config.UnorderedLegs] may not be that of the
	// one that is answered.
	Legs []DecidedLeg
	// Rules are the rules that had a say.
	Rules []RuleVersion
	// Evidence is the risk evidence. Nil where there was none.
	Evidence *EvidenceReference
	// Consents is the ID of the command whose requote this one consented to.
	Consents string
	// Successor is the ID of the command that consented to this requote. Only
	// Lookup and Chain fill it in. Empty: there is none yet.
	Successor string
	// ExpiresAt is when a pending decision turns into a rejection.
	ExpiresAt time.Time
	// Resolution is the trader's part in it. Nil where there was none.
	Resolution *Resolution

	// Receipt is the proof. Its Value holds everything above, byte for byte
	// the same at every replay. It is zero where the code is one of
	// [Config.Unreceipted]: then nothing was stored, and the same command
	// may be decided otherwise.
	Receipt receipt.Receipt
	// Replayed says that the decision is that of an earlier or a rival call.
	Replayed bool
}

// Stored reports whether the decision has a receipt. One that has none may be
// another the next time, see [Config.Unreceipted].
func (d *Decision[Bet]) Stored() bool { return !d.Receipt.Key.IsZero() }
