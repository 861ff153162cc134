package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/settleonce/settleonce/pgstore/pgtemp"
	"github.com/settleonce/settleonce/receipt/receipttest"

	"github.com/settleonce/settleonce/examples/drill/database"
	"github.com/settleonce/settleonce/examples/drill/process"
	"github.com/settleonce/settleonce/examples/sportsbook/house"
	"github.com/settleonce/settleonce/examples/sportsbook/house/memory"
	"github.com/settleonce/settleonce/examples/sportsbook/house/postgres"
)

// What the house is served with: whoever can reach it knows these.
const (
	demoPlayersPassword = "demo"
	demoTradersPassword = "desk"
)

// servedPace leaves a person time to be the trader.
func servedPace() pace { return pace{risk: time.Second, referral: 15 * time.Minute} }

// served is a house that is kept up for people.
type served struct {
	backing
	cashier house.Cashier
	// database is where the events of the house are. Nil: in memory, where
	// nobody relays them.
	database *database.Database
	// description is for the first line of output.
	description string
}

// runServe keeps a house up at an address until ctx is done: the API in this
// process, and in processes of their own the risk service and, where there is a
// database, a relay and the projection.
func runServe(ctx context.Context, o options) (err error) {
	logger := slog.New(slog.NewTextHandler(os.Stderr, nil))
	s, err := openServed(ctx, o)
	if err != nil {
		return err
	}
	defer s.close()
	fmt.Printf("store: %s\n", s.description)
	world := demoWorld()
	if err := world.open(ctx, s.cashier, s.trading); err != nil {
		return err
	}
	service := process.OfThisProgram(process.Config{Name: "risk", Args: []string{riskRole}, LogPath: os.DevNull})
	if err := service.Start(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stopServed(ctx, service.Stop)) }()
	front, endDelivery, err := s.deliver(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stopServed(ctx, endDelivery)) }()
	flags := apiFlags{risk: service.URL(), playersPassword: demoPlayersPassword, tradersPassword: demoTradersPassword}
	handler, err := newAPI(flags, s.backing, servedPace(), logger)
	if err != nil {
		return err
	}
	var moving sync.WaitGroup
	ctx, stop := context.WithCancel(ctx)
	defer moving.Wait()
	defer stop()
	moving.Go(func() { world.move(ctx, s.trading, logger) })
	mux := http.NewServeMux()
	mux.Handle("/", handler)
	mux.Handle(projectionFront, front)
	mux.Handle(relayFront, front)
	return serveAt(ctx, o.serve, mux, service.URL(), logger)
}

// serveAt says where it listens, and how to be whom, and serves until ctx is
// done. Requests that are under way then are answered.
func serveAt(ctx context.Context, address string, handler http.Handler, riskURL string, logger *slog.Logger) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: 10 * time.Second,
		ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
	}
	fmt.Printf("risk: %s, and its faults: %s/faults\n", riskURL, riskURL)
	fmt.Printf("players: curl -u %s/alice:%s, traders: curl -u %s/trudy:%s\n", tenant, demoPlayersPassword, tenant, demoTradersPassword)
	fmt.Printf("serving: http://%s until Ctrl-C\n", listener.Addr())
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := server.Shutdown(ending); err != nil {
		// A connection that was opened and never used keeps Shutdown waiting.
		return server.Close()
	}
	return nil
}

func stopServed(ctx context.Context, stop func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return stop(ctx)
}

// openServed finds a store as a drill does.
func openServed(ctx context.Context, o options) (*served, error) {
	reason := "as asked for"
	if !o.memory {
		opened, err := servedInPostgres(ctx, o.dsn)
		if err == nil || !errors.Is(err, pgtemp.ErrNotInstalled) {
			return opened, err
		}
		reason = "since there is no PostgreSQL to be had"
	}
	tables := memory.New(memory.Config{})
	fake, err := receipttest.New(receipttest.Config[house.Unit]{World: tables})
	if err != nil {
		return nil, err
	}
	return &served{
		backing:     backing{store: fake, books: tables, trading: tables, close: func() {}},
		cashier:     tables,
		description: "in memory, the fake of receipttest, " + reason,
	}, nil
}

func servedInPostgres(ctx context.Context, dsn string) (*served, error) {
	opened, err := openDatabase(ctx, dsn)
	if err != nil {
		return nil, err
	}
	end := func() {
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
		defer cancel()
		if err := opened.Close(ending); err != nil {
			fmt.Fprintln(os.Stderr, "sportsbook:", err)
		}
	}
	tables, err := postgres.New(postgres.Config{Pool: opened.Pool, Schema: opened.Schema, Tenant: tenant})
	if err != nil {
		end()
		return nil, err
	}
	return &served{
		backing: backing{store: tables.Store(opened.Store), books: tables, trading: tables, close: end},
		cashier: tables, database: opened, description: opened.Description,
	}, nil
}
