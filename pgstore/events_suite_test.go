package pgstore_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/settleonce/settleonce/internal/lanes"
	"github.com/settleonce/settleonce/internal/lanes/lanestest"
	"github.com/settleonce/settleonce/internal/pgtest"
	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/outbox/outboxtest"
	"github.com/settleonce/settleonce/pgstore"
	"github.com/settleonce/settleonce/receipt"
)

// modes are pgx's ways to send a statement.
var modes = []pgx.QueryExecMode{
	pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe,
	pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol,
}

func ofPoolSize(cfg *pgxpool.Config) { cfg.MaxConns = poolSize }

func inMode(mode pgx.QueryExecMode) func(*pgxpool.Config) {
	return func(cfg *pgxpool.Config) { cfg.ConnConfig.DefaultQueryExecMode = mode }
}

// serializable is a pool whose transactions begin so.
func serializable(cfg *pgxpool.Config) {
	cfg.ConnConfig.RuntimeParams["default_transaction_isolation"] = "serializable"
}

// TestTable runs the suite of tables in each of pgx's modes, in one of them where
// the transactions of the pool would be of another level.
func TestTable(t *testing.T) {
	t.Parallel()
	for _, mode := range modes {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			configure := []func(*pgxpool.Config){inMode(mode)}
			if mode == pgx.QueryExecModeCacheDescribe {
				configure = append(configure, serializable)
			}
			putting := pgtest.Pool(t, ofPoolSize)
			relaying := poolBeside(t, putting, configure...)
			lanestest.TestTable(t, func(tb testing.TB) lanestest.Subject {
				tb.Helper()
				subject, _ := tableSubject(tb, putting, relaying)
				return subject
			})
		})
	}
}

// tableSubject is a table in a schema of its own, into which somebody else puts.
func tableSubject(tb testing.TB, putting, relaying *pgxpool.Pool) (subject lanestest.Subject, schema string) {
	tb.Helper()
	schema = "case_" + strings.ReplaceAll(receipt.NewID(), "-", "")
	f := fixtureOn(tb, putting, pgstore.Config{Schema: schema})
	return lanestest.Subject{
		Table: pgstore.Table(relaying, schema),
		Begin: f.beginEvents,
		Expire: func(ctx context.Context, id int64) error {
			_, err := putting.Exec(ctx, "UPDATE "+schema+".relays SET expires_at = clock_timestamp() - interval '1 second' WHERE id = $1", id)
			return err
		},
		DeadLetters: newEvents(tb, pgstore.EventsConfig{Store: f.store, Pool: relaying}),
	}, schema
}

// beginEvents leaves a transaction with events open, before its COMMIT.
func (f *fixture) beginEvents(ctx context.Context, events ...event.Event) (commit func(context.Context) error, err error) {
	tx, err := f.pool.Begin(ctx)
	if err != nil {
		return nil, err
	}
	// A session has its number by now, from the receipt.
	if _, err := tx.Exec(ctx, "SELECT pg_current_xact_id()"); err != nil {
		return nil, err
	}
	if err := pgstore.InsertEvents(ctx, f.store, tx, receipt.NewID(), events); err != nil {
		return nil, err
	}
	return tx.Commit, nil
}

// poolBeside is another pool on the database of the first.
func poolBeside(tb testing.TB, first *pgxpool.Pool, configure ...func(*pgxpool.Config)) *pgxpool.Pool {
	tb.Helper()
	configure = append([]func(*pgxpool.Config){ofPoolSize}, configure...)
	return pgtest.PoolOn(tb, first.Config().ConnString(), configure...)
}

// newEvents returns events that leave the relays when the test ends.
func newEvents(tb testing.TB, cfg pgstore.EventsConfig) *pgstore.Events {
	tb.Helper()
	events, err := pgstore.NewEvents(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := events.Close(ctx); err != nil {
			tb.Error(err)
		}
	})
	return events
}

// TestSource runs the suite of sources with each policy.
func TestSource(t *testing.T) {
	t.Parallel()
	for name, policy := range map[string]outbox.DeadLetterPolicy{"hold back": outbox.HoldBack, "go on": outbox.GoOn} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := pgtest.Pool(t, ofPoolSize)
			outboxtest.TestSource(t, func(tb testing.TB) outboxtest.SourceSubject {
				tb.Helper()
				schema := "case_" + strings.ReplaceAll(receipt.NewID(), "-", "")
				f := fixtureOn(tb, pool, pgstore.Config{Schema: schema})
				return sourceSubject(tb, f, schema, policy)
			})
		})
	}
}

func sourceSubject(tb testing.TB, f *fixture, schema string, policy outbox.DeadLetterPolicy) outboxtest.SourceSubject {
	tb.Helper()
	events := newEvents(tb, pgstore.EventsConfig{Store: f.store, DeadLetterPolicy: policy})
	return outboxtest.SourceSubject{
		Source: events, Policy: policy, Positions: true,
		Put: func(ctx context.Context, e event.Event) error { return f.settle(ctx, e) },
		Reopen: func(tb testing.TB) outboxtest.SourceSubject {
			tb.Helper()
			if err := events.Close(tb.Context()); err != nil {
				tb.Fatal(err)
			}
			return sourceSubject(tb, f, schema, policy)
		},
		TakeLeases: func(tb testing.TB) func() {
			tb.Helper()
			return takeLeases(tb, f.pool, schema)
		},
	}
}

// settle commits events with the receipt of a key of their own.
func (f *fixture) settle(ctx context.Context, events ...event.Event) error {
	claim := claimOn(receipt.NewID())
	session, err := f.store.Begin(ctx, claim)
	if err != nil {
		return err
	}
	_, err = session.Commit(ctx, receiptFor(claim), events...)
	return err
}

// takeLeases removes all relays as if their time were up, for another that
// takes all lanes, and returns what makes that one leave.
func takeLeases(tb testing.TB, pool *pgxpool.Pool, schema string) func() {
	tb.Helper()
	execute(tb, pool, "UPDATE "+schema+".relays SET expires_at = clock_timestamp() - interval '1 second'")
	table := pgstore.Table(pool, schema)
	ticket, err := table.Join(tb.Context(), time.Hour)
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := table.Renew(tb.Context(), ticket, time.Hour); err != nil {
		tb.Fatal(err)
	}
	if taken, err := table.Take(tb.Context(), ticket, lanes.Count); err != nil || len(taken) != lanes.Count {
		tb.Fatalf("another relay took %d lanes: %v", len(taken), err)
	}
	return func() {
		if err := table.Leave(tb.Context(), ticket); err != nil {
			tb.Error(err)
		}
	}
}
