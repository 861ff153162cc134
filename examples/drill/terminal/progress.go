// Package terminal shows people how far a drill is.
package terminal

import (
	"fmt"
	"os"
)

// Progress is the line on a terminal that tells how far the run is. On anything
// else it is silent.
type Progress struct{ shown bool }

// NewProgress returns the line on standard error.
func NewProgress() *Progress {
	info, err := os.Stderr.Stat()
	return &Progress{shown: err == nil && info.Mode()&os.ModeCharDevice != 0}
}

// Show replaces the line.
func (p *Progress) Show(format string, args ...any) {
	if p.shown {
		fmt.Fprintf(os.Stderr, "\r\x1b[K"+format, args...)
	}
}

// End clears the line.
func (p *Progress) End() {
	if p.shown {
		fmt.Fprint(os.Stderr, "\r\x1b[K")
	}
}
