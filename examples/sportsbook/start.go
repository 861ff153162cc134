package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"syscall"
	"time"

	"github.com/settleonce/settleonce/pgstore/pgfault"

	"github.com/settleonce/settleonce/examples/drill/fault"
	"github.com/settleonce/settleonce/examples/drill/jsonlines"
	"github.com/settleonce/settleonce/examples/drill/loopback"
	"github.com/settleonce/settleonce/examples/drill/process"
	"github.com/settleonce/settleonce/examples/sportsbook/desk"
	"github.com/settleonce/settleonce/examples/sportsbook/faults"
	"github.com/settleonce/settleonce/examples/sportsbook/punter"
)

// newDrill returns a run that has not begun.
func newDrill(o options, path directory) *drill {
	d := &drill{
		options: o, started: time.Now(), directory: path, out: os.Stdout,
		client:          &http.Client{Timeout: 15 * time.Second, Transport: transport()},
		playersPassword: rand.Text(), tradersPassword: rand.Text(),
	}
	d.scenes = d.allScenes()
	d.world = newWorld(d.scenes)
	return d
}

// transport keeps as many connections as there are requests at once.
func transport() http.RoundTripper {
	plain := http.DefaultTransport.(*http.Transport).Clone()
	plain.MaxIdleConnsPerHost = 4 * workers
	return plain
}

// start starts the proxies, the risk service, the API processes, and what their
// events are delivered by and to.
func (d *drill) start(ctx context.Context) (err error) {
	log, err := os.OpenFile(d.directory.log("drill"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	d.logger = slog.New(slog.NewTextHandler(log, nil))
	if d.ledger, err = fault.OpenLedger(d.directory.ledger()); err != nil {
		return err
	}
	if d.notes, err = jsonlines.Create(d.directory.notes()); err != nil {
		return err
	}
	d.risk = d.newRole("risk", riskRole)
	if err := d.risk.Start(ctx); err != nil {
		return err
	}
	names := []string{"api-a"}
	if d.database != nil {
		names = append(names, "api-b")
		if d.cutter, err = pgfault.Listen(pgfault.Config{Target: d.database.DSN}); err != nil {
			return err
		}
	}
	if err := d.startProxy(ctx, len(names)); err != nil {
		return err
	}
	for i, name := range names {
		flags := d.apiFlags()
		d.apis = append(d.apis, d.newRole(name, apiRole, flags.args()...))
		if err := d.startAPI(ctx, i); err != nil {
			return fmt.Errorf("%w; %s", err, d.apis[i].LastLines())
		}
	}
	if err := d.startDelivery(ctx); err != nil {
		return err
	}
	d.startClients()
	if d.cutter != nil && d.options.Arms(faults.CommitCut) {
		d.cuts = fault.NewCuts(fault.CutsConfig{
			Proxy: d.cutter, Total: d.cutCount(), Span: max(1, d.options.bets/2),
			Fault: faults.CommitCut, Ledger: d.ledger, Logger: d.logger,
		})
		return d.cuts.Next(ctx, 0)
	}
	return nil
}

// cutCount is how many commits are cut.
func (d *drill) cutCount() int { return max(3, d.options.bets/20) }

// startProxy starts the proxy between the clients and the API processes.
func (d *drill) startProxy(ctx context.Context, apis int) (err error) {
	d.proxy = faults.NewProxy(apis, faults.ProxyConfig{
		Tenant: tenant, Ledger: d.ledger, Receipt: d.books.Receipt, Kill: d.killAPI, Client: d.client, Logger: d.logger,
	})
	d.proxyServer, err = loopback.Serve(ctx, d.proxy)
	return err
}

func (d *drill) startClients() {
	d.clients = punter.New(punter.Config{
		URL: d.proxyServer.URL(), Client: d.client, Tenant: tenant, Password: d.playersPassword, Journal: d.notes,
	})
	d.desk = desk.New(desk.Config{
		URL: d.proxyServer.URL(), RiskURL: d.risk.URL(), Client: d.client, Tenant: tenant, Name: "trader-on-duty", Password: d.tradersPassword,
	})
}

// newRole returns a role of this program.
func (d *drill) newRole(name, role string, args ...string) *process.Role {
	flags := d.apiFlags()
	return process.OfThisProgram(process.Config{
		Name: name, Args: append([]string{role}, args...), LogPath: d.directory.log(name), Env: flags.env(),
	})
}

func (d *drill) startAPI(ctx context.Context, i int) error {
	if err := d.apis[i].Start(ctx); err != nil {
		return err
	}
	d.proxy.SetAPI(i, d.apis[i].URL())
	return nil
}

// killAPI kills an API process and has it started again.
func (d *drill) killAPI(ctx context.Context, i int) (syscall.Signal, error) {
	return d.restarts.Kill(ctx, d.apis[i], func(ctx context.Context) error { return d.startAPI(ctx, i) }, d.logger)
}

// stopRoles ends the API processes before the service that they ask.
func (d *drill) stopRoles(ctx context.Context) error {
	var err error
	for _, role := range d.apis {
		if stopErr := role.Stop(ctx); stopErr != nil {
			err = stopErr
		}
	}
	if d.risk != nil {
		if stopErr := d.risk.Stop(ctx); stopErr != nil {
			err = stopErr
		}
	}
	return errors.Join(err, d.delivery.stop(ctx))
}
