// Command match moves the results of simulated matches from a battle node's
// disk to receipts in a lobby's database, while it breaks what lies between,
// and then audits the books.
//
//	go run ./examples/match
//
// It needs no set-up. Read the packages below this directory from the inside
// out: vote, room, result, battle, lobby, then faults and audit. The program
// starts itself once for each role: the battle node and two lobbies.
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
		case lobbyRole:
			return exitCode(runLobby(ctx, args[1:]))
		case battleRole:
			return exitCode(runBattle(ctx, args[1:]))
		}
	}
	options, err := parseOptions(args)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "match:", err)
		return exitUsage
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
	fmt.Fprintln(os.Stderr, "match:", err)
	return exitError
}
