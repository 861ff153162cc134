// Package program is what the main function of every drill does: it ends on the
// signals of people, plays the role that its first argument names or else the
// drill, and says by its exit code how that ended.
package program

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// Exit codes. A run that failed to run at all is not one whose books are wrong.
const (
	// ExitBooks is the code of a run whose books are not in order.
	ExitBooks = 1
	// ExitUsage is the code of a run that was asked for wrongly.
	ExitUsage = 2
	// ExitError is the code of a run, or of a role, that failed.
	ExitError = 3
)

// Role is what a child of the program does until ctx is done. It gets the
// arguments that follow its name.
type Role func(ctx context.Context, args []string) error

// Config says what the program is. Every field but Roles must be set.
type Config[Options any] struct {
	// Name begins the program's error lines.
	Name string
	// Roles are those that the program starts itself for, by the first argument
	// that asks for each. Nil: it has no children.
	Roles map[string]Role
	// Parse reads the arguments of a run. [flag.ErrHelp] is not a failure.
	Parse func(args []string) (Options, error)
	// Drill runs it all and reports whether the books are in order.
	Drill func(ctx context.Context, o Options) (inOrder bool, err error)
}

// Main runs the program with its arguments and exits. An interrupt, a request
// to terminate and a closed terminal end its context; it then clears up.
func Main[Options any](config Config[Options]) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	// A reader of the output that has gone shall fail the write, and not end
	// the program before it has cleared up.
	signal.Ignore(syscall.SIGPIPE)
	code := Run(ctx, config, os.Args[1:])
	stop()
	os.Exit(code)
}

// Run runs the program and returns its exit code. An error is on standard error.
func Run[Options any](ctx context.Context, config Config[Options], args []string) (code int) {
	if len(args) > 0 {
		if role, known := config.Roles[args[0]]; known {
			return config.exitCode(role(ctx, args[1:]))
		}
	}
	options, err := config.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", config.Name, err)
		return ExitUsage
	}
	inOrder, err := config.Drill(ctx, options)
	if err == nil && !inOrder {
		return ExitBooks
	}
	return config.exitCode(err)
}

func (c *Config[Options]) exitCode(err error) int {
	if err == nil {
		return 0
	}
	fmt.Fprintf(os.Stderr, "%s: %v\n", c.Name, err)
	return ExitError
}
