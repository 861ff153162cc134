package pgfault_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/settleonce/settleonce/internal/pgtest"
	"github.com/settleonce/settleonce/pgstore/pgfault"
	"github.com/settleonce/settleonce/pgstore/pgtemp"
)

func TestOtherStatementsPass(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	c := s.connect(t, pgx.QueryExecModeCacheStatement)
	trap := s.arm(t, pgfault.AnswerLost)
	for _, sql := range []string{
		"BEGIN", insertSQL, "SAVEPOINT s", "ROLLBACK TO s", "ROLLBACK",
		"DO $$ BEGIN PERFORM 1; END $$", "SELECT 'commit'", "BEGIN; SELECT 1; ROLLBACK",
	} {
		if _, err := c.Exec(t.Context(), sql, pgx.QueryExecModeSimpleProtocol); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	if _, err := c.CopyFrom(t.Context(), pgx.Identifier{"marks"}, []string{"mark"},
		pgx.CopyFromRows([][]any{{"copied"}, {strings.Repeat("long", 100_000)}})); err == nil {
		t.Error("a key too long for its index was copied")
	}
	if _, err := c.CopyFrom(t.Context(), pgx.Identifier{"marks"}, []string{"mark"},
		pgx.CopyFromRows([][]any{{"copied"}})); err != nil {
		t.Fatal(err)
	}
	if !trap.Disarm() {
		t.Error("a statement other than COMMIT sprang the trap")
	}
	if _, err := trap.Report(t.Context()); !errors.Is(err, pgfault.ErrNotSprung) {
		t.Errorf("report of a disarmed trap: %v, want ErrNotSprung", err)
	}
	if trap.Disarm() {
		t.Error("disarmed twice")
	}
}

func TestCommitPassesWithoutATrap(t *testing.T) {
	t.Parallel()
	for _, way := range ways() {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			c := s.connect(t, way.mode)
			c.begin(t)
			tags, err := way.send(t.Context(), c)
			if err != nil || len(tags) != 2 || tags[1] != "COMMIT" {
				t.Errorf("tags %q, error %v", tags, err)
			}
		})
	}
}

