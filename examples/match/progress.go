package main

import (
	"fmt"
	"os"
)

// progress is the line on a terminal that tells how far the run is. On anything
// else it is silent.
type progress struct {
	drill *drill
	shown bool
}

func (d *drill) newProgress() *progress {
	info, err := os.Stderr.Stat()
	return &progress{drill: d, shown: err == nil && info.Mode()&os.ModeCharDevice != 0}
}

func (p *progress) show(settled int) {
	if !p.shown {
		return
	}
	owed, err := p.drill.directory.left()
	if err != nil {
		return
	}
	fmt.Fprintf(os.Stderr, "\r\x1b[Ksettled %d of %d, outbox %d, faults observed %d of %d kinds",
		settled, p.drill.options.matches, owed, p.drill.ledger.Kinds(), len(p.drill.options.requested))
}

// end clears the line.
func (p *progress) end() {
	if p.shown {
		fmt.Fprint(os.Stderr, "\r\x1b[K")
	}
}
