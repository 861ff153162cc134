package fault

import (
	"errors"
	"flag"
	"fmt"
)

// Flags adds -faults and -disarm to a program's flags. Call read once they have
// been parsed: it fills in the choice, or says what is wrong with it.
func (c *Choice) Flags(set *flag.FlagSet, catalogue Catalogue) (read func() error) {
	requested := set.String("faults", "all", fmt.Sprintf("all, none, or names between commas: %v", catalogue.Names()))
	disarmed := set.String("disarm", "", "`faults` that stay requested and do not happen, between commas; the run must report them as missing")
	return func() error {
		var broken []error
		var err error
		if c.Requested, err = catalogue.Parse(*requested); err != nil {
			broken = append(broken, fmt.Errorf("-faults: %w", err))
		}
		if *disarmed == "" {
			return errors.Join(broken...)
		}
		if c.Disarmed, err = catalogue.Parse(*disarmed); err != nil {
			broken = append(broken, fmt.Errorf("-disarm: %w", err))
		}
		return errors.Join(broken...)
	}
}
