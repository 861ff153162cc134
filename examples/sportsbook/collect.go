package main

import (
	"context"
	"errors"
	"time"

	"github.com/settleonce/settleonce/examples/sportsbook/audit"
	"github.com/settleonce/settleonce/examples/sportsbook/bet"
	"github.com/settleonce/settleonce/examples/sportsbook/faults"
	"github.com/settleonce/settleonce/examples/sportsbook/punter"
)

// collect gathers the facts. The API processes go on until their books have been
// read, since one in memory takes them along.
func (d *drill) collect(ctx context.Context) (audit.Facts, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := d.observeCutsInMemory(ctx); err != nil {
		return audit.Facts{}, err
	}
	facts := audit.Facts{Tenant: tenant, Suspensions: d.suspensions}
	var err error
	if facts.Tables, err = d.books.tables(ctx); err != nil {
		return audit.Facts{}, err
	}
	if facts.Receipts, err = d.books.Receipts(ctx); err != nil {
		return audit.Facts{}, err
	}
	if facts.Events, err = d.books.Events(ctx); err != nil {
		return audit.Facts{}, err
	}
	if err := d.delivery.collect(ctx, &facts); err != nil {
		return audit.Facts{}, err
	}
	return facts, d.readNotes(&facts)
}

// readNotes reads what clients sent and were told.
func (d *drill) readNotes(facts *audit.Facts) error {
	notes, err := punter.ReadNotes(d.directory.notes())
	if err != nil {
		return err
	}
	seen := make(map[bet.Reference]bool)
	for _, note := range notes {
		if note.Sent != nil && !seen[note.Reference] {
			seen[note.Reference] = true
			facts.Sent = append(facts.Sent, note.Reference)
		}
		if note.Told == nil {
			continue
		}
		answer, err := answerOf(note)
		if err != nil {
			return err
		}
		facts.Answers = append(facts.Answers, answer)
	}
	return nil
}

// answerOf returns what a client was told of which command.
func answerOf(note punter.Note) (audit.Answer, error) {
	read, _ := note.Told.Decision()
	answer := audit.Answer{
		Reference: note.Reference, Verdict: read.Verdict, Decision: read.Decision, Conflict: note.Told.Conflict(),
	}
	if note.Sent != nil {
		command, err := note.Command(tenant)
		if err != nil {
			return audit.Answer{}, err
		}
		answer.Sent = &command
	}
	if read.Receipt != nil {
		answer.Attempt, answer.Fingerprint = read.Receipt.Attempt, read.Receipt.Fingerprint
	}
	if read.Verdict == "" && !answer.Conflict && !note.Told.Passing() {
		answer.Refusal = string(note.Told.Body)
	}
	return answer, nil
}

// observeCutsInMemory observes the commits that the fake has broken.
func (d *drill) observeCutsInMemory(ctx context.Context) error {
	memory, inMemory := d.books.(memoryOfAPI)
	if !inMemory || !d.options.Arms(faults.CommitCut) {
		return nil
	}
	cuts, err := memory.cuts(ctx)
	for i := range cuts {
		err = errors.Join(err, d.ledger.Observe(faults.CommitCut, "the fake broke a commit, no. %d", i+1))
	}
	return err
}
