package main

import (
	"context"
	"flag"
	"log/slog"
	"net/http"
	"os"
	"time"

	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/pgstore"
	"github.com/settleonce/settleonce/settle/settlehttp"

	"github.com/settleonce/settleonce/examples/drill/process"
	"github.com/settleonce/settleonce/examples/sportsbook/faults"
	"github.com/settleonce/settleonce/examples/sportsbook/house/postgres"
)

const relayRole = "relay"

const (
	// relaysLease is shorter than one in the field, since a drill is to be over
	// soon: it is how long the events of a relay that has died are left alone.
	relaysLease = time.Second
	// relaysPoll is how long a commit waits at most until a relay looks, which
	// no commit of another process wakes.
	relaysPoll = 100 * time.Millisecond
	// relaysRescan is how long an event may be overlooked whose removal a crash
	// of the server undid: removals do not wait for the disk.
	relaysRescan = time.Second
	// deliveriesAtOnce is how many events of a relay are on their way at once.
	deliveriesAtOnce = 8
	// deliveryTimeout bounds one delivery.
	deliveryTimeout = 5 * time.Second
)

// relayFlags is what the drill tells a relay.
type relayFlags struct {
	dsn, secret string
	receipts    string
	name        string
	to          string // the address of what it delivers to
}

func (f *relayFlags) parse(args []string) error {
	f.dsn, f.secret = os.Getenv(dsnVariable), os.Getenv(secretVariable)
	set := flag.NewFlagSet(relayRole, flag.ContinueOnError)
	set.StringVar(&f.receipts, "receipts", "", "")
	set.StringVar(&f.name, "name", "", "")
	set.StringVar(&f.to, "to", "", "")
	return set.Parse(args)
}

func (f *relayFlags) args() []string {
	return []string{relayRole, "-receipts", f.receipts, "-name", f.name, "-to", f.to}
}

func (f *relayFlags) env() []string {
	return []string{dsnVariable + "=" + f.dsn, secretVariable + "=" + f.secret}
}

// runRelay is the main function of a relay: it delivers what the house's outbox
// table holds, in the lanes that are its own, until it is asked to end.
func runRelay(ctx context.Context, args []string) error {
	var flags relayFlags
	if err := flags.parse(args); err != nil {
		return err
	}
	ctx = process.WithParent(ctx)
	logger := slog.New(slog.NewTextHandler(os.Stderr, nil))
	pool, err := postgres.Connect(ctx, flags.dsn, flags.receipts)
	if err != nil {
		return err
	}
	defer pool.Close()
	store, err := pgstore.New(pgstore.Config{Pool: pool, Schema: flags.receipts})
	if err != nil {
		return err
	}
	events, err := pgstore.NewEvents(pgstore.EventsConfig{
		Store: store, Lease: relaysLease, MaxPoll: relaysPoll, Rescan: relaysRescan, Logger: logger,
	})
	if err != nil {
		return err
	}
	relay, err := newRelay(flags, events, logger)
	if err != nil {
		return err
	}
	operated := operator{relay, events}.handler()
	err = process.Together(ctx, relay.Run, func(ctx context.Context) error { return process.Serve(ctx, operated, logger) })
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if closeErr := events.Close(ending); closeErr != nil {
		// Nothing is lost: its lanes are free when the lease is over, and not at
		// once. A database that is slow to answer is no failure of the relay's.
		logger.Warn("relay: it ends without giving its lanes back", "error", closeErr)
	}
	return err
}

// newRelay makes the relay from the outbox table to the projection. It is more
// impatient than one in the field.
func newRelay(flags relayFlags, events *pgstore.Events, logger *slog.Logger) (*outbox.Relay, error) {
	sign, err := settlehttp.NewHMACSign(settlehttp.HMACSignConfig{KeyID: relaysKey, Secret: []byte(flags.secret)})
	if err != nil {
		return nil, err
	}
	sender, err := settlehttp.NewSender(settlehttp.SenderConfig{
		URL: flags.to + eventsPath,
		Sign: func(r *http.Request, body []byte) error {
			r.Header.Set(faults.RelayHeader, flags.name)
			return sign(r, body)
		},
		Timeout: deliveryTimeout,
	})
	if err != nil {
		return nil, err
	}
	return outbox.NewRelay(outbox.RelayConfig{
		Source: events, Sender: sender, Logger: logger,
		Concurrency:    deliveriesAtOnce,
		AttemptTimeout: deliveryTimeout,
		MinBackoff:     20 * time.Millisecond,
		MaxBackoff:     200 * time.Millisecond,
		MaxRetryAfter:  200 * time.Millisecond,
	})
}
