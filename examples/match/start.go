package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"syscall"

	"github.com/settleonce/settleonce/pgstore/pgfault"
	"github.com/settleonce/settleonce/pgstore/pgtemp"

	"github.com/settleonce/settleonce/examples/drill/database"
	"github.com/settleonce/settleonce/examples/drill/fault"
	"github.com/settleonce/settleonce/examples/drill/loopback"
	"github.com/settleonce/settleonce/examples/drill/process"
	"github.com/settleonce/settleonce/examples/match/faults"
)

// opener is openDatabase.
type opener func(ctx context.Context, dsn string, players []string) (*database.Database, error)

// openStore finds a store and says which on the first line of output.
func (d *drill) openStore(ctx context.Context, open opener) error {
	reason := "as asked for"
	if !d.options.memory {
		opened, err := open(ctx, d.options.dsn, playerNames(players))
		switch {
		case err == nil:
			d.database, d.books = opened, arena{opened}
			fmt.Fprintf(d.out, "store: %s\n", opened.Description)
			return nil
		case !errors.Is(err, pgtemp.ErrNotInstalled):
			return err
		}
		reason = "since there is no PostgreSQL to be had"
	}
	unavailable := faults.Catalogue().NeedDatabase()
	if err := d.options.Without(faults.Catalogue(), unavailable, "PostgreSQL"); err != nil {
		return err
	}
	d.books = memoryOfLobby{d}
	fmt.Fprintf(d.out, "store: in memory, the fake of receipttest, %s; one lobby, whose books die with it; not available: %v\n", reason, unavailable)
	return nil
}

// start starts the proxies, the lobbies and the battle node.
func (d *drill) start(ctx context.Context) (err error) {
	log, err := os.OpenFile(d.directory.log("drill"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	d.logger = slog.New(slog.NewTextHandler(log, nil))
	if d.ledger, err = fault.OpenLedger(d.directory.ledger()); err != nil {
		return err
	}
	if err := d.prepareFiles(); err != nil {
		return err
	}
	lobbyNames := []string{"lobby-a"}
	if d.database != nil {
		lobbyNames = append(lobbyNames, "lobby-b")
		if d.cutter, err = pgfault.Listen(pgfault.Config{Target: d.database.DSN}); err != nil {
			return err
		}
	}
	if err := d.startProxy(ctx, len(lobbyNames)); err != nil {
		return err
	}
	for i, name := range lobbyNames {
		flags := d.lobbyFlags(name)
		d.lobbies = append(d.lobbies, d.newRole(name, flags.args(), flags.env()...))
		if err := d.startLobby(ctx, i); err != nil {
			return err
		}
	}
	flags := battleFlags{
		lobby: d.proxyServer.URL(), outbox: d.directory.outbox(), journal: d.directory.journal(), replays: d.directory.replays(),
		matches: d.options.matches, seed: d.options.seed, voteWindow: d.options.voteWindow, sabotage: d.options.sabotage,
	}
	d.cuts = d.newCuts()
	if err := d.nextCut(ctx, 0); err != nil {
		return err
	}
	d.battle = d.newRole("battle", flags.args())
	return d.battle.Start(ctx)
}

func (d *drill) prepareFiles() error {
	if d.options.Arms(faults.PoisonFile) {
		if err := d.directory.plantPoison(); err != nil {
			return err
		}
	}
	if d.options.Arms(faults.ReplayUnwritable) {
		return d.directory.blockReplays()
	}
	return nil
}

func (d *drill) lobbyFlags(name string) lobbyFlags {
	flags := lobbyFlags{
		deliveries: d.directory.deliveries(name), sabotage: d.options.sabotage, players: players, seed: d.options.seed,
	}
	if d.database != nil {
		flags.dsn, flags.settlementDSN = d.database.DSN, d.cutter.DSN()
		flags.schema, flags.receipts = d.database.Schema, d.database.ReceiptSchema
	} else if d.options.Arms(faults.CommitCut) {
		flags.cuts = d.cutCount()
	}
	return flags
}

// startProxy starts the proxy between the battle node and the lobbies.
func (d *drill) startProxy(ctx context.Context, lobbies int) (err error) {
	d.plan = faults.NewPlan(d.options.seed, d.options.matches, d.options.Armed())
	d.proxy = faults.NewProxy(lobbies, faults.ProxyConfig{
		Plan: d.plan, Ledger: d.ledger, Receipt: d.books.Receipt, Kill: d.killLobby, Client: d.client, Logger: d.logger,
	})
	if d.options.Arms(faults.KillBattle) || d.options.Arms(faults.EarlyRelease) {
		d.proxy.PlanOutage(d.options.matches / 4)
	}
	d.proxyServer, err = loopback.Serve(ctx, d.proxy)
	return err
}

// newRole returns a role of this program.
func (d *drill) newRole(name string, args []string, env ...string) *process.Role {
	return process.OfThisProgram(process.Config{
		Name: name, Args: args, LogPath: d.directory.log(name),
		Env: append(env, secretVariable+"="+d.secret),
	})
}

// cutCount is how many commits are cut.
func (d *drill) cutCount() int { return max(3, d.options.matches/20) }

// newCuts returns the cuts of the run; nil where there are none.
func (d *drill) newCuts() *fault.Cuts {
	if d.cutter == nil || !d.options.Arms(faults.CommitCut) {
		return nil
	}
	return fault.NewCuts(fault.CutsConfig{
		Proxy: d.cutter, Total: d.cutCount(), Span: d.options.matches / 2,
		Fault: faults.CommitCut, Ledger: d.ledger, Logger: d.logger,
	})
}

func (d *drill) nextCut(ctx context.Context, settled int) error {
	if d.cuts == nil {
		return nil
	}
	return d.cuts.Next(ctx, settled)
}

func (d *drill) startLobby(ctx context.Context, i int) error {
	if err := d.lobbies[i].Start(ctx); err != nil {
		return err
	}
	d.proxy.SetLobby(i, d.lobbies[i].URL())
	return nil
}

// killLobby kills a lobby and has it started again.
func (d *drill) killLobby(ctx context.Context, i int) (syscall.Signal, error) {
	return d.restarts.Kill(ctx, d.lobbies[i], func(ctx context.Context) error { return d.startLobby(ctx, i) }, d.logger)
}

// stopRoles ends the battle node first, so that nothing knocks on the doors of
// the lobbies.
func (d *drill) stopRoles(ctx context.Context) error {
	var err error
	if d.battle != nil {
		err = d.battle.Stop(ctx)
	}
	for _, lobby := range d.lobbies {
		err = errors.Join(err, lobby.Stop(ctx))
	}
	return err
}
