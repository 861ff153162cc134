package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/settleonce/settleonce/pgstore/pgfault"

	"github.com/settleonce/settleonce/examples/drill/course"
	"github.com/settleonce/settleonce/examples/drill/database"
	"github.com/settleonce/settleonce/examples/drill/fault"
	"github.com/settleonce/settleonce/examples/drill/loopback"
	"github.com/settleonce/settleonce/examples/drill/process"
	"github.com/settleonce/settleonce/examples/drill/terminal"
	"github.com/settleonce/settleonce/examples/drill/wait"
	"github.com/settleonce/settleonce/examples/match/faults"
)

// players is how many players there are: enough to fill as many rooms as the
// outage lets wait.
const players = 96

// drill is one run: the roles, what lies between them, and what is done to it.
type drill struct {
	options   options
	started   time.Time
	directory directory
	out       io.Writer
	logger    *slog.Logger
	client    *http.Client

	database *database.Database // nil: in memory
	books    books
	cutter   *pgfault.Proxy // before the database; nil: in memory
	cuts     *fault.Cuts    // nil: no commit is cut

	ledger *fault.Ledger
	plan   *faults.Plan
	proxy  *faults.Proxy
	// proxyServer is nil before the proxy is started.
	proxyServer *loopback.Server

	secret  string
	lobbies []*process.Role
	battle  *process.Role
	// cutShort says that the run took too long.
	cutShort bool
	// restarts are those of lobbies.
	restarts process.Restarts
}

// runDrill runs it all and reports whether the books are in order: nothing lost
// or doubled, and every requested fault observed.
func runDrill(ctx context.Context, o options) (inOrder bool, err error) {
	path, err := os.MkdirTemp("", "settleonce-match-")
	if err != nil {
		return false, err
	}
	d := &drill{
		options: o, started: time.Now(), directory: directory(path), out: os.Stdout,
		client: &http.Client{Timeout: 15 * time.Second, Transport: transport("")},
		secret: rand.Text() + rand.Text(),
	}
	defer func() { err = errors.Join(err, d.cleanUp(ctx)) }()
	if err := d.openStore(ctx, openDatabase); err != nil {
		return false, err
	}
	if err := d.start(ctx); err != nil {
		return false, err
	}
	err = d.play(ctx)
	if errors.Is(err, course.ErrLimit) {
		d.cutShort = true
	} else if err != nil {
		return false, err
	}
	facts, err := d.collect(ctx)
	if err != nil {
		return false, err
	}
	return d.judge(facts)
}

// play goes through the run, to the point where every match is settled and
// every fault has happened.
func (d *drill) play(ctx context.Context) error {
	config := course.Config{Limit: d.options.limit, Watch: d.watch}
	return course.Run(ctx, config, d.outage, d.mistakes, d.settleDown)
}

// watch shows the progress, cuts what is to be cut, and sees whether a process
// has died that nobody killed, until ctx is done.
func (d *drill) watch(ctx context.Context) error {
	progress := terminal.NewProgress()
	defer progress.End()
	return wait.Until(ctx, func() (bool, error) {
		settled, err := d.books.settled(ctx)
		if err != nil {
			return false, err
		}
		if owed, err := d.directory.left(); err == nil {
			progress.Show("settled %d of %d, outbox %d, faults observed %d of %d kinds",
				settled, d.options.matches, owed, d.ledger.Kinds(), len(d.options.Requested))
		}
		if err := process.CheckAlive(append(slices.Clone(d.lobbies), d.battle)...); err != nil {
			return false, err
		}
		return false, d.nextCut(ctx, settled)
	})
}

// cleanUp ends what runs and removes what the run made.
func (d *drill) cleanUp(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
	defer cancel()
	err := d.stopRoles(ctx)
	if d.proxyServer != nil {
		err = errors.Join(err, d.proxyServer.Close())
	}
	if d.cutter != nil {
		err = errors.Join(err, d.cutter.Close())
	}
	if d.cuts != nil {
		d.cuts.Wait()
	}
	d.restarts.Wait()
	if d.ledger != nil {
		err = errors.Join(err, d.ledger.Close())
	}
	if d.database != nil {
		err = errors.Join(err, d.database.Close(ctx))
	}
	if d.options.keep {
		fmt.Fprintf(os.Stderr, "kept: %s\n", d.directory)
		return err
	}
	return errors.Join(err, os.RemoveAll(string(d.directory)))
}
