package pgstore_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/settleonce/settleonce/internal/pgtest"
	"github.com/settleonce/settleonce/pgstore"
	"github.com/settleonce/settleonce/pgstore/pgtemp"
	"github.com/settleonce/settleonce/receipt"
)

// asRole has a pool's connections act as role.
func asRole(role string) func(*pgxpool.Config) {
	return func(cfg *pgxpool.Config) {
		cfg.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
			_, err := conn.Exec(ctx, "SET ROLE "+pgx.Identifier{role}.Sanitize())
			return err
		}
	}
}

// weakStore is a store that puts up with what is listed and nothing else.
func weakStore(t *testing.T, pool *pgxpool.Pool, allow ...pgstore.Weakness) *pgstore.Store {
	t.Helper()
	store, err := pgstore.New(pgstore.Config{Pool: pool, Allow: allow})
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// tryBegin opens a session and ends it.
func tryBegin(store *pgstore.Store, claim receipt.Claim) error {
	session, err := store.Begin(context.Background(), claim)
	if err != nil {
		return err
	}
	return session.Rollback(context.Background())
}

func expectUnfit(t *testing.T, store *pgstore.Store, reason string) {
	t.Helper()
	err := store.Check(t.Context())
	if !errors.Is(err, pgstore.ErrUnfit) || !strings.Contains(err.Error(), reason) {
		t.Errorf("Check = %v, want ErrUnfit for %q", err, reason)
	}
}

func TestCheckRefusesAServerThatLosesCommits(t *testing.T) {
	t.Parallel()
	server := pgtest.Server(t, pgtemp.Config{Parameters: map[string]string{"fsync": "off", "full_page_writes": "off"}})
	pool := pgtest.PoolOn(t, server.DSN())
	if err := pgstore.Migrate(t.Context(), pool, ""); err != nil {
		t.Fatal(err)
	}
	expectUnfit(t, weakStore(t, pool), "fsync is off")
	expectUnfit(t, weakStore(t, pool), "full_page_writes is off")
	if err := weakStore(t, pool, pgstore.FsyncOff).Check(t.Context()); err != nil {
		t.Errorf("Check where that is allowed = %v", err)
	}
}

func TestCheckRefusesUnloggedTables(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	execute(t, f.pool, "ALTER TABLE settleonce.events SET UNLOGGED")
	expectUnfit(t, weakStore(t, f.pool, pgstore.FsyncOff), "unlogged")
	if err := weakStore(t, f.pool, pgstore.FsyncOff, pgstore.Unlogged).Check(t.Context()); err != nil {
		t.Errorf("Check where that is allowed = %v", err)
	}
}

func TestCheckRefusesAnotherEncoding(t *testing.T) {
	t.Parallel()
	server := pgtest.Server(t, pgtemp.Config{})
	execute(t, pgtest.PoolOn(t, server.DSN()), "CREATE DATABASE ascii ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")
	pool := pgtest.PoolOn(t, server.DSN()+" dbname=ascii")
	if err := pgstore.Migrate(t.Context(), pool, ""); err != nil {
		t.Fatal(err)
	}
	expectUnfit(t, weakStore(t, pool), "server_encoding is SQL_ASCII")
}

func TestCheckRefusesCachingSequences(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	execute(t, f.pool, "ALTER SEQUENCE settleonce.events_position_seq CACHE 20")
	expectUnfit(t, weakStore(t, f.pool, pgstore.FsyncOff), "events_position_seq")
}

func TestCheckRefusesMissingLanes(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	execute(t, f.pool, "DELETE FROM settleonce.lanes WHERE lane = 7")
	expectUnfit(t, weakStore(t, f.pool, pgstore.FsyncOff), "255 rows")
}

// synchronousCommitOff is a pool whose sessions begin with it.
func synchronousCommitOff(cfg *pgxpool.Config) {
	cfg.ConnConfig.RuntimeParams["synchronous_commit"] = "off"
}

func TestAsynchronousCommitIsRefused(t *testing.T) {
	t.Parallel()
	pool := newFixture(t, synchronousCommitOff).pool
	strict := weakStore(t, pool, pgstore.FsyncOff)
	expectUnfit(t, strict, "synchronous_commit is off")
	if err := tryBegin(strict, claimOn("m1")); err == nil || !strings.Contains(err.Error(), "synchronous_commit") {
		t.Errorf("Begin = %v, want a refusal for synchronous_commit", err)
	}
	lenient := weakStore(t, pool, pgstore.FsyncOff, pgstore.SynchronousCommitOff)
	if err := lenient.Check(t.Context()); err != nil {
		t.Errorf("Check where that is allowed = %v", err)
	}
	if err := tryBegin(lenient, claimOn("m1")); err != nil {
		t.Errorf("Begin where that is allowed = %v", err)
	}
}

// A connection that an earlier user left with synchronous_commit=off is not
// used again.
func TestPoisonedConnectionIsReplaced(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(cfg *pgxpool.Config) { cfg.MaxConns = 1 })
	execute(t, f.pool, "SET SESSION synchronous_commit = off")
	store := weakStore(t, f.pool, pgstore.FsyncOff)
	if err := tryBegin(store, claimOn("m1")); err == nil {
		t.Error("Begin on the poisoned connection succeeded")
	}
	if err := tryBegin(store, claimOn("m1")); err != nil {
		t.Errorf("Begin after it = %v", err)
	}
}