// TestTrapsAreSprungOnceInOrder: two traps and three commits.
func TestTrapsAreSprungOnceInOrder(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	first, second := s.arm(t, pgfault.CommitNotForwarded), s.arm(t, pgfault.AnswerLost)
	for _, want := range []struct {
		trap *pgfault.Trap
		fail bool
	}{{first, true}, {second, true}, {nil, false}} {
		c := s.connect(t, pgx.QueryExecModeExec)
		c.begin(t)
		_, err := c.Exec(t.Context(), "COMMIT")
		if failed := err != nil; failed != want.fail {
			t.Fatalf("error %v, want one: %v", err, want.fail)
		}
		if want.trap != nil {
			if _, err := want.trap.Report(t.Context()); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestCancelPasses: a cancelled context reaches a statement through the proxy.
func TestCancelPasses(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	c := s.connect(t, pgx.QueryExecModeExec)
	c.begin(t)
	ctx, cancel := context.WithCancel(t.Context())
	slept := make(chan error, 1)
	go func() {
		_, err := c.Exec(ctx, "SELECT pg_sleep(3600)")
		slept <- err
	}()
	s.await(t, "SELECT count(*) = 1 FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep%' AND state = 'active'")
	cancel()
	if err := <-slept; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
	s.marks(t) // takes the lock that the statement's transaction held
}

// await runs a query until it says true.
func (s *stage) await(t *testing.T, query string) {
	t.Helper()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for {
		var is bool
		if err := s.direct.QueryRow(t.Context(), query).Scan(&is); err != nil {
			t.Fatal(err)
		}
		if is {
			return
		}
		<-ticker.C
	}
}

// TestCancelOfACutConnectionIsDropped: pgx asks to cancel what it lost. The
// held transaction must survive that, or it would not commit later.
func TestCancelOfACutConnectionIsDropped(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	c := s.connect(t, pgx.QueryExecModeExec)
	c.begin(t)
	trap := s.arm(t, pgfault.CommitHeld)
	batch := &pgx.Batch{}
	// Still running when the client is cut, so that a cancellation would hit.
	s.execute(t, "CREATE TABLE gate ()")
	keeper, err := s.direct.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := keeper.Exec(t.Context(), "LOCK TABLE gate"); err != nil {
		t.Fatal(err)
	}
	batch.Queue("SELECT FROM gate")
	batch.Queue("COMMIT")
	if err := c.SendBatch(t.Context(), batch).Close(); err == nil {
		t.Fatal("the client got an answer")
	}
	// A cancellation on purpose, besides pgx's own.
	if err := c.PgConn().CancelRequest(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.await(t, "SELECT count(*) = 1 FROM pg_locks WHERE relation = 'gate'::regclass AND NOT granted")
	if err := keeper.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	trap.Release()
	report, err := trap.Report(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if report.Outcome != pgfault.Committed || report.SQLState != "" {
		t.Errorf("report %+v, want committed", report)
	}
}

func TestSetTargetSendsNewConnectionsToTheStandby(t *testing.T) {
	t.Parallel()
	primary := pgtest.Server(t, pgtemp.Config{})
	standby := pgtest.Standby(t, primary)
	proxy := listen(t, pgfault.Config{Target: primary.DSN()})
	open := pgtest.PoolOn(t, proxy.DSN(), func(cfg *pgxpool.Config) { cfg.MaxConns = 1 })
	inRecovery := func(pool *pgxpool.Pool) (is bool) {
		if err := pool.QueryRow(t.Context(), "SELECT pg_is_in_recovery()").Scan(&is); err != nil {
			t.Fatal(err)
		}
		return is
	}
	if inRecovery(open) {
		t.Fatal("the proxy starts at the standby")
	}
	if err := proxy.SetTarget(standby.DSN()); err != nil {
		t.Fatal(err)
	}
	if inRecovery(open) {
		t.Error("an open connection has changed its server")
	}
	if !inRecovery(pgtest.PoolOn(t, proxy.DSN())) {
		t.Error("a new connection still goes to the primary")
	}
}

func TestListensOnAUnixSocket(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "socket-") //nolint:usetesting // its path would be too long
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	proxy := listen(t, pgfault.Config{Target: pgtest.DSN(t), SocketDir: dir})
	if !strings.Contains(proxy.DSN(), dir) {
		t.Errorf("DSN %q does not name the directory", proxy.DSN())
	}
	if err := pgtest.PoolOn(t, proxy.DSN()).Ping(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestDeclinesTLS: a client that would like TLS, and can do without, connects.
func TestDeclinesTLS(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	if err := pgtest.PoolOn(t, s.proxy.DSN()+" sslmode=prefer").Ping(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestTargets(t *testing.T) {
	t.Parallel()
	for dsn, want := range map[string]string{
		"":                                "Target: must be set",
		"host=db.example sslmode=require": "Target: sslmode must allow",
		"postgres://db.example/x?sslmode=verify-ca": "Target: sslmode must allow",
		"no connection string":                      "Target: ",
	} {
		proxy, err := pgfault.Listen(pgfault.Config{Target: dsn})
		if err == nil {
			proxy.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("target %q: error %v, want %q", dsn, err, want)
		}
	}
	for _, dsn := range []string{
		"host=db.example user=u dbname=d", "postgres://u@db.example:1/d?sslmode=prefer",
		"postgres://u@/d?host=/nowhere&sslmode=disable",
	} {
		proxy := listen(t, pgfault.Config{Target: dsn})
		cfg, err := pgx.ParseConfig(proxy.DSN())
		if err != nil {
			t.Fatal(err)
		}
		if cfg.Host != "127.0.0.1" || cfg.Port == 5432 || cfg.User != "u" || cfg.Database != "d" || cfg.TLSConfig != nil {
			t.Errorf("target %q became %q", dsn, proxy.DSN())
		}
		if _, err := pgx.ConnectConfig(t.Context(), cfg); err == nil {
			t.Errorf("connected to %q", dsn)
		}
	}
}

func TestClosedProxy(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	c := s.connect(t, pgx.QueryExecModeExec)
	trap := s.arm(t, pgfault.AnswerLost)
	for range 2 {
		if err := s.proxy.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Ping(t.Context()); err == nil {
		t.Error("a connection outlived its proxy")
	}
	if _, err := trap.Report(t.Context()); !errors.Is(err, pgfault.ErrNotSprung) {
		t.Errorf("report: %v, want ErrNotSprung", err)
	}
	if _, err := s.proxy.Arm(pgfault.AnswerLost); err == nil {
		t.Error("armed a closed proxy")
	}
}

func TestUnknownFaultIsRefused(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	_, err := s.proxy.Arm("commit-lost")
	if err == nil || !strings.Contains(err.Error(), `"commit-lost"`) || !strings.Contains(err.Error(), "answer-lost") {
		t.Errorf("error %v", err)
	}
}
