package pgfault

import "slices"

// spring applies a trap's fault at the COMMIT that rest begins with. The
// messages before it in its pipeline are forwarded in any case.
func (l *link) spring(trap *Trap, before, rest []message) {
	report := Report{Fault: trap.fault, Outcome: NoAnswer}
	switch trap.fault {
	case CommitNotForwarded, CommitHeld:
		l.hiding.Store(true)
		_ = l.forward(before) // where it fails, the server has gone by itself
	case AnswerLost:
		l.hiding.Store(true)
		report.fill(l.forwardCommit(slices.Concat(before, rest)))
	case CompletionDropped:
		report.fill(l.forwardCommit(slices.Concat(before, rest)))
	}
	l.cutClient()
	close(trap.sprung)
	if trap.fault == CommitHeld {
		select {
		case <-trap.released:
			report.fill(l.forwardCommit(rest))
		case <-l.proxy.closing:
		}
	}
	l.cut()
	trap.finish(report, nil)
}

func (r *Report) fill(v verdict, forwarded bool) {
	r.Forwarded = forwarded
	r.Outcome, r.SQLState, r.Returned = v.outcome, v.sqlState, v.returned
}
