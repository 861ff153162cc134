package pgstore_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/settleonce/settleonce/internal/processtest"
	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/pgstore"
)

// TestMain lets tests start this binary again, as a relay.
func TestMain(m *testing.M) { processtest.Main[order](m) }

// order says what a relay's process is to do.
type order struct {
	// Relay is its name, Socket that of the destination.
	Relay, DSN, Socket string
	Lease              time.Duration
	// Concurrency and MaxEvents are calls at once and events a call.
	Concurrency, MaxEvents int
	// Deaf has the sender not heed its context.
	Deaf bool
}

// Follow relays until the input says something or ends.
func (o order) Follow(ctx context.Context, in *bufio.Reader, _ io.Writer) (err error) {
	pool, err := pgxpool.New(ctx, o.DSN)
	if err != nil {
		return err
	}
	defer pool.Close()
	store, err := pgstore.New(pgstore.Config{Pool: pool, Allow: allowTestServer})
	if err != nil {
		return err
	}
	logger := slog.New(slog.DiscardHandler) // the tests provoke all that there is to tell
	events, err := pgstore.NewEvents(pgstore.EventsConfig{
		Store: store, Lease: o.Lease, Rescan: time.Second, Logger: logger, // what a crash brings back is found by a rescan
	})
	if err != nil {
		return err
	}
	courier := newCourier(o)
	relay, err := outbox.NewRelay(outbox.RelayConfig{
		Source: events, Sender: courier, Observer: courier, AcceptPublished: true,
		Concurrency: o.Concurrency, AttemptTimeout: patience, MinBackoff: time.Millisecond, Logger: logger,
	})
	if err != nil {
		return err
	}
	running, stop := context.WithCancel(ctx)
	go func() {
		defer stop()
		_, _ = in.ReadString('\n') // an end of the input is one too
	}()
	err = relay.Run(running)
	closing, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return errors.Join(err, events.Close(closing))
}

// relayProcess is a relay in a process of its own.
type relayProcess struct {
	*processtest.Process
	name string
}

// stopInOrder has the relay finish what is in flight and leave.
func (p *relayProcess) stopInOrder(t *testing.T) {
	t.Helper()
	p.Tell(t, "stop")
	state, err := p.Wait()
	if err != nil {
		t.Fatal(err)
	}
	if !state.Success() {
		t.Errorf("relay %q ended with %v", p.name, state)
	}
}
