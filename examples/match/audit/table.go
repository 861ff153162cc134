package audit

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"

	"github.com/settleonce/settleonce/examples/match/faults"
	"github.com/settleonce/settleonce/examples/match/lobby"
)

// Write writes the report as a table for people.
func (r *Report) Write(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(name string, value any, note string) { fmt.Fprintf(table, "  %s\t%v\t%s\n", name, value, note) }
	fmt.Fprintf(table, "audit of %s, from journal, tables and files\n", r.Store)
	row("matches", r.Matches, "finished by the battle node")
	row("deliveries", r.Deliveries, fmt.Sprintf("arrived at a lobby; %d of them got the receipt of an earlier one", r.Replays))
	row("settled", r.Settled, fmt.Sprintf("%d of them suspect, %d draws", r.Suspect, r.Draws))
	row("aborted", r.Aborted, "the players' reports decided nothing")
	row("replay missing", r.ReplayMissing, "matches that went without their replay file")
	row("released early", r.ReleasedEarly, fmt.Sprintf("rooms; %d rated by the compensation rule below", r.Compensated))
	row("quarantined", r.Quarantined, fmt.Sprintf("files set aside, with their reasons; %d contradict a receipt", r.Conflicts))
	row("rating sum", r.Sums.After, fmt.Sprintf("was %d, all changes add up to %d", r.Sums.Before, r.Sums.Changes))
	row("longest dwell", r.LongestDwell, "that a room stayed finished, on the game's clock")
	row("lost", r.Lost, "matches without their receipt or an effect")
	row("doubled", r.Doubled, "effects that happened more often than once")
	row("outbox left", r.OutboxLeft, "results still owed")
	row("seconds", fmt.Sprintf("%.1f", r.Seconds), "")
	if len(r.Faults) > 0 {
		fmt.Fprintf(table, "faults observed\n")
	}
	for _, name := range slices.Sorted(maps.Keys(r.Faults)) {
		note := faults.Catalogue().Effect(faults.Name(name))
		if r.Faults[name] == 0 {
			note = "MISSING: requested, and its effect was not observed"
		}
		row(name, r.Faults[name], note)
	}
	if r.ReleasedEarly > 0 {
		fmt.Fprintf(table, "compensation rule\n  %s\n", lobby.CompensationRule)
	}
	for i, problem := range r.Problems {
		if i == 0 {
			fmt.Fprintf(table, "problems\n")
		}
		fmt.Fprintf(table, "  %s\n", problem)
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	return nil
}
