// Command sportsbook takes bets over HTTP into a real database while answers are
// lost, prices move and processes die, and then audits the books.
//
//	go run ./examples/sportsbook
//
// It needs no set-up. Read the packages below this directory from the inside
// out: bet, wallet, market, house, api, then faults and audit. The program
// starts itself once for each role: two API processes and the risk service.
package main

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
	exitBooks = 1
	exitUsage = 2
	exitError = 3
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	// A reader of the output that has gone shall fail the write, and not end
	// the program before it has cleared up.
	signal.Ignore(syscall.SIGPIPE)
	code := run(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string) int {
	if len(args) > 0 {
		switch args[0] {
		case apiRole:
			return exitCode(runAPI(ctx, args[1:]))
		case riskRole:
			return exitCode(runRisk(ctx, args[1:]))
		}
	}
	options, err := parseOptions(args)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "sportsbook:", err)
		return exitUsage
	}
	if options.serve != "" {
		return exitCode(runServe(ctx, options))
	}
	inOrder, err := runDrill(ctx, options)
	if err == nil && !inOrder {
		return exitBooks
	}
	return exitCode(err)
}

func exitCode(err error) int {
	if err == nil {
		return 0
	}
	fmt.Fprintln(os.Stderr, "sportsbook:", err)
	return exitError
}
