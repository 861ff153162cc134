package pgstore_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/settleonce/settleonce/internal/pgtest"
	"github.com/settleonce/settleonce/pgstore"
)

// shadowed are the functions that the store's statements call, each with its
// result.
var shadowed = map[string]string{
	"pg_is_in_recovery()": "boolean", "current_setting(text)": "text", "current_setting(text, boolean)": "text",
	"set_config(text, text, boolean)": "text", "pg_advisory_xact_lock(bigint)": "void", "clock_timestamp()": "timestamptz",
	"unnest(bigint[])": "SETOF bigint", "pg_current_xact_id()": "xid8", "pg_xact_status(xid8)": "text",
	"to_regclass(text)": "regclass", "to_regnamespace(text)": "regnamespace",
}

// shadow puts a schema before pg_catalog in which each of them fails, as do the
// type text and the aggregates.
func shadow(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	var sql strings.Builder
	sql.WriteString(`CREATE SCHEMA shadow;
		CREATE FUNCTION shadow.fail() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'shadowed'; END $$;
		CREATE FUNCTION shadow.fail(int, int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'shadowed'; END $$;
		CREATE FUNCTION shadow.fail(int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'shadowed'; END $$;
		CREATE AGGREGATE shadow.max(int) (SFUNC = shadow.fail, STYPE = int, INITCOND = '0');
		CREATE AGGREGATE shadow.count(*) (SFUNC = shadow.fail, STYPE = int, INITCOND = '0');
		CREATE TABLE shadow.text ();`)
	for function, result := range shadowed {
		fmt.Fprintf(&sql, "CREATE FUNCTION shadow.%s RETURNS %s LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'shadowed'; END $$;", function, result)
	}
	execute(t, pool, sql.String())
}

// Whatever stands before pg_catalog in the search path, be it by an application
// that mocks the clock there, the store's statements mean PostgreSQL's own.
func TestSearchPathDoesNotReachTheStore(t *testing.T) {
	t.Parallel()
	plain := newFixture(t)
	shadow(t, plain.pool)
	f := fixtureOn(t, pgtest.PoolOn(t, plain.pool.Config().ConnString(), func(cfg *pgxpool.Config) {
		cfg.ConnConfig.RuntimeParams["search_path"] = "shadow, pg_catalog, public"
	}), pgstore.Config{})
	if _, err := f.pool.Exec(t.Context(), "SELECT clock_timestamp()"); err == nil {
		t.Fatal("clock_timestamp is not shadowed")
	}
	if err := f.store.Check(t.Context()); err != nil {
		t.Error(err)
	}
	claim := claimOn("m1")
	session := f.begin(t, claim)
	tx := session.Tx()
	if err := pgstore.Defer(tx, 1, "INSERT INTO public.marks VALUES ('effect')"); err != nil {
		t.Fatal(err)
	}
	if _, err := session.Commit(t.Context(), receiptFor(claim), eventOf(claim.Key, "")); err != nil {
		t.Error(err)
	}
	correction := claimOn("m1")
	correction.Revision = 1
	if _, newest := f.begin(t, correction).Prior(); newest == nil || len(f.history(t, "m1")) != 1 {
		t.Error("the receipt is not found")
	}
	for name, control := range map[string]string{"begun again": "COMMIT; BEGIN", "failed": "COMMIT; BEGIN; SELECT shadow.fail()"} {
		session := f.begin(t, claimOn(name))
		_, _ = session.Tx().Conn().Exec(t.Context(), control)
		expectTransactionEnded(t, f.store, session.Rollback(t.Context()))
	}
}

// A table or type of the callback's own is found before PostgreSQL's, too.
func TestTemporaryTableDoesNotReachTheStore(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(cfg *pgxpool.Config) {
		cfg.MaxConns = 1
		cfg.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
	})
	for _, id := range []string{"m1", "m2"} {
		claim := claimOn(id)
		session := f.begin(t, claim)
		if _, err := session.Tx().Exec(t.Context(), "CREATE TEMPORARY TABLE IF NOT EXISTS text ()"); err != nil {
			t.Fatal(err)
		}
		if _, err := session.Commit(t.Context(), receiptFor(claim), eventOf(claim.Key, "")); err != nil {
			t.Error(err)
		}
	}
}
