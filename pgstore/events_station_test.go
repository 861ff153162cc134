package pgstore_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/settleonce/settleonce/internal/pgtest"
	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/pgstore"
	"github.com/settleonce/settleonce/receipt"
)

// sink is a destination in memory. What it does with an event is up to its
// owner.
type sink struct {
	batching outbox.Batching
	take     func(*event.Event) // called concurrently; nil does nothing
}

var _ outbox.BatchSender = (*sink)(nil)

// Batching returns what the sink was made with.
func (s *sink) Batching() outbox.Batching { return s.batching }

// Send takes every event.
func (s *sink) Send(_ context.Context, batch []event.Event) []outbox.Answer {
	answers := make([]outbox.Answer, len(batch))
	for i := range batch {
		if s.take != nil {
			s.take(&batch[i])
		}
		answers[i].Ack = outbox.Ack{Kind: outbox.AckPublished, EventID: batch[i].ID}
	}
	return answers
}

// tally counts what relays have delivered and removed.
type tally struct {
	mu      sync.Mutex
	total   outbox.Observation // the sums of its counts
	changed chan struct{}      // closed, and replaced, at every change
}

func newTally() *tally { return &tally{changed: make(chan struct{})} }

// Observe adds a call.
func (c *tally) Observe(_ context.Context, o outbox.Observation) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.total.Events += o.Events
	c.total.Delivered += o.Delivered
	c.total.Refused += o.Refused
	c.total.Failed += o.Failed
	c.total.Unsettled += o.Unsettled
	c.total.Lost += o.Lost
	close(c.changed)
	c.changed = make(chan struct{})
}

// delivered returns how many events were delivered and removed.
func (c *tally) delivered() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.total.Delivered
}

// await waits until so many events were delivered and removed.
func (c *tally) await(ctx context.Context, count int) error {
	for {
		c.mu.Lock()
		delivered, changed := c.total.Delivered, c.changed
		c.mu.Unlock()
		if delivered >= count {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("%d of %d events were delivered: %w", delivered, count, ctx.Err())
		}
	}
}

// station is a relay at work in this process.
type station struct {
	store  *pgstore.Store
	events *pgstore.Events
}

// startStation starts a relay on the pool's database, to the sink. It ends with
// the test.
func startStation(t testing.TB, pool *pgxpool.Pool, to *sink, observer outbox.Observer) *station {
	t.Helper()
	store, err := pgstore.New(pgstore.Config{Pool: pool, Allow: allowTestServer})
	if err != nil {
		t.Fatal(err)
	}
	logger := slog.New(slog.DiscardHandler)
	events, err := pgstore.NewEvents(pgstore.EventsConfig{Store: store, Logger: logger})
	if err != nil {
		t.Fatal(err)
	}
	relay, err := outbox.NewRelay(outbox.RelayConfig{
		Source: events, Sender: to, Observer: observer, AcceptPublished: true, Logger: logger,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	go func() { ran <- relay.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ran; err != nil {
			t.Error(err)
		}
		closing, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := events.Close(closing); err != nil {
			t.Error(err)
		}
	})
	return &station{store, events}
}

// poke commits an event here, which wakes the relay for what others committed.
func (s *station) poke(ctx context.Context) error {
	claim := claimOn(receipt.NewID())
	session, err := s.store.Begin(ctx, claim)
	if err != nil {
		return err
	}
	_, err = session.Commit(ctx, receiptFor(claim), eventOf(claim.Key, ""))
	return err
}

// newEventsPool returns a pool on a migrated database.
func newEventsPool(t testing.TB, configure ...func(*pgxpool.Config)) *pgxpool.Pool {
	t.Helper()
	pool := pgtest.Pool(t, configure...)
	if err := pgstore.Migrate(t.Context(), pool, ""); err != nil {
		t.Fatal(err)
	}
	return pool
}

// holdSnapshot has a transaction keep a snapshot of this moment until the test
// ends.
func holdSnapshot(t testing.TB, pool *pgxpool.Pool) {
	t.Helper()
	tx, err := pool.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tx.Rollback(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if _, err := tx.Exec(t.Context(), "SELECT count(*) FROM settleonce.events"); err != nil {
		t.Fatal(err)
	}
}