// The callback's own synchronous_commit does not reach the COMMIT.
func TestCommitIsAsDurableAsTheServerMeans(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	execute(t, f.pool, `CREATE TABLE observed (setting text);
		CREATE FUNCTION observe() RETURNS trigger LANGUAGE plpgsql AS
		$$ BEGIN INSERT INTO observed VALUES (current_setting('synchronous_commit')); RETURN NULL; END $$;
		CREATE CONSTRAINT TRIGGER observe AFTER INSERT ON marks DEFERRABLE INITIALLY DEFERRED
		FOR EACH ROW EXECUTE FUNCTION observe()`)
	claim := claimOn("m1")
	session := f.begin(t, claim)
	if _, err := session.Tx().Exec(t.Context(), "SET LOCAL synchronous_commit = off"); err != nil {
		t.Fatal(err)
	}
	if err := mark(t.Context(), session.Tx(), "effect"); err != nil {
		t.Fatal(err)
	}
	if _, err := session.Commit(t.Context(), receiptFor(claim)); err != nil {
		t.Fatal(err)
	}
	observed, err := f.column(t.Context(), "SELECT setting FROM observed")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"on"}, observed); diff != "" {
		t.Errorf("synchronous_commit at COMMIT (-want +got):\n%s", diff)
	}
}

func TestStandbyIsRefused(t *testing.T) {
	t.Parallel()
	primary := pgtest.Server(t, pgtemp.Config{})
	if err := pgstore.Migrate(t.Context(), pgtest.PoolOn(t, primary.DSN()), ""); err != nil {
		t.Fatal(err)
	}
	standby := pgtest.Standby(t, primary)
	pool := pgtest.PoolOn(t, standby.DSN())
	await(t, pool, "the standby has the tables", "to_regclass('settleonce.events') IS NOT NULL AND pg_is_in_recovery()")
	store := weakStore(t, pool)
	expectUnfit(t, store, "standby")
	for _, isolation := range []receipt.Isolation{receipt.ReadCommitted, receipt.Serializable} {
		claim := claimOn("m1")
		claim.Isolation = isolation
		err := tryBegin(store, claim)
		if err == nil {
			t.Errorf("Begin at %v on a standby succeeded", isolation)
		}
		if isolation == receipt.ReadCommitted && (err == nil || !strings.Contains(err.Error(), "standby")) {
			t.Errorf("Begin at %v = %v, want a word about the standby", isolation, err)
		}
	}
}

// A COMMIT whose wait for the synchronous standby was cut short is on the
// primary, and may still be lost with it.
func TestUnreplicatedCommitIsUnknown(t *testing.T) {
	t.Parallel()
	server := pgtest.Server(t, pgtemp.Config{Parameters: map[string]string{"synchronous_standby_names": "nobody"}})
	impatient := pgtest.PoolOn(t, server.DSN(), func(cfg *pgxpool.Config) {
		cfg.ConnConfig.RuntimeParams["synchronous_commit"] = "local"
	})
	f := fixtureOn(t, impatient, pgstore.Config{})
	var passedOn bool
	store := weakStore(t, pgtest.PoolOn(t, server.DSN(), func(cfg *pgxpool.Config) {
		cfg.ConnConfig.OnNotice = func(*pgconn.PgConn, *pgconn.Notice) { passedOn = true }
		pgstore.WatchReplication(cfg)
	}))
	claim := claimOn("m1")
	session, err := store.Begin(t.Context(), claim)
	if err != nil {
		t.Fatal(err)
	}
	if err := mark(t.Context(), session.Tx(), "effect"); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := session.Commit(context.Background(), receiptFor(claim))
		done <- err
	}()
	await(t, f.pool, "the commit waits for its standby", `(SELECT count(*) FILTER (WHERE pg_cancel_backend(pid)) > 0 FROM pg_stat_activity WHERE wait_event = 'SyncRep')`)
	if err := <-done; !errors.Is(err, receipt.ErrOutcomeUnknown) || errors.Is(err, receipt.ErrNotCommitted) {
		t.Errorf("Commit = %v, want ErrOutcomeUnknown", err)
	}
	if !passedOn {
		t.Error("the notice did not reach the pool's own handler")
	}
	// Resolving finds it, as it would any commit whose answer was lost.
	claimed, _ := f.begin(t, claimOn("m1")).Prior()
	if claimed == nil || claimed.Attempt != claim.Attempt {
		t.Errorf("receipt = %v, want the attempt's", claimed)
	}
}
