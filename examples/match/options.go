package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/settleonce/settleonce/examples/drill/fault"
	"github.com/settleonce/settleonce/examples/drill/sabotage"
	"github.com/settleonce/settleonce/examples/match/faults"
)

// options is what the command line asks for.
type options struct {
	dsn        string
	memory     bool
	matches    int
	seed       uint64
	voteWindow time.Duration
	limit      time.Duration
	json       bool
	keep       bool

	fault.Choice
	// sabotage is the name of one sabotage; empty: none.
	sabotage string
}

func parseOptions(args []string) (options, error) {
	var o options
	set := flag.NewFlagSet("match", flag.ContinueOnError)
	set.StringVar(&o.dsn, "dsn", os.Getenv("DATABASE_URL"), "`connection` string of a PostgreSQL database, in which the run makes two schemas of its own; without it, nor DATABASE_URL, a private server is started")
	set.BoolVar(&o.memory, "memory", false, "use the in-memory fake, as where no PostgreSQL can be found")
	set.IntVar(&o.matches, "matches", 200, "`number` of matches, 1 or more")
	set.Uint64Var(&o.seed, "seed", 1, "decides how matches go and which deliveries meet faults")
	set.DurationVar(&o.voteWindow, "vote-window", 10*time.Second, "how long after the first report, on the game's clock, a relative majority decides")
	set.DurationVar(&o.limit, "limit", 0, "how long the run may take before it is cut short and audited; zero: 40 s, and 50 ms for each match")
	set.BoolVar(&o.json, "json", false, "print the figures as JSON on the last line, in place of the table")
	set.BoolVar(&o.keep, "keep", false, "keep the run's directory, with its outbox, journal, logs and observations")
	readChoice := o.Flags(set, faults.Catalogue())
	readSabotage := sabotage.Flags(set, faults.Sabotages())
	if err := set.Parse(args); err != nil {
		return options{}, err
	}
	var broken []error
	if set.NArg() > 0 {
		broken = append(broken, fmt.Errorf("unknown argument %q", set.Arg(0)))
	}
	if o.matches < 1 {
		broken = append(broken, fmt.Errorf("-matches must be 1 or more, is %d", o.matches))
	}
	if o.voteWindow <= 0 {
		broken = append(broken, fmt.Errorf("-vote-window must be positive, is %v", o.voteWindow))
	}
	if o.limit < 0 {
		broken = append(broken, fmt.Errorf("-limit must not be negative, is %v", o.limit))
	}
	if o.limit == 0 {
		o.limit = 40*time.Second + time.Duration(o.matches)*50*time.Millisecond
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
