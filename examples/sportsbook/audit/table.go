package audit

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"

	"github.com/settleonce/settleonce/examples/drill/fault"
	"github.com/settleonce/settleonce/examples/sportsbook/wallet"
)

// Write writes the report as a table for people. The catalogue says what was to
// be seen of each fault.
func (r *Report) Write(w io.Writer, catalogue fault.Catalogue) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(name string, value any, note string) { fmt.Fprintf(table, "  %s\t%v\t%s\n", name, value, note) }
	fmt.Fprintf(table, "audit of %s, from tables, receipts and what clients sent and were told\n", r.Store)
	row("requests", r.Requests, "commands sent, each until it had a final answer")
	row("accepted", r.Accepted, fmt.Sprintf("bets; %d of them while their market was suspended", r.Late))
	row("rejected", r.Rejected, "with a code that stays")
	row("requoted", r.Requoted, "other odds were offered")
	row("pending", r.Pending, "went to a trader before they were decided")
	row("replays", r.Replays, "answers told again, byte for byte")
	row("conflicts", r.Conflicts, "contradictions refused")
	row("settled", r.Settled, fmt.Sprintf("bets; %d are open still", r.Open))
	row("voided", r.Voided, "bets; the stake went back")
	row("events", r.Events, "committed with what they tell of")
	row("published", r.Published, "of them have left the outbox")
	row("projected", r.Projected, "have been taken by the projection, by its receipts")
	for _, currency := range slices.Sorted(maps.Keys(r.Sums)) {
		sums := r.Sums[currency]
		row("journal "+currency, sums[wallet.Outside].Add(sums[wallet.House]).Add(sums[wallet.Available]).Add(sums[wallet.Held]),
			fmt.Sprintf("outside %v, house %v, available %v, held %v", sums[wallet.Outside], sums[wallet.House], sums[wallet.Available], sums[wallet.Held]))
	}
	row("lost", r.Lost, "answers or effects that are not there, or not what was sent")
	row("doubled", r.Doubled, "effects that happened more often than once, or without a receipt")
	row("unbalanced", r.Unbalanced, "sums that are wrong")
	row("seconds", fmt.Sprintf("%.1f", r.Seconds), "")
	if len(r.Faults) > 0 {
		fmt.Fprintf(table, "faults observed\n")
	}
	for _, name := range slices.Sorted(maps.Keys(r.Faults)) {
		note := catalogue.Effect(fault.Name(name))
		if r.Faults[name] == 0 {
			note = "MISSING: requested, and its effect was not observed"
		}
		row(name, r.Faults[name], note)
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
