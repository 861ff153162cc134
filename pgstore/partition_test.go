package pgstore_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/internal/lanes"
	"github.com/settleonce/settleonce/internal/lanes/lanestest"
	"github.com/settleonce/settleonce/internal/pgtest"
	"github.com/settleonce/settleonce/pgstore"
	"github.com/settleonce/settleonce/pgstore/pgtemp"
	"github.com/settleonce/settleonce/receipt"
)

func partitionEvents(t testing.TB, f *fixture, schema string, partitions int) {
	t.Helper()
	err := pgstore.PartitionEvents(t.Context(), f.pool, pgstore.PartitionConfig{Schema: schema, Partitions: partitions})
	if err != nil {
		t.Fatal(err)
	}
}

func TestPartitionedEventsPassTheSuite(t *testing.T) {
	t.Parallel()
	putting := pgtest.Pool(t, ofPoolSize)
	relaying := poolBeside(t, putting)
	lanestest.TestTable(t, func(tb testing.TB) lanestest.Subject {
		tb.Helper()
		subject, schema := tableSubject(tb, putting, relaying)
		partitionEvents(tb, &fixture{pool: putting}, schema, 3)
		return subject
	})
}

// What is pending stays, in its place, and so does all that was said of the
// table.
func TestPartitioningKeepsEvents(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	reader, owner := `"reader-`+receipt.NewID()+`"`, `"owner-`+receipt.NewID()+`"`
	execute(t, f.pool, "CREATE ROLE "+reader+"; CREATE ROLE "+owner+"; GRANT USAGE, CREATE ON SCHEMA settleonce TO "+owner+
		"; ALTER TABLE settleonce.events OWNER TO "+owner+"; GRANT SELECT, DELETE ON settleonce.events TO "+reader+
		"; GRANT INSERT ON settleonce.events TO "+reader+" WITH GRANT OPTION")
	t.Cleanup(func() {
		if _, err := f.pool.Exec(context.Background(), "DROP OWNED BY "+reader+", "+owner+"; DROP ROLE "+reader+", "+owner); err != nil {
			t.Error(err)
		}
	})
	if err := f.settle(t.Context(), eventOf(keyNamed("m1"), "a"), eventOf(keyNamed("m2"), "b"), eventOf(keyNamed("m3"), "c")); err != nil {
		t.Fatal(err)
	}
	execute(t, f.pool, "DELETE FROM settleonce.events WHERE position = 3") // its position is taken
	described := describeEvents(t, f)
	for range 2 { // the second finds all done
		partitionEvents(t, f, "", 5)
	}
	if diff := cmp.Diff(described, describeEvents(t, f)); diff != "" {
		t.Errorf("the table (-before +after):\n%s", diff)
	}
	if err := f.settle(t.Context(), eventOf(keyNamed("m4"), "a")); err != nil {
		t.Fatal(err)
	}
	positions, err := f.column(t.Context(), "SELECT position || ' ' || id FROM settleonce.events ORDER BY position")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"1 m1", "2 m2", "4 m4"}, positions); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if err := f.store.Check(t.Context()); err != nil {
		t.Error(err)
	}
	other := pgstore.PartitionEvents(t.Context(), f.pool, pgstore.PartitionConfig{Partitions: 4})
	if !errors.Is(other, pgstore.ErrPartitioned) || !strings.Contains(other.Error(), "5 parts") {
		t.Errorf("another number of parts: %v, want ErrPartitioned", other)
	}
}

// describeEvents returns what an operator set or reads about the table, that of
// its parts where it has some.
func describeEvents(t *testing.T, f *fixture) []string {
	t.Helper()
	described, err := f.column(t.Context(), `SELECT DISTINCT text FROM (
			SELECT attname || ': ' || coalesce(col_description(attrelid, attnum), '-') || ', ' || attnotnull || ', ' || attidentity::text
				|| ', ' || coalesce(collname, '-')
				FROM pg_attribute LEFT JOIN pg_collation ON pg_collation.oid = attcollation
				WHERE attrelid = 'settleonce.events'::regclass AND attnum > 0
			UNION ALL SELECT obj_description('settleonce.events'::regclass, 'pg_class')
			UNION ALL SELECT conname || ': ' || pg_get_constraintdef(oid) || coalesce(obj_description(oid, 'pg_constraint'), '-')
				FROM pg_constraint WHERE conrelid = 'settleonce.events'::regclass AND contype <> 'n'
			UNION ALL SELECT 'stored ' || unnest(reloptions) FROM pg_class WHERE relkind = 'r' AND relname LIKE 'events%'
			UNION ALL SELECT 'toast ' || unnest(toast.reloptions) FROM pg_class AS main JOIN pg_class AS toast ON toast.oid = main.reltoastrelid
				WHERE main.relname LIKE 'events%'
			UNION ALL SELECT privilege_type || ' to ' || grantee::regrole || ', to be granted: ' || is_grantable FROM pg_class, aclexplode(relacl)
				WHERE pg_class.oid = 'settleonce.events'::regclass AND grantee <> relowner
			UNION ALL SELECT relname || ' is ' || pg_get_userbyid(relowner) || '''s' FROM pg_class WHERE relname IN ('events', 'events_position_seq')
		) AS facts (text) ORDER BY text`)
	if err != nil {
		t.Fatal(err)
	}
	return described
}

