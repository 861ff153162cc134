package fault

import (
	"fmt"
	"slices"
)

// Choice is what a run asks for. Nothing of it changes once the run has begun.
type Choice struct {
	// Requested must be observed, or the run has failed.
	Requested []Name
	// Disarmed stay requested and do not happen, which shows that what was
	// not observed is missed.
	Disarmed []Name
}

// Armed returns the faults that are to happen: those requested and not
// disarmed.
func (c *Choice) Armed() []Name {
	return slices.DeleteFunc(slices.Clone(c.Requested), func(name Name) bool { return slices.Contains(c.Disarmed, name) })
}

// Arms reports whether a fault is to happen.
func (c *Choice) Arms(name Name) bool { return slices.Contains(c.Armed(), name) }

// Without takes out what cannot be had here. What was asked for by name, and
// not as one of all, cannot be taken out: needs says in the error what it
// takes.
func (c *Choice) Without(catalogue Catalogue, unavailable []Name, needs string) error {
	all := len(c.Requested) == len(catalogue)
	for _, name := range unavailable {
		if slices.Contains(c.Requested, name) && !all {
			return fmt.Errorf("-faults: %q needs %s", name, needs)
		}
	}
	c.Requested = slices.DeleteFunc(c.Requested, func(name Name) bool { return slices.Contains(unavailable, name) })
	return nil
}

// Tally counts the observations of each requested fault, and names those that
// there are none of.
func (c *Choice) Tally(observations []Observation) (counts map[string]int, missing []string) {
	counts = make(map[string]int)
	for _, name := range c.Requested {
		counts[string(name)] = 0
	}
	for _, observation := range observations {
		counts[string(observation.Fault)]++
	}
	for _, name := range c.Requested {
		if counts[string(name)] == 0 {
			missing = append(missing, string(name))
		}
	}
	return counts, missing
}
