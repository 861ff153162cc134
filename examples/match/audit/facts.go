// Package audit compares what the battle node's journal says has happened with
// what is kept: receipts, tables, events, rating sums and files. It trusts no
// counter that a process held in memory.
package audit

import (
	"time"

	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/receipt"

	"github.com/settleonce/settleonce/examples/match/lobby"
	"github.com/settleonce/settleonce/examples/match/result"
)

// Facts is everything that the audit judges.
type Facts struct {
	// Finished are the results that the battle node's journal says it owes,
	// one a match.
	Finished []result.Result
	// Dwelt is how long each room stayed Finished, from the same journal.
	Dwelt []time.Duration
	// Owed are the rooms whose records are in the outbox still.
	Owed []string
	// SetAside are the files that the outbox has set aside.
	SetAside []SetAside
	// Receipts are those of the rooms in Finished, Owed and SetAside, and of
	// the ones that the tables name.
	Receipts []receipt.Receipt
	// Tables are the lobby's.
	Tables lobby.Tables
	// Deliveries are the logs of all lobbies.
	Deliveries []lobby.Delivery
	// ReplayFiles are the paths of the replay files that exist.
	ReplayFiles []string
}

// SetAside is a file that the outbox has set aside.
type SetAside struct {
	File   string
	Reason string
	// Event is what the file holds; nil where it is no event.
	Event *event.Event
}
