package pgstore_test

import (
	"context"
	"errors"
	"io/fs"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/internal/pgtest"
	"github.com/settleonce/settleonce/pgstore"
	"github.com/settleonce/settleonce/receipt"
)

func TestMigrateAgainKeepsWhatIsThere(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	claim := claimOn("m1")
	stored, err := f.begin(t, claim).Commit(t.Context(), receiptFor(claim))
	if err != nil {
		t.Fatal(err)
	}
	if err := pgstore.Migrate(t.Context(), f.pool, ""); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]receipt.Receipt{stored}, f.history(t, "m1")); diff != "" {
		t.Errorf("receipts after a second Migrate (-want +got):\n%s", diff)
	}
}

func TestMigrateConcurrently(t *testing.T) {
	t.Parallel()
	pool := pgtest.Pool(t)
	const processes = 8
	done := make(chan error, processes)
	for range processes {
		go func() { done <- pgstore.Migrate(t.Context(), pool, "") }()
	}
	for range processes {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if err := newStore(t, pool, pgstore.Config{}).Check(t.Context()); err != nil {
		t.Error(err)
	}
}

// Stores in two schemas of one database know nothing of each other.
func TestSchemasAreApart(t *testing.T) {
	t.Parallel()
	pool := pgtest.Pool(t)
	one := fixtureOn(t, pool, pgstore.Config{Schema: "One-2"})
	other := fixtureOn(t, pool, pgstore.Config{Schema: "select"})
	claim := claimOn("m1")
	session := one.begin(t, claim)
	// The other's lock is another, though the key is the same.
	if _, newest := other.begin(t, claimOn("m1")).Prior(); newest != nil {
		t.Errorf("prior = %v, want none", newest)
	}
	if _, err := session.Commit(t.Context(), receiptFor(claim), eventOf(claim.Key, "")); err != nil {
		t.Fatal(err)
	}
	if len(one.history(t, "m1")) != 1 || len(other.history(t, "m1")) != 0 {
		t.Errorf("receipts = %v and %v, want one and none", one.history(t, "m1"), other.history(t, "m1"))
	}
	for _, f := range []*fixture{one, other} {
		if err := f.store.Check(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func TestMigrateIntoASchemaThatIsThere(t *testing.T) {
	t.Parallel()
	pool := pgtest.Pool(t)
	// A role that may create nothing but what is in the schema given to it.
	role := "migrator-" + receipt.NewID()
	execute(t, pool, `CREATE SCHEMA given; CREATE ROLE "`+role+`"; GRANT CREATE, USAGE ON SCHEMA given TO "`+role+`"`)
	t.Cleanup(func() { // roles belong to the server, not to the test's database
		if _, err := pool.Exec(context.Background(), `DROP OWNED BY "`+role+`"; DROP ROLE "`+role+`"`); err != nil {
			t.Error(err)
		}
	})
	limited := pgtest.PoolOn(t, pool.Config().ConnString(), asRole(role))
	if err := pgstore.Migrate(t.Context(), limited, "given"); err != nil {
		t.Error(err)
	}
}

func TestSchemaNames(t *testing.T) {
	t.Parallel()
	pool := pgtest.Pool(t)
	for _, name := range []string{"pg_mine", `a"b`, "a;b", "{schema}", "ä", "a b", strings.Repeat("s", 64)} {
		if err := pgstore.Migrate(t.Context(), pool, name); err == nil || !strings.Contains(err.Error(), "schema") {
			t.Errorf("Migrate to %q = %v, want an error about the schema", name, err)
		}
		if _, err := pgstore.Migrations(name); err == nil {
			t.Errorf("Migrations for %q gave no error", name)
		}
		if _, err := pgstore.New(pgstore.Config{Pool: pool, Schema: name}); err == nil {
			t.Errorf("New with schema %q gave no error", name)
		}
	}
}

// The files stand on their own, whichever tool runs them, and Check and
// Migrate know about it.
func TestMigrationsForOtherTools(t *testing.T) {
	t.Parallel()
	pool := pgtest.Pool(t)
	files, err := pgstore.Migrations("elsewhere")
	if err != nil {
		t.Fatal(err)
	}
	names, err := fs.Glob(files, "*")
	if err != nil {
		t.Fatal(err)
	}
	// goose, tern and golang-migrate agree on this much.
	pattern := regexp.MustCompile(`^\d+_[a-z_]+\.up\.sql$`)
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			t.Fatal(err)
		}
		if !pattern.MatchString(name) || !strings.HasPrefix(string(text), "-- +goose Up\n") {
			t.Errorf("file %q is not one that the tools take", name)
		}
		execute(t, pool, string(text))
	}
	if len(names) == 0 {
		t.Error("no files")
	}
	store := newStore(t, pool, pgstore.Config{Schema: "elsewhere"})
	if err := store.Check(t.Context()); err != nil {
		t.Error(err)
	}
	if err := pgstore.Migrate(t.Context(), pool, "elsewhere"); err != nil {
		t.Errorf("Migrate after another tool: %v", err)
	}
}

func TestBeginWithoutMigrateSaysSo(t *testing.T) {
	t.Parallel()
	store := newStore(t, pgtest.Pool(t), pgstore.Config{})
	_, err := store.Begin(t.Context(), claimOn("m1"))
	if err == nil || !strings.Contains(err.Error(), "Migrate") {
		t.Errorf("Begin = %v, want a word about Migrate", err)
	}
	if err := store.Check(t.Context()); !errors.Is(err, pgstore.ErrUnfit) {
		t.Errorf("Check = %v, want ErrUnfit", err)
	}
}

// Whoever looks at the tables with psql finds out what they are for.
func TestTablesOfTheRelayAreExplained(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	silent, err := f.column(t.Context(), `SELECT relname::text FROM pg_class
		WHERE relnamespace = 'settleonce'::regnamespace AND relkind = 'r' AND relname <> 'migrations'
			AND obj_description(oid, 'pg_class') IS NULL`)
	if err != nil {
		t.Fatal(err)
	}
	if len(silent) > 0 {
		t.Errorf("tables without a comment: %q", silent)
	}
}
