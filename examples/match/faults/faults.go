// Package faults breaks what lies between the battle node and a receipt, in
// named ways, and takes note in a [fault.Ledger] of what it saw come of it.
package faults

import "github.com/settleonce/settleonce/examples/drill/fault"

// Name names a fault.
type Name = fault.Name

// The faults.
const (
	// LostAnswer: a proxy takes the lobby's receipt and hangs up on the
	// sender.
	LostAnswer Name = "lost-answer"
	// CommitCut: the connection to the database is cut at COMMIT.
	CommitCut Name = "commit-cut"
	// Unavailable: a proxy answers 503 by itself.
	Unavailable Name = "http-503"
	// BareOK: a proxy answers 200 by itself, which proves nothing.
	BareOK Name = "bare-200"
	// BareNotFound: a proxy answers 404 by itself, which refuses nothing.
	BareNotFound Name = "bare-404"
	// KillLobby: a lobby gets SIGKILL after its commit and before its
	// answer.
	KillLobby Name = "kill-lobby"
	// KillBattle: the battle node gets SIGKILL while it owes results.
	KillBattle Name = "kill-battle"
	// DuplicateStorm: one result reaches both lobbies many times at once.
	DuplicateStorm Name = "duplicate-storm"
	// LateAbort: the battle node reports a settled match as aborted.
	LateAbort Name = "late-abort"
	// UnknownRoom: the battle node reports a match of a room that nobody
	// opened.
	UnknownRoom Name = "unknown-room"
	// PoisonFile: the outbox holds files that are no records.
	PoisonFile Name = "poison-file"
	// ReplayUnwritable: some replay files cannot be written.
	ReplayUnwritable Name = "replay-unwritable"
	// EarlyRelease: settlements stay away for so long that an operator
	// releases players before theirs.
	EarlyRelease Name = "early-release"
)

// Catalogue returns all faults, each with what must be seen of it.
func Catalogue() fault.Catalogue {
	const came = "the sender took no proof from it, and came again"
	return fault.Catalogue{
		{Name: LostAnswer, Effect: "the receipt is in the store, and the sender came again"},
		{Name: CommitCut, Effect: "a connection was cut at COMMIT, and the lobby had no answer to it"},
		{Name: Unavailable, Effect: came},
		{Name: BareOK, Effect: came},
		{Name: BareNotFound, Effect: came},
		{Name: KillLobby, Effect: "reaped with signal 9; the receipt is in the store, and no answer came", NeedsDatabase: true},
		{Name: KillBattle, Effect: "reaped with signal 9, with results on disk"},
		{Name: DuplicateStorm, Effect: "two lobbies gave one and the same receipt", NeedsDatabase: true},
		{Name: LateAbort, Effect: "set aside, and the receipt stands"},
		{Name: UnknownRoom, Effect: "set aside, and there is no receipt"},
		{Name: PoisonFile, Effect: "set aside, and held up nothing"},
		{Name: ReplayUnwritable, Effect: "settled without a replay"},
		{Name: EarlyRelease, Effect: "players came free, and there was no receipt"},
	}
}
