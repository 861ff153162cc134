package fault

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"github.com/settleonce/settleonce/pgstore/pgfault"
)

// CutsConfig says which commits are cut. Every field must be set, Total apart.
type CutsConfig struct {
	// Proxy is the one that the commits come through.
	Proxy *pgfault.Proxy
	// Total is how many commits are cut. Zero: none.
	Total int
	// Span is how far the run's progress goes until half of it is over: the
	// cuts are spread over that half.
	Span int
	// Fault is the name under which a cut is observed, in Ledger.
	Fault  Name
	Ledger *Ledger
	Logger *slog.Logger
}

// Cuts has the connection to the database cut at COMMIT: before it, after it,
// and within its answer, by turns. Next is for one goroutine.
type Cuts struct {
	config  CutsConfig
	armed   int
	watches sync.WaitGroup
}

// NewCuts returns cuts of which none is armed.
func NewCuts(config CutsConfig) *Cuts { return &Cuts{config: config} }

// Next arms the next cut if the run has come far enough since the last one.
func (c *Cuts) Next(ctx context.Context, progress int) error {
	if c.armed == c.config.Total || progress*c.config.Total < c.armed*c.config.Span {
		return nil
	}
	kinds := []pgfault.Fault{pgfault.CommitNotForwarded, pgfault.AnswerLost, pgfault.CompletionDropped}
	trap, err := c.config.Proxy.Arm(kinds[c.armed%len(kinds)])
	if err != nil {
		return err
	}
	c.armed++
	until := context.WithoutCancel(ctx) // its proxy ends it at the latest
	c.watches.Go(func() { c.watch(until, trap) })
	return nil
}

// Wait waits until every cut that was armed has been watched. Close the proxy
// before, or a cut that no COMMIT has met is waited for still.
func (c *Cuts) Wait() { c.watches.Wait() }

// watch observes what became of one cut. It had its effect where the server did
// not get the COMMIT, or committed, and the client was not told.
func (c *Cuts) watch(ctx context.Context, trap *pgfault.Trap) {
	report, err := trap.Report(ctx)
	if errors.Is(err, pgfault.ErrNotSprung) {
		return
	}
	hidden := report.Forwarded && report.Outcome == pgfault.Committed
	if err == nil && (hidden || !report.Forwarded) {
		err = c.config.Ledger.Observe(c.config.Fault, "%s: COMMIT forwarded: %v, the server said %q, the client got %d bytes of its answer",
			report.Fault, report.Forwarded, report.Outcome, report.Returned)
	}
	if err != nil {
		c.config.Logger.Error("fault: a cut is not observed", "error", err)
	}
}
