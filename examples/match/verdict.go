package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/settleonce/settleonce/examples/drill/course"
	"github.com/settleonce/settleonce/examples/drill/fault"
	"github.com/settleonce/settleonce/examples/drill/sabotage"
	"github.com/settleonce/settleonce/examples/match/audit"
	"github.com/settleonce/settleonce/examples/match/faults"
)

// judge audits the facts and prints what came of it.
func (d *drill) judge(facts audit.Facts) (inOrder bool, err error) {
	report := audit.Judge(facts)
	report.Store = "memory"
	if d.database != nil {
		report.Store = "postgresql"
	}
	observations, err := fault.ReadLedger(d.directory.ledger())
	if err != nil {
		return false, err
	}
	var missing []string
	report.Faults, missing = d.options.Tally(observations)
	report.Seconds = float64(time.Since(d.started).Milliseconds()) / 1000
	inOrder = report.InOrder() && len(missing) == 0 && !d.cutShort
	return inOrder, d.print(&report, missing, inOrder)
}

func (d *drill) print(report *audit.Report, missing []string, inOrder bool) error {
	if !d.options.json {
		if err := report.Write(d.out); err != nil {
			return err
		}
	}
	if d.options.json && len(report.Problems) > 0 {
		fmt.Fprintln(os.Stderr, strings.Join(report.Problems, "\n"))
	}
	if d.cutShort {
		fmt.Fprintln(os.Stderr, course.ErrLimit)
	}
	if len(missing) > 0 {
		fmt.Fprintf(os.Stderr, "requested and not observed: %s\n", strings.Join(missing, ", "))
	}
	if d.options.json {
		line, err := report.Figures.Line()
		if err != nil {
			return err
		}
		fmt.Fprintln(d.out, line)
		return nil
	}
	sabotage.WriteExpected(d.out, faults.Sabotages(), d.options.sabotage)
	if inOrder {
		fmt.Fprintln(d.out, "in order: nothing lost, nothing doubled, every requested fault observed")
	} else {
		fmt.Fprintln(d.out, "NOT in order")
	}
	return nil
}
