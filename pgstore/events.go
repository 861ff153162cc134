package pgstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/settleonce/settleonce/internal/lanes"
	"github.com/settleonce/settleonce/outbox"
)

// What the zero values of an [EventsConfig] stand for.
const (
	DefaultLease   = lanes.DefaultLease
	DefaultMinPoll = lanes.DefaultMinPoll
	DefaultMaxPoll = lanes.DefaultMaxPoll
	DefaultRescan  = lanes.DefaultRescan
)

// EventsConfig says how [Events] takes its part of a store's events.
type EventsConfig struct {
	// Store is whose events these are. Required. What it commits in this
	// process is noticed at once.
	Store *Store
	// Pool lends connections for single statements, two at a time and one more
	// for each call to the sender. It stays the caller's to close. Nil: the
	// store's, whose sessions may then keep a relay waiting, and its lease from
	// being renewed.
	Pool *pgxpool.Pool
	// Lease is how long the lanes of a relay that died stand still. It must be
	// well above what a call to the sender takes: a call ends with it. Zero:
	// [DefaultLease].
	Lease time.Duration
	// MinPoll and MaxPoll bound the pause between two looks at the table:
	// MinPoll after one that found something, doubled after each that found
	// nothing. Zero: [DefaultMinPoll] and [DefaultMaxPoll].
	MinPoll time.Duration
	MaxPoll time.Duration
	// Rescan is the pause between two scans from the start. Zero:
	// [DefaultRescan].
	Rescan time.Duration
	// DeadLetterPolicy says what becomes of the events that follow a dead
	// letter in its ordering key. It is kept with each dead letter: another
	// value changes nothing for those that are there. Zero: [outbox.HoldBack].
	DeadLetterPolicy outbox.DeadLetterPolicy
	// Logger gets what an operator needs to know: lanes taken, given up and
	// lost, and renewals that fail. Never an event. Nil: slog.Default.
	Logger *slog.Logger
}

// Events is a store's table of events as the source of an [outbox.Relay]. What
// nil, an error and a crash mean for each call is what [outbox.Source],
// [outbox.LeasedSource] and [outbox.DeadLetters] say.
//
// # Sharing
//
// All Events on one table, of this process and of others, are one group: each
// delivers the events of its own lanes, so that each event has one relay at a
// time. There is no second group that gets the same events again: what one has
// removed is gone. Relays come and go at any time. The lanes of one that died
// are taken over when its lease has passed; [Events.Close] frees them at once.
// Whoever stops his relay and lives on must call it: until then the lease is
// renewed, and nobody delivers the events of those lanes.
//
// No write of a relay takes effect once its lanes are another's: deletions and
// dead letters carry the relay's epoch, and wait with whoever changes it.
//
// # What a consumer sees
//
// The events of one ordering key in the order of their commits, each at least
// once, with a Position that rises strictly and has gaps. A relay that was
// paused (a stopped process, a suspended machine) may finish the calls that were
// out, after others have delivered the same events and later ones: a consumer
// sees an old delivery again, whose Position is not above the last that it saw
// of that ordering key. The same happens after a crash of the database, which
// may bring back events whose deletion it had not written yet, when the
// server's clock is set forward, which ends leases early, and with
// [outbox.GoOn] when a dead letter is requeued, which is the first delivery of
// that one.
//
// # What can't be read
//
// A row that is no event any more, since somebody changed it by hand, or that a
// newer release wrote in another form, becomes a dead letter, whose Event is nil,
// with what is wrong as its reason. Nothing of it is lost: mended in SQL, or read
// by the newer release, it can be requeued.
//
// # Cost
//
// A commit of the same process, through the same Store, wakes the relay at once.
// Commits of others are found by polling: an idle relay sends one and a half
// transactions a second, one of them the poll at MaxPoll and the rest the
// renewal of the lease. A new event of another process waits for MaxPoll at
// most.
//
// Everything is one transaction in one flush, at READ COMMITTED whatever the
// pool's own level, and leaves nothing behind in its session, so it works behind
// a pooler in transaction mode. For pgx's modes there see the package comment;
// in the modes exec and simple_protocol results come as text, and an event costs
// twice as much to read. Deletions don't wait for the disk; dead letters do, even
// where the pool's sessions have synchronous_commit off.
//
// # What it asks of the server
//
// The table's own settings call for vacuum after 10,000 dead rows, but the server
// looks only each autovacuum_naptime, and a vacuum that starts behind a burst of
// millions takes its time: where tens of thousands of events a second go on for
// minutes, set it to some seconds. Dead rows cost space; a relay's rate stays.
//
// A failover to an asynchronous standby can lose commits, and then positions are
// given a second time, below what running relays have read. Start relays anew
// after one; until then what is committed there waits for their next rescan, and
// may follow later events of its ordering key.
//
// Safe for concurrent use.
type Events struct {
	source *lanes.Source
	table  *table
	store  *Store
}