func TestPartitioningRefuses(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, partitions := range []int{-1, 0, 1, 257} {
		err := pgstore.PartitionEvents(t.Context(), f.pool, pgstore.PartitionConfig{Schema: "a;b", Partitions: partitions})
		if err == nil || !strings.Contains(err.Error(), "Schema") || !strings.Contains(err.Error(), "Partitions") {
			t.Errorf("%d parts of a schema that has no name: %v, want both fields named", partitions, err)
		}
	}
	execute(t, f.pool, `CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
		CREATE TRIGGER watching AFTER INSERT ON settleonce.events FOR EACH ROW EXECUTE FUNCTION nothing();
		CREATE PUBLICATION told FOR TABLE settleonce.events;
		CREATE POLICY seen ON settleonce.events;
		GRANT SELECT (id) ON settleonce.events TO PUBLIC`)
	err := pgstore.PartitionEvents(t.Context(), f.pool, pgstore.PartitionConfig{Partitions: 2})
	for _, lost := range []string{"trigger watching", "publication told", "policy seen", "grants on column id"} {
		if err == nil || !strings.Contains(err.Error(), lost) {
			t.Errorf("a table with much that would be lost: %v, want the %s named", err, lost)
		}
	}
	if err := f.settle(t.Context(), eventOf(keyNamed("m1"), "")); err != nil {
		t.Errorf("a commit after it: %v", err)
	}
}

// A relay whose snapshot is older than the move finds nothing in the new table.
// The move must then be among the transactions that were open, on every server:
// on this one a lock gives no transaction a number.
func TestPartitioningIsSeenAsOpen(t *testing.T) {
	t.Parallel()
	server := pgtest.Server(t, pgtemp.Config{Parameters: map[string]string{"wal_level": "minimal", "max_wal_senders": "0"}})
	f := fixtureOn(t, pgtest.PoolOn(t, server.DSN(), ofPoolSize), pgstore.Config{})
	if err := f.settle(t.Context(), eventOf(keyNamed("m1"), "a")); err != nil {
		t.Fatal(err)
	}
	event := eventOf(keyNamed("m1"), "a")
	type answer struct {
		rows []lanes.Row
		open []uint64
		err  error
	}
	table := pgstore.Table(poolBeside(t, f.pool), pgstore.DefaultSchema)
	look := func() (got answer) {
		of := []lanes.Lane{lanes.Lane(pgstore.Lane(event.Ordering()))}
		got.rows, got.open, got.err = table.Read(t.Context(), of, 0, 10, nil)
		return got
	}
	if got := look(); len(got.rows) != 1 { // which also prepares the statements
		t.Fatalf("Read = %d rows, %v; want the event", len(got.rows), got.err)
	}
	writer, err := f.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := writer.Exec(t.Context(), "LOCK TABLE settleonce.events IN ROW EXCLUSIVE MODE"); err != nil {
		t.Fatal(err)
	}
	const waiting = "(SELECT count(*) FROM pg_locks WHERE relation = 'settleonce.events'::regclass AND NOT granted) = "
	moved := make(chan error, 1)
	go func() {
		moved <- pgstore.PartitionEvents(t.Context(), f.pool, pgstore.PartitionConfig{Partitions: 2})
	}()
	await(t, f.pool, "the move waits for the writer", waiting+"1")
	read := make(chan answer, 1)
	go func() { read <- look() }()
	await(t, f.pool, "the relay waits for the move", waiting+"2")
	if err := errors.Join(writer.Rollback(t.Context()), <-moved); err != nil {
		t.Fatal(err)
	}
	if got := <-read; got.err != nil || len(got.rows) == 0 && len(got.open) == 0 {
		t.Errorf("Read = %d rows, open %d, %v; want the event, or the move among the open", len(got.rows), got.open, got.err)
	}
}
