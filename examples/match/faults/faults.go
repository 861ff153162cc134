// Package faults breaks what lies between the battle node and a receipt, in
// named ways, and takes note of what it saw come of it.
//
// A fault counts when its effect was observed, not when it was ordered: the
// receipt is in the store and the answer did not arrive, the process was reaped
// with signal 9, the sender came again. What was observed goes to a [Ledger], a
// file, with the evidence.
package faults

import (
	"fmt"
	"slices"
	"strings"
)

// Name names a fault.
type Name string

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

// Names returns all faults.
func Names() []Name {
	return []Name{
		LostAnswer, CommitCut, Unavailable, BareOK, BareNotFound, KillLobby, KillBattle,
		DuplicateStorm, LateAbort, UnknownRoom, PoisonFile, ReplayUnwritable, EarlyRelease,
	}
}

// Effect says what counts as the fault's effect: what has to be seen.
func (n Name) Effect() string {
	switch n {
	case LostAnswer:
		return "the receipt is in the store, and the sender came again"
	case CommitCut:
		return "a connection was cut at COMMIT, and the lobby had no answer to it"
	case Unavailable, BareOK, BareNotFound:
		return "the sender took no proof from it, and came again"
	case KillLobby:
		return "reaped with signal 9; the receipt is in the store, and no answer came"
	case KillBattle:
		return "reaped with signal 9, with results on disk"
	case DuplicateStorm:
		return "two lobbies gave one and the same receipt"
	case LateAbort:
		return "set aside, and the receipt stands"
	case UnknownRoom:
		return "set aside, and there is no receipt"
	case PoisonFile:
		return "set aside, and held up nothing"
	case ReplayUnwritable:
		return "settled without a replay"
	case EarlyRelease:
		return "players came free, and there was no receipt"
	default:
		return ""
	}
}

// NeedsDatabase reports whether the fault takes a database that outlives a
// process and that two lobbies share.
func (n Name) NeedsDatabase() bool { return n == KillLobby || n == DuplicateStorm }

// Parse reads "all", "none", or names between commas, each at most once.
func Parse(text string) ([]Name, error) {
	switch text {
	case "all":
		return Names(), nil
	case "none":
		return nil, nil
	}
	var names []Name
	for part := range strings.SplitSeq(text, ",") {
		name := Name(strings.TrimSpace(part))
		if !slices.Contains(Names(), name) {
			return nil, fmt.Errorf("faults: %q is not a fault; there are %v", name, Names())
		}
		if slices.Contains(names, name) {
			return nil, fmt.Errorf("faults: %q is named twice", name)
		}
		names = append(names, name)
	}
	return names, nil
}
