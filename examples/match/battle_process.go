package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"time"

	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/settle/settlehttp"

	"github.com/settleonce/settleonce/examples/drill/process"
	"github.com/settleonce/settleonce/examples/match/battle"
	"github.com/settleonce/settleonce/examples/match/faults"
)

const battleRole = "battle"

const (
	// nodeName is the battle node's name, to the lobby and in its signatures.
	nodeName = "node-1"
	// teamSize is the number of players in a team.
	teamSize = 2
	// workers is how many matches are fought at once.
	workers = 16
	// attemptTimeout bounds each delivery.
	attemptTimeout = 10 * time.Second
)

// battleFlags is what the drill tells a battle node.
type battleFlags struct {
	lobby      string // the address
	outbox     string
	journal    string
	replays    string
	matches    int
	seed       uint64
	voteWindow time.Duration
	sabotage   string
}

func (f *battleFlags) parse(args []string) error {
	set := flag.NewFlagSet(battleRole, flag.ContinueOnError)
	set.StringVar(&f.lobby, "lobby", "", "")
	set.StringVar(&f.outbox, "outbox", "", "")
	set.StringVar(&f.journal, "journal", "", "")
	set.StringVar(&f.replays, "replays", "", "")
	set.IntVar(&f.matches, "matches", 0, "")
	set.Uint64Var(&f.seed, "seed", 0, "")
	set.DurationVar(&f.voteWindow, "vote-window", 0, "")
	set.StringVar(&f.sabotage, "sabotage", "", "")
	return set.Parse(args)
}

func (f *battleFlags) args() []string {
	return []string{
		battleRole, "-lobby", f.lobby, "-outbox", f.outbox, "-journal", f.journal, "-replays", f.replays,
		"-matches", fmt.Sprint(f.matches), "-seed", fmt.Sprint(f.seed), "-vote-window", f.voteWindow.String(), "-sabotage", f.sabotage,
	}
}

// runBattle is the main function of a battle node: it fights matches and, side
// by side with that, delivers what it owes. It goes on delivering until it is
// asked to end.
func runBattle(ctx context.Context, args []string) error {
	var flags battleFlags
	if err := flags.parse(args); err != nil {
		return err
	}
	ctx = process.WithParent(ctx)
	logger := slog.New(slog.NewTextHandler(os.Stderr, nil))
	client := &http.Client{Transport: transport(flags.sabotage), Timeout: 15 * time.Second}
	owed, err := outbox.OpenDir(dirConfig(flags.outbox, logger))
	if err != nil {
		return err
	}
	journal, entries, err := battle.OpenJournal(flags.journal)
	if err != nil {
		return err
	}
	node, err := battle.New(battle.Config{
		Name: nodeName, Matches: flags.matches, Seed: flags.seed, TeamSize: teamSize, Workers: workers, VoteWindow: flags.voteWindow,
		Replays: flags.replays, Journal: journal, Entries: entries, Outbox: owed,
		Lobby: battle.LobbyClient{URL: flags.lobby, Client: client}, Logger: logger,
	})
	if err != nil {
		return err
	}
	relay, err := newRelay(flags, owed, client, logger)
	if err != nil {
		return err
	}
	err = process.Together(ctx,
		relay.Run,
		node.Run,
		func(ctx context.Context) error { return process.Serve(ctx, node.Handler(), logger) },
	)
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	return errors.Join(err, owed.Close(ending), journal.Close())
}

// dirConfig is for the battle node and for the audit. The drill kills processes
// and not machines, so it does not mind a directory in memory.
func dirConfig(path string, logger *slog.Logger) outbox.DirConfig {
	return outbox.DirConfig{Path: path, AllowVolatile: true, Logger: logger}
}

// newRelay makes the relay from the outbox to the lobby. It is more impatient
// than one in the field, since the drill is to be over soon.
func newRelay(flags battleFlags, owed *outbox.Dir, client *http.Client, logger *slog.Logger) (*outbox.Relay, error) {
	sign, err := settlehttp.NewHMACSign(settlehttp.HMACSignConfig{KeyID: nodeName, Secret: []byte(os.Getenv(secretVariable))})
	if err != nil {
		return nil, err
	}
	sender, err := settlehttp.NewSender(settlehttp.SenderConfig{
		URL: flags.lobby + faults.ResultsPath, Client: client, Sign: sign, Timeout: attemptTimeout,
	})
	if err != nil {
		return nil, err
	}
	return outbox.NewRelay(outbox.RelayConfig{
		Source: owed, Sender: sender, Logger: logger,
		AttemptTimeout: attemptTimeout,
		MinBackoff:     50 * time.Millisecond,
		MaxBackoff:     500 * time.Millisecond,
		MaxRetryAfter:  500 * time.Millisecond,
	})
}

func transport(sabotage string) http.RoundTripper {
	plain := http.DefaultTransport.(*http.Transport).Clone()
	plain.MaxIdleConnsPerHost = workers
	if sabotage == faults.DeleteOnBareOK {
		return faults.Credulous{Transport: plain}
	}
	return plain
}
