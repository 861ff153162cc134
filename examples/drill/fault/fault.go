// Package fault names what a drill breaks, says which faults a run asks for,
// and takes note of what was seen come of them.
//
// A fault counts when its effect was observed, not when it was ordered: the
// receipt is in the store and the answer did not arrive, the process was reaped
// with signal 9, the sender came again. What was observed goes to a [Ledger], a
// file, with the evidence.
package fault

import (
	"fmt"
	"slices"
	"strings"
)

// Name names a fault.
type Name string

// Fault is an entry of a [Catalogue].
type Fault struct {
	Name Name
	// Effect says what counts as the fault's effect: what has to be seen.
	Effect string
	// NeedsDatabase says that the fault takes a database that outlives a
	// process and that two processes share.
	NeedsDatabase bool
}

// Catalogue is every fault that a drill knows, in the order in which it tells
// of them.
type Catalogue []Fault

// Names returns the names of all faults.
func (c Catalogue) Names() []Name {
	names := make([]Name, len(c))
	for i, known := range c {
		names[i] = known.Name
	}
	return names
}

// NeedDatabase returns the faults that take a database.
func (c Catalogue) NeedDatabase() []Name {
	var names []Name
	for _, known := range c {
		if known.NeedsDatabase {
			names = append(names, known.Name)
		}
	}
	return names
}

// Effect says what counts as the effect of a fault. Empty: there is no such
// fault.
func (c Catalogue) Effect(name Name) string {
	for _, known := range c {
		if known.Name == name {
			return known.Effect
		}
	}
	return ""
}

// Parse reads "all", "none", or names between commas, each at most once.
func (c Catalogue) Parse(text string) ([]Name, error) {
	switch text {
	case "all":
		return c.Names(), nil
	case "none":
		return nil, nil
	}
	var names []Name
	for part := range strings.SplitSeq(text, ",") {
		name := Name(strings.TrimSpace(part))
		if !slices.Contains(c.Names(), name) {
			return nil, fmt.Errorf("fault: %q is not a fault; there are %v", name, c.Names())
		}
		if slices.Contains(names, name) {
			return nil, fmt.Errorf("fault: %q is named twice", name)
		}
		names = append(names, name)
	}
	return names, nil
}
