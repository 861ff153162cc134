// Package faults breaks what lies between a player and a decision, and between
// that and whoever is told of it, in named ways, and takes note in a [fault.Ledger] of what it saw come of it.
package faults

import "github.com/settleonce/settleonce/examples/drill/fault"

// The faults.
const (
	// SameAgain: a client sends a decided command once more.
	SameAgain fault.Name = "same-again"
	// ChangedBody: a client sends a decided command's key with another
	// command.
	ChangedBody fault.Name = "changed-body"
	// LostAnswer: a proxy takes the API's decision and hangs up on the client.
	LostAnswer fault.Name = "lost-answer"
	// CommitCut: the connection to the database is cut at COMMIT.
	CommitCut fault.Name = "commit-cut"
	// PriceMove: the price moves between a try and the next one.
	PriceMove fault.Name = "price-move"
	// WalletRace: two bets that the wallet has money for one of reach both
	// API processes at once.
	WalletRace fault.Name = "wallet-race"
	// Suspension: a market is suspended while a bet on it is under way.
	Suspension fault.Name = "suspension"
	// ConsentRace: two commands consent to one requote at once.
	ConsentRace fault.Name = "consent-race"

	// EvidenceExpired, EvidenceForeign, EvidenceVersion and EvidenceFuture: the
	// risk service gives evidence that does not count.
	EvidenceExpired fault.Name = "evidence-expired"
	EvidenceForeign fault.Name = "evidence-foreign"
	EvidenceVersion fault.Name = "evidence-version"
	EvidenceFuture  fault.Name = "evidence-future"
	// RiskSlow and RiskDown: the risk service gives none.
	RiskSlow fault.Name = "risk-slow"
	RiskDown fault.Name = "risk-down"

	// ReferralLate: a trader decides long after the player was told to wait.
	ReferralLate fault.Name = "referral-late"
	// ReferralExpired: no trader decides.
	ReferralExpired fault.Name = "referral-expired"

	// KillAPI: an API process gets SIGKILL inside of the transaction, and after
	// the commit before it answers.
	KillAPI fault.Name = "kill-api"
	// Restart: the database is crashed and started again.
	Restart fault.Name = "database-restart"
	// CloseRace: one bet is settled and voided at once.
	CloseRace fault.Name = "close-race"

	// LostReceipt: a proxy takes the projection's receipt and hangs up on the
	// relay.
	LostReceipt fault.Name = "lost-receipt"
	// KillRelay: a relay gets SIGKILL in the middle of a delivery, after the
	// projection's commit.
	KillRelay fault.Name = "kill-relay"
	// StopRelay: a relay gets SIGSTOP in the middle of a delivery, and goes on
	// when its lease is long over.
	StopRelay fault.Name = "stop-relay"
	// KillProjection: the projection gets SIGKILL after its commit before it
	// answers, and before the commit.
	KillProjection fault.Name = "kill-projection"
	// ProjectionRefusal: the projection refuses an event for good.
	ProjectionRefusal fault.Name = "projection-refusal"
)

// BehindOutbox returns the faults that befall events which were committed.
func BehindOutbox() []fault.Name {
	return []fault.Name{LostReceipt, KillRelay, StopRelay, KillProjection, ProjectionRefusal}
}

// Catalogue returns all faults, each with what must be seen of it.
func Catalogue() fault.Catalogue {
	return fault.Catalogue{
		{Name: SameAgain, Effect: "the same decision came again, byte for byte"},
		{Name: ChangedBody, Effect: "it was refused as a conflict, and the receipt stands"},
		{Name: LostAnswer, Effect: "the receipt is in the store, and the client came again"},
		{Name: CommitCut, Effect: "a connection was cut at COMMIT, and the API had no answer to it"},
		{Name: PriceMove, Effect: "the odds were others by then, and the stored decision came again"},
		{Name: WalletRace, Effect: "two API processes decided: one accepted, one rejected for funds", NeedsDatabase: true},
		{Name: Suspension, Effect: "the bet was under way before the suspension, and was rejected for it"},
		{Name: ConsentRace, Effect: "one consent was taken, the other was a conflict that names it"},
		{Name: EvidenceExpired, Effect: "the service gave it, and the bet was rejected by that name"},
		{Name: EvidenceForeign, Effect: "the service gave it, and the bet was rejected by that name"},
		{Name: EvidenceVersion, Effect: "the service gave it, and the bet was rejected by that name"},
		{Name: EvidenceFuture, Effect: "the service gave it, and the bet was rejected by that name"},
		{Name: RiskSlow, Effect: "the API gave up on the service, and the bet was rejected"},
		{Name: RiskDown, Effect: "the service cut the connection, and the bet was rejected"},
		{Name: ReferralLate, Effect: "pending, pending again, and after the trader's word accepted"},
		{Name: ReferralExpired, Effect: "pending, and after its time rejected, the trader's word notwithstanding"},
		{Name: KillAPI, Effect: "reaped with signal 9; no answer came; the receipt is there after the commit, and not before", NeedsDatabase: true},
		{Name: Restart, Effect: "the server began anew, and a bet that failed meanwhile was decided after", NeedsDatabase: true},
		{Name: CloseRace, Effect: "one of the two closed the bet, the other was a conflict"},
		{Name: LostReceipt, Effect: "the event came again, got the same receipt, and was taken once", NeedsDatabase: true},
		{Name: KillRelay, Effect: "reaped with signal 9; the event came again, got the same receipt, and was taken once", NeedsDatabase: true},
		{Name: StopRelay, Effect: "the other relay took over and went on; what came late was a replay, and none but what was on its way", NeedsDatabase: true},
		{Name: KillProjection, Effect: "reaped with signal 9; the event came again and was taken once, whether or not it had been", NeedsDatabase: true},
		{Name: ProjectionRefusal, Effect: "a dead letter held back its own wallet alone; requeued, all came in order", NeedsDatabase: true},
	}
}
