package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/settleonce/settleonce/pgstore/pgfault"

	"github.com/settleonce/settleonce/examples/drill/course"
	"github.com/settleonce/settleonce/examples/drill/database"
	"github.com/settleonce/settleonce/examples/drill/fault"
	"github.com/settleonce/settleonce/examples/drill/jsonlines"
	"github.com/settleonce/settleonce/examples/drill/loopback"
	"github.com/settleonce/settleonce/examples/drill/process"
	"github.com/settleonce/settleonce/examples/drill/terminal"
	"github.com/settleonce/settleonce/examples/drill/wait"
	"github.com/settleonce/settleonce/examples/sportsbook/audit"
	"github.com/settleonce/settleonce/examples/sportsbook/desk"
	"github.com/settleonce/settleonce/examples/sportsbook/faults"
	"github.com/settleonce/settleonce/examples/sportsbook/punter"
)

// drill is one run: the roles, what lies between them, and what is done to it.
type drill struct {
	options   options
	started   time.Time
	directory directory
	out       io.Writer
	logger    *slog.Logger
	client    *http.Client
	scenes    []scene
	world     world

	database *database.Database // nil: in memory
	books    books
	cutter   *pgfault.Proxy // before the database; nil: in memory
	cuts     *fault.Cuts    // nil: no commit is cut

	ledger *fault.Ledger
	notes  *jsonlines.File
	proxy  *faults.Proxy
	// proxyServer is nil before the proxy is started.
	proxyServer *loopback.Server
	clients     *punter.Clients
	desk        *desk.Desk

	// playersPassword and tradersPassword are this run's.
	playersPassword, tradersPassword string
	risk                             *process.Role
	apis                             []*process.Role
	// delivery is nil in memory, where nobody relays events.
	delivery *delivery

	// suspensions are those that the run has seen from both ends.
	suspensions      []audit.Suspension
	suspensionsMutex sync.Mutex
	// decided counts the commands of the ordinary traffic that have an answer.
	decided atomic.Int32
	// cutShort says that the run took too long.
	cutShort bool
	// restarts are those of processes that were killed.
	restarts process.Restarts
}

// runDrill runs it all and reports whether the books are in order: nothing lost,
// doubled or unbalanced, and every requested fault observed.
func runDrill(ctx context.Context, o options) (inOrder bool, err error) {
	path, err := os.MkdirTemp("", "settleonce-sportsbook-")
	if err != nil {
		return false, err
	}
	d := newDrill(o, directory(path))
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

// play goes through the run: the traffic with all faults, then every command
// once more until it has a final answer, then the results, and then the rest of
// the events.
func (d *drill) play(ctx context.Context) error {
	config := course.Config{Limit: d.options.limit, Watch: d.watch}
	return course.Run(ctx, config, d.trouble, d.askAgain, d.closeBets, d.deliverRest)
}

// watch shows the progress, cuts what is to be cut, and sees whether a process
// has died that nobody killed, until ctx is done.
func (d *drill) watch(ctx context.Context) error {
	progress := terminal.NewProgress()
	defer progress.End()
	return wait.Until(ctx, func() (bool, error) {
		decided := int(d.decided.Load())
		progress.Show("decided %d of %d, faults observed %d of %d kinds", decided, d.options.bets, d.ledger.Kinds(), len(d.options.Requested))
		if err := process.CheckAlive(slices.Concat(d.apis, []*process.Role{d.risk}, d.delivery.roles())...); err != nil {
			return false, err
		}
		if d.cuts == nil {
			return false, nil
		}
		return false, d.cuts.Next(ctx, decided)
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
	if d.notes != nil {
		err = errors.Join(err, d.notes.Close())
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