var (
	_ outbox.LeasedSource = (*Events)(nil)
	_ outbox.LagSource    = (*Events)(nil)
	_ outbox.DeadLetters  = (*Events)(nil)
)

// NewEvents returns the events of a store. It sends nothing and joins nothing:
// the first [Events.Next] does, so that an operator's tool may use the rest. An
// error names every field of cfg that breaks its rule.
func NewEvents(cfg EventsConfig) (*Events, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	if cfg.Pool == nil {
		cfg.Pool = cfg.Store.config.Pool
	}
	table := newTable(cfg.Pool, cfg.Store.config.Schema)
	source, err := lanes.New(cfg.lanes(table))
	if err != nil {
		return nil, fmt.Errorf("pgstore: EventsConfig: %w", err)
	}
	events := &Events{source: source, table: table, store: cfg.Store}
	cfg.Store.watchers.add(events)
	return events, nil
}

// validate returns every field that breaks a rule, all at once.
func (c *EventsConfig) validate() error {
	var broken []error
	if c.Store == nil {
		broken = append(broken, errors.New("pgstore: EventsConfig.Store must be set"))
	}
	switch c.DeadLetterPolicy {
	case outbox.DefaultPolicy, outbox.HoldBack, outbox.GoOn:
	default:
		broken = append(broken, fmt.Errorf("pgstore: EventsConfig.DeadLetterPolicy must be one of outbox's, is %d", c.DeadLetterPolicy))
	}
	shared := c.lanes(newTable(nil, ""))
	if err := shared.Validate(); err != nil {
		broken = append(broken, fmt.Errorf("pgstore: EventsConfig: %w", err))
	}
	return errors.Join(broken...)
}

// lanes is what the relay's logic is configured with.
func (c *EventsConfig) lanes(of *table) lanes.Config {
	return lanes.Config{
		Table: of, Lease: c.Lease, MinPoll: c.MinPoll, MaxPoll: c.MaxPoll, Rescan: c.Rescan, Logger: c.Logger,
		HoldBack: c.DeadLetterPolicy != outbox.GoOn,
	}
}

// Next implements [outbox.Source]. The first one joins the relays.
func (e *Events) Next(ctx context.Context, limit int, except map[string]struct{}) ([]outbox.Record, error) {
	return e.source.Next(ctx, limit, except)
}

// Remove implements [outbox.Source].
func (e *Events) Remove(ctx context.Context, records []outbox.Record) error {
	return e.source.Remove(ctx, records)
}

// SetAside implements [outbox.Source].
func (e *Events) SetAside(ctx context.Context, record outbox.Record, why outbox.Refusal) error {
	return e.source.SetAside(ctx, record, why)
}

// Release implements [outbox.Source].
func (e *Events) Release(records []outbox.Record) { e.source.Release(records) }

// Lease implements [outbox.LeasedSource].
func (e *Events) Lease(records []outbox.Record) (leased []outbox.Record, until time.Time, done func()) {
	return e.source.Lease(records)
}

// Wake implements [outbox.Source].
func (e *Events) Wake() <-chan struct{} { return e.source.Wake() }

// Lag implements [outbox.LagSource], for all relays of the table together. Up
// to [MaxExactPending] events are counted exactly. An event whose transaction
// was open for more than five seconds may be missing in it for a minute, or for
// twenty times what a count from the start takes where that is longer.
func (e *Events) Lag(ctx context.Context) (outbox.Lag, error) { return e.table.lag(ctx) }

// DeadLetters implements [outbox.DeadLetters]. The IDs are positions, with zeros
// in front.
func (e *Events) DeadLetters(ctx context.Context, after string, limit int) ([]outbox.DeadLetter, error) {
	position, ok := letterPosition(after)
	if after != "" && !ok {
		return nil, fmt.Errorf("pgstore: after must be the ID of a dead letter, is %q", after)
	}
	return e.table.letters(ctx, position, limit)
}

// Requeue implements [outbox.DeadLetters]. The event has its old position again.
func (e *Events) Requeue(ctx context.Context, id string) error {
	ordering, err := e.table.requeue(ctx, id)
	if err == nil {
		e.source.Reopened(ordering)
	}
	return err
}

// Discard implements [outbox.DeadLetters]. The row stays in the table of dead
// letters, with both reasons, until an operator deletes it in SQL.
func (e *Events) Discard(ctx context.Context, id, reason string) error {
	ordering, err := e.table.discard(ctx, id, reason)
	if err == nil {
		e.source.Reopened(ordering)
	}
	return err
}

// Close leaves the relays and frees the lanes for others at once. It waits for
// calls to the sender that are out, for as long as ctx allows. An error or a
// crash: the lanes are free when the lease has passed. Nothing must be called
// after it.
func (e *Events) Close(ctx context.Context) error {
	e.store.watchers.remove(e)
	return e.source.Close(ctx)
}
