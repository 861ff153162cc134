package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/settleonce/settleonce/examples/drill/fault"
	"github.com/settleonce/settleonce/examples/drill/sabotage"
	"github.com/settleonce/settleonce/examples/sportsbook/faults"
)

// options is what the command line asks for.
type options struct {
	dsn    string
	memory bool
	bets   int
	seed   uint64
	limit  time.Duration
	json   bool
	keep   bool

	// serve is the address at which to serve people. Empty: there is a drill.
	serve string

	fault.Choice
	// sabotage is the name of one sabotage; empty: none.
	sabotage string
}

func parseOptions(args []string) (options, error) {
	var o options
	set := flag.NewFlagSet("sportsbook", flag.ContinueOnError)
	set.StringVar(&o.dsn, "dsn", os.Getenv("DATABASE_URL"), "`connection` string of a PostgreSQL database, in which the run makes schemas of its own; without it, nor DATABASE_URL, a private server is started")
	set.BoolVar(&o.memory, "memory", false, "use the in-memory fake, as where no PostgreSQL can be found")
	set.IntVar(&o.bets, "bets", 200, "`number` of bets in the ordinary traffic, 1 or more; each fault adds some of its own")
	set.Uint64Var(&o.seed, "seed", 1, "decides what players bet on and how matches end")
	set.DurationVar(&o.limit, "limit", 0, "how long the run may take before it is cut short and audited; zero: 60 s, and 50 ms for each bet")
	set.StringVar(&o.serve, "serve", "", "no drill: serve the house at this `address`, such as :8080, until interrupted")
	set.BoolVar(&o.json, "json", false, "print the figures as JSON on the last line, in place of the table")
	set.BoolVar(&o.keep, "keep", false, "keep the run's directory, with what clients sent and were told, logs and observations")
	readChoice := o.Flags(set, faults.Catalogue())
	readSabotage := sabotage.Flags(set, faults.Sabotages())
	if err := set.Parse(args); err != nil {
		return options{}, err
	}
	var broken []error
	if set.NArg() > 0 {
		broken = append(broken, fmt.Errorf("unknown argument %q", set.Arg(0)))
	}
	if o.bets < 1 {
		broken = append(broken, fmt.Errorf("-bets must be 1 or more, is %d", o.bets))
	}
	if o.limit < 0 {
		broken = append(broken, fmt.Errorf("-limit must not be negative, is %v", o.limit))
	}
	if o.limit == 0 {
		o.limit = 60*time.Second + time.Duration(o.bets)*50*time.Millisecond
	}
	if o.serve != "" {
		set.Visit(func(given *flag.Flag) {
			if !slices.Contains([]string{"serve", "dsn", "memory"}, given.Name) {
				broken = append(broken, fmt.Errorf("-%s is for a drill, and there is none with -serve", given.Name))
			}
		})
	}
	if o.memory {
		o.dsn = ""
	}
	var err error
	if o.sabotage, err = readSabotage(); err != nil {
		broken = append(broken, err)
	}
	broken = append(broken, readChoice())
	return o, errors.Join(broken...)
}
