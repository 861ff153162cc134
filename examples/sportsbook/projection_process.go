package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"os"

	"github.com/jackc/pgx/v5"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/pgstore"
	"github.com/settleonce/settleonce/receipt"
	"github.com/settleonce/settleonce/settle/settlehttp"

	"github.com/settleonce/settleonce/examples/drill/hold"
	"github.com/settleonce/settleonce/examples/drill/process"
	"github.com/settleonce/settleonce/examples/drill/sabotage"
	"github.com/settleonce/settleonce/examples/sportsbook/faults"
	"github.com/settleonce/settleonce/examples/sportsbook/projection"
)

const projectionRole = "projection"

const (
	// eventsPath is where the projection takes events.
	eventsPath = "/events"
	// secretVariable has what the relays sign with, in the environment for the
	// reason that the passwords are there.
	secretVariable = "SPORTSBOOK_EVENTS_SECRET"
	// relaysKey names that secret in signatures.
	relaysKey = "house-relays"
)

// projectionFlags is what the drill tells the projection.
type projectionFlags struct {
	dsn, secret      string
	schema, receipts string
	sabotage         string
}

func (f *projectionFlags) parse(args []string) error {
	f.dsn, f.secret = os.Getenv(dsnVariable), os.Getenv(secretVariable)
	set := flag.NewFlagSet(projectionRole, flag.ContinueOnError)
	set.StringVar(&f.schema, "schema", "", "")
	set.StringVar(&f.receipts, "receipts", "", "")
	set.StringVar(&f.sabotage, "sabotage", "", "")
	return set.Parse(args)
}

func (f *projectionFlags) args() []string {
	return []string{projectionRole, "-schema", f.schema, "-receipts", f.receipts, "-sabotage", f.sabotage}
}

func (f *projectionFlags) env() []string {
	return []string{dsnVariable + "=" + f.dsn, secretVariable + "=" + f.secret}
}

// runProjection is the main function of the projection.
func runProjection(ctx context.Context, args []string) error {
	var flags projectionFlags
	if err := flags.parse(args); err != nil {
		return err
	}
	ctx = process.WithParent(ctx)
	logger := slog.New(slog.NewTextHandler(os.Stderr, nil))
	pool, err := projection.Connect(ctx, flags.dsn, flags.schema)
	if err != nil {
		return err
	}
	defer pool.Close()
	receipts, err := pgstore.New(pgstore.Config{Pool: pool, Schema: flags.receipts})
	if err != nil {
		return err
	}
	var store receipt.Store[pgx.Tx] = receipts
	if flags.sabotage == faults.SkipInbox {
		store = sabotage.WithoutReceipts(store)
	}
	view, err := projection.New(projection.Config{Pool: pool, Store: faults.HoldAtCommit(store), Logger: logger})
	if err != nil {
		return err
	}
	inbox, err := newInbox(flags.secret, view, logger)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("POST "+eventsPath, hold.Requests(inbox))
	mux.Handle("/", view.Handler())
	return process.Serve(ctx, mux, logger)
}

// newInbox returns what takes events for a projection: those that the house's
// relays have signed. A database that is away is said to be, so that the relays
// come again.
func newInbox(secret string, view *projection.Projection, logger *slog.Logger) (http.Handler, error) {
	authenticate, err := settlehttp.NewHMACAuthenticate(settlehttp.HMACAuthenticateConfig{
		Keys: []settlehttp.HMACKey{{ID: relaysKey, Tenant: tenant, Secret: []byte(secret)}},
	})
	if err != nil {
		return nil, err
	}
	take := func(ctx context.Context, e event.Event) (receipt.Receipt, error) {
		stored, err := view.Take(ctx, e)
		if unavailable(err) {
			err = fmt.Errorf("%w: %w", settlehttp.ErrUnavailable, err)
		}
		return stored, err
	}
	return settlehttp.NewHandler(settlehttp.HandlerConfig{Authenticate: authenticate, Settle: take, Logger: logger})
}
