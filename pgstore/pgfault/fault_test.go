package pgfault_test

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/settleonce/settleonce/internal/pgtest"
	"github.com/settleonce/settleonce/pgstore/pgfault"
)

// stage is a database with a table, a pool that goes straight to it, and a
// proxy in front of it.
type stage struct {
	direct *pgxpool.Pool
	proxy  *pgfault.Proxy
}

func newStage(t *testing.T) *stage {
	t.Helper()
	dsn := pgtest.DSN(t)
	s := &stage{direct: pgtest.PoolOn(t, dsn), proxy: listen(t, pgfault.Config{Target: dsn})}
	s.execute(t, `CREATE TABLE marks (mark text PRIMARY KEY, later text UNIQUE DEFERRABLE INITIALLY DEFERRED)`)
	return s
}

func listen(t *testing.T, cfg pgfault.Config) *pgfault.Proxy {
	t.Helper()
	proxy, err := pgfault.Listen(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := proxy.Close(); err != nil {
			t.Error(err)
		}
	})
	return proxy
}

func (s *stage) execute(t *testing.T, sql string) {
	t.Helper()
	if _, err := s.direct.Exec(t.Context(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func (s *stage) arm(t *testing.T, fault pgfault.Fault) *pgfault.Trap {
	t.Helper()
	trap, err := s.proxy.Arm(fault)
	if err != nil {
		t.Fatal(err)
	}
	return trap
}

// marks waits for every transaction that holds the stage's lock to end, and
// returns what was committed.
func (s *stage) marks(t *testing.T) []string {
	t.Helper()
	var marks []string
	err := pgx.BeginFunc(t.Context(), s.direct, func(tx pgx.Tx) error {
		if _, err := tx.Exec(t.Context(), lockSQL); err != nil {
			return err
		}
		rows, err := tx.Query(t.Context(), "SELECT mark FROM marks ORDER BY mark")
		if err != nil {
			return err
		}
		marks, err = pgx.CollectRows(rows, pgx.RowTo[string])
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return marks
}

const lockSQL = "SELECT pg_advisory_xact_lock(1)"

// client is a connection through the proxy that counts what it is sent.
type client struct {
	*pgx.Conn
	received atomic.Int64
}

// counted counts the bytes that are read.
type counted struct {
	net.Conn
	count *atomic.Int64
}

func (c counted) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.count.Add(int64(n))
	return n, err
}

func (s *stage) connect(t *testing.T, mode pgx.QueryExecMode) *client {
	t.Helper()
	cfg, err := pgx.ParseConfig(s.proxy.DSN())
	if err != nil {
		t.Fatal(err)
	}
	cfg.DefaultQueryExecMode = mode
	c := &client{}
	cfg.AfterNetConnect = func(_ context.Context, _ *pgconn.Config, conn net.Conn) (net.Conn, error) {
		return counted{conn, &c.received}, nil
	}
	if c.Conn, err = pgx.ConnectConfig(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(context.Background()) })
	return c
}

// begin opens a transaction that holds the stage's lock.
func (c *client) begin(t *testing.T) {
	t.Helper()
	for _, sql := range []string{"BEGIN", lockSQL} {
		if _, err := c.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
}

// A way sends an INSERT and a COMMIT. It returns the command tags that came
// back, and the first error.
type way struct {
	name string
	mode pgx.QueryExecMode
	send func(ctx context.Context, c *client) ([]string, error)
	// together says that both are one pipeline.
	together bool
}

func ways() []way {
	modes := map[string]pgx.QueryExecMode{
		"simple": pgx.QueryExecModeSimpleProtocol, "exec": pgx.QueryExecModeExec,
		"describe": pgx.QueryExecModeCacheDescribe, "prepared": pgx.QueryExecModeCacheStatement,
	}
	var all []way
	for name, mode := range modes {
		all = append(all,
			way{name + " serial", mode, sendSerially, false},
			way{name + " batch", mode, sendBatch, true})
	}
	return all
}

func sendSerially(ctx context.Context, c *client) ([]string, error) {
	var tags []string
	for _, sql := range []string{insertSQL, "COMMIT"} {
		tag, err := c.Exec(ctx, sql)
		if err != nil {
			return tags, err
		}
		tags = append(tags, tag.String())
	}
	return tags, nil
}

func sendBatch(ctx context.Context, c *client) ([]string, error) {
	batch := &pgx.Batch{}
	batch.Queue(insertSQL)
	batch.Queue("commit")
	results := c.SendBatch(ctx, batch)
	var tags []string
	for range batch.Len() {
		tag, err := results.Exec()
		if err != nil {
			return tags, errors.Join(err, results.Close())
		}
		tags = append(tags, tag.String())
	}
	return tags, results.Close()
}

const insertSQL = "INSERT INTO marks VALUES ('made')"

// TestFaults runs each fault at a COMMIT that comes in each way.
func TestFaults(t *testing.T) {
	t.Parallel()
	for _, fault := range []struct {
		name      pgfault.Fault
		forwarded bool
		outcome   pgfault.Outcome
		marks     []string
	}{
		{pgfault.CommitNotForwarded, false, pgfault.NoAnswer, []string{}},
		{pgfault.AnswerLost, true, pgfault.Committed, []string{"made"}},
		{pgfault.CompletionDropped, true, pgfault.Committed, []string{"made"}},
		{pgfault.CommitHeld, true, pgfault.Committed, []string{"made"}},
	} {
		for _, way := range ways() {
			t.Run(string(fault.name)+" "+way.name, func(t *testing.T) {
				t.Parallel()
				s := newStage(t)
				c := s.connect(t, way.mode)
				s.warm(t, c, way)
				c.begin(t)
				trap := s.arm(t, fault.name)
				before := c.received.Load()
				tags, err := way.send(t.Context(), c)
				if err == nil {
					t.Fatalf("the client got an answer: %q", tags)
				}
				checkTags(t, fault.name, way, tags)
				<-trap.Sprung()
				if fault.name == pgfault.CommitHeld {
					s.checkHeld(t)
					trap.Release()
				}
				report, err := trap.Report(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				want := pgfault.Report{
					Fault: fault.name, Forwarded: fault.forwarded, Outcome: fault.outcome,
					Returned: report.Returned,
				}
				if diff := cmp.Diff(want, report); diff != "" {
					t.Errorf("report (-want +got):\n%s", diff)
				}
				checkReturned(t, fault.name, way, report.Returned, int(c.received.Load()-before))
				if diff := cmp.Diff(fault.marks, s.marks(t)); diff != "" {
					t.Errorf("committed (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// warm has the connection's caches hold what the way sends, so that the flush
// is one pipeline of names, as on a connection in use.
func (s *stage) warm(t *testing.T, c *client, way way) {
	t.Helper()
	if _, err := way.send(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	s.execute(t, "DELETE FROM marks")
}

func checkTags(t *testing.T, fault pgfault.Fault, way way, tags []string) {
	t.Helper()
	var want []string
	if !way.together || fault == pgfault.CompletionDropped {
		want = []string{"INSERT 0 1"}
	}
	if diff := cmp.Diff(want, tags); diff != "" {
		t.Errorf("tags that the client got (-want +got):\n%s", diff)
	}
}

// checkReturned compares the proxy's count with what the client's socket got.
func checkReturned(t *testing.T, fault pgfault.Fault, way way, returned, received int) {
	t.Helper()
	if way.together && returned != received {
		t.Errorf("the report counts %d bytes returned, the client got %d", returned, received)
	}
	if fault != pgfault.CompletionDropped && returned != 0 {
		t.Errorf("%d bytes of the answer were returned", returned)
	}
	if fault == pgfault.CompletionDropped && way.together && returned == 0 {
		t.Error("no byte of the answer before COMMIT's was returned")
	}
}

// checkHeld checks that the transaction is open, with its locks, and its effect
// not to be seen.
func (s *stage) checkHeld(t *testing.T) {
	t.Helper()
	var free bool
	var marks int
	row := s.direct.QueryRow(t.Context(), "SELECT pg_try_advisory_xact_lock(1), (SELECT count(*) FROM marks)")
	if err := row.Scan(&free, &marks); err != nil {
		t.Fatal(err)
	}
	if free || marks != 0 {
		t.Errorf("while COMMIT is held: lock free %v, %d rows", free, marks)
	}
}

// TestRefusedCommit arms the faults that forward COMMIT at one that the server
// answers with an error, or with ROLLBACK.
func TestRefusedCommit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		spoil    string
		sqlState string
	}{
		{"deferred constraint", "INSERT INTO marks VALUES ('b', 'same'), ('c', 'same')", "23505"},
		{"failed transaction", "SELECT 1/0", ""},
	} {
		for _, fault := range []pgfault.Fault{pgfault.AnswerLost, pgfault.CompletionDropped, pgfault.CommitHeld} {
			t.Run(c.name+" "+string(fault), func(t *testing.T) {
				t.Parallel()
				s := newStage(t)
				conn := s.connect(t, pgx.QueryExecModeExec)
				conn.begin(t)
				_, _ = conn.Exec(t.Context(), c.spoil) // may well fail
				trap := s.arm(t, fault)
				trap.Release() // before the COMMIT comes: not held for long
				tag, err := conn.Exec(t.Context(), "COMMIT")
				if err == nil {
					t.Fatalf("the client got an answer: %s", tag)
				}
				report, err := trap.Report(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				want := pgfault.Report{
					Fault: fault, Forwarded: true, Outcome: pgfault.RolledBack, SQLState: c.sqlState,
					Returned: report.Returned,
				}
				if diff := cmp.Diff(want, report); diff != "" {
					t.Errorf("report (-want +got):\n%s", diff)
				}
				if returned := report.Returned > 0; returned != (fault == pgfault.CompletionDropped) {
					t.Errorf("%d bytes returned", report.Returned)
				}
				if diff := cmp.Diff([]string{}, s.marks(t)); diff != "" {
					t.Errorf("committed (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// TestErrorBeforeCommit: a statement before COMMIT in its pipeline fails, so
// the server skips COMMIT.
func TestErrorBeforeCommit(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.execute(t, insertSQL)
	c := s.connect(t, pgx.QueryExecModeExec)
	c.begin(t)
	trap := s.arm(t, pgfault.AnswerLost)
	if _, err := sendBatch(t.Context(), c); err == nil {
		t.Fatal("the client got an answer")
	}
	report, err := trap.Report(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := pgfault.Report{Fault: pgfault.AnswerLost, Forwarded: true, Outcome: pgfault.RolledBack, SQLState: "23505"}
	if diff := cmp.Diff(want, report); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
}

// TestServerEndsBeforeItsAnswer: the backend that a COMMIT is held back from
// is terminated, so nobody knows.
func TestServerEndsBeforeItsAnswer(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	c := s.connect(t, pgx.QueryExecModeExec)
	c.begin(t)
	trap := s.arm(t, pgfault.CommitHeld)
	if _, err := c.Exec(t.Context(), "COMMIT"); err == nil {
		t.Fatal("the client got an answer")
	}
	<-trap.Sprung()
	s.execute(t, "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()")
	trap.Release()
	report, err := trap.Report(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if report.Outcome != pgfault.NoAnswer || report.SQLState != "57P01" {
		t.Errorf("report %+v, want no answer and 57P01", report)
	}
}

// TestClosedProxyRollsAHeldCommitBack: what was never released never commits.
func TestClosedProxyRollsAHeldCommitBack(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	c := s.connect(t, pgx.QueryExecModeExec)
	c.begin(t)
	trap := s.arm(t, pgfault.CommitHeld)
	if _, err := sendBatch(t.Context(), c); err == nil {
		t.Fatal("the client got an answer")
	}
	<-trap.Sprung()
	if err := s.proxy.Close(); err != nil {
		t.Fatal(err)
	}
	report, err := trap.Report(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(pgfault.Report{Fault: pgfault.CommitHeld, Outcome: pgfault.NoAnswer}, report); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{}, s.marks(t)); diff != "" {
		t.Errorf("committed (-want +got):\n%s", diff)
	}
}

// TestReportWaitsForItsContext: a trap that nothing springs.
func TestReportWaitsForItsContext(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	trap := s.arm(t, pgfault.AnswerLost)
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := trap.Report(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want context.DeadlineExceeded", err)
	}
	select {
	case <-trap.Sprung():
		t.Error("sprung by nothing")
	default:
	}
}

// TestAnswerOfAnEarlierPipelineDecidesNothing: a client that does not wait for
// answers has one coming when its COMMIT is met.
func TestAnswerOfAnEarlierPipelineDecidesNothing(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	c := s.connect(t, pgx.QueryExecModeExec)
	s.execute(t, "CREATE TABLE gate ()")
	keeper, err := s.direct.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := keeper.Exec(t.Context(), "LOCK TABLE gate"); err != nil {
		t.Fatal(err)
	}
	trap := s.arm(t, pgfault.AnswerLost)
	pipeline := c.PgConn().StartPipeline(t.Context())
	for _, sql := range []string{"BEGIN", insertSQL, "SELECT FROM gate", "COMMIT"} {
		pipeline.SendQueryParams(sql, nil, nil, nil, nil)
		if err := pipeline.Sync(); err != nil {
			t.Fatal(err)
		}
	}
	s.await(t, "SELECT count(*) = 1 FROM pg_locks WHERE relation = 'gate'::regclass AND NOT granted")
	if err := keeper.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	report, err := trap.Report(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(pgfault.Report{Fault: pgfault.AnswerLost, Forwarded: true, Outcome: pgfault.Committed}, report); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	if err := pipeline.Close(); err == nil {
		t.Error("the client got an answer")
	}
}
