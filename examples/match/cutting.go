package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/settleonce/settleonce/pgstore/pgfault"

	"github.com/settleonce/settleonce/examples/match/faults"
)

// cuts is how many commits are cut.
func (d *drill) cuts() int { return max(3, d.options.matches/20) }

// cutting spreads the cuts over the run.
type cutting struct {
	drill *drill
	armed int
	total int
}

func (d *drill) newCutting() *cutting {
	c := &cutting{drill: d}
	if d.cutter != nil && d.options.arms(faults.CommitCut) {
		c.total = d.cuts()
	}
	return c
}

// next arms the next cut if enough matches have been settled since the last
// one.
func (c *cutting) next(ctx context.Context, settled int) error {
	if c.armed == c.total || settled*c.total < c.armed*c.drill.options.matches/2 {
		return nil
	}
	kinds := []pgfault.Fault{pgfault.CommitNotForwarded, pgfault.AnswerLost, pgfault.CompletionDropped}
	trap, err := c.drill.cutter.Arm(kinds[c.armed%len(kinds)])
	if err != nil {
		return err
	}
	c.armed++
	until := context.WithoutCancel(ctx) // its proxy ends it at the latest
	c.drill.background.Go(func() { c.drill.watchTrap(until, trap) })
	return nil
}

// watchTrap observes what became of one cut. It had its effect where the server
// did not get the COMMIT, or committed, and the lobby was not told.
func (d *drill) watchTrap(ctx context.Context, trap *pgfault.Trap) {
	report, err := trap.Report(ctx)
	if errors.Is(err, pgfault.ErrNotSprung) {
		return
	}
	hidden := report.Forwarded && report.Outcome == pgfault.Committed
	if err == nil && (hidden || !report.Forwarded) {
		err = d.ledger.Observe(faults.CommitCut, "%s: COMMIT forwarded: %v, the server said %q, the lobby got %d bytes of its answer",
			report.Fault, report.Forwarded, report.Outcome, report.Returned)
	}
	if err != nil {
		d.logger.Error("drill: a cut is not observed", "error", fmt.Sprint(err))
	}
}
