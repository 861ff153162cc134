// Package sabotage takes guards out of a protocol, so that one can see what they
// were there for: the audit of the drill then finds a figure above zero.
package sabotage

import (
	"errors"
	"flag"
	"fmt"
	"io"
)

// Sabotage takes one guard out.
type Sabotage struct {
	// Name is what the flag is called.
	Name string
	// What it does.
	What string
	// Figure is the audit's figure that must be above zero.
	Figure string
}

// SkipReceipt is the name of the sabotage of [WithoutReceipts].
const SkipReceipt = "skip-receipt"

// Flags adds a flag for each sabotage to a program's flags. Call chosen once they
// have been parsed: it returns the name of the one that is asked for, if one is.
func Flags(set *flag.FlagSet, sabotages []Sabotage) (chosen func() (name string, err error)) {
	asked := make(map[string]*bool)
	for _, s := range sabotages {
		asked[s.Name] = set.Bool(s.Name, false, fmt.Sprintf("sabotage: %s; the audit's %q must then be above zero", s.What, s.Figure))
	}
	return func() (name string, err error) {
		for _, s := range sabotages {
			if !*asked[s.Name] {
				continue
			}
			if name != "" {
				return "", errors.New("one sabotage at a time")
			}
			name = s.Name
		}
		return name, nil
	}
}

// WriteExpected writes what the sabotage of that name must have done to the
// audit. Of no name that is nothing.
func WriteExpected(out io.Writer, sabotages []Sabotage, name string) {
	for _, s := range sabotages {
		if s.Name == name {
			fmt.Fprintf(out, "sabotage: %s; %q must be above zero\n", s.What, s.Figure)
		}
	}
}
