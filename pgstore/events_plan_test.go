package pgstore_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/settleonce/settleonce/pgstore"
)

// manyEvents are inserted past the store, which would take long.
const manyEvents = `INSERT INTO settleonce.events (lane, ordering_key, partition_key, source, event_id, type, subject,
		event_time, data_schema, data_content_type, data, fingerprint, tenant, scope, operation, id, attempt, recorded_at)
	SELECT n % 256, 'tenant//k' || n, 'k' || n, '/test', n::text || '-1', 'match.settled', '',
		'', '', '', '{}', 'test/1:' || repeat('0', 64), 'tenant', 'match', 'settle', n, 'a', clock_timestamp()
	FROM generate_series(1, $1) AS n`

// Statements about events go by the key alone, whatever the table's size was
// when they were planned: a relay looks at an empty table for hours, and then
// has a backlog of millions before anybody has counted them.
func TestStatementsUseTheKey(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, events := range []int{0, 20_000} {
		if _, err := f.pool.Exec(t.Context(), manyEvents, events); err != nil {
			t.Fatal(err)
		}
		execute(t, f.pool, "ANALYZE settleonce.events")
		for name, statement := range pgstore.TableStatements(pgstore.DefaultSchema) {
			for _, plan := range []string{"force_generic_plan", "force_custom_plan"} {
				explained := explainPlanned(t, f, statement, plan)
				if !strings.Contains(explained, "events_pkey") || strings.Contains(explained, "Seq Scan on events ") || sortsEvents(explained) {
					t.Errorf("%s with %d events and %s:\n%s", name, events, plan, explained)
				}
				if strings.Contains(explained, "Gather") || strings.Contains(explained, "JIT") {
					t.Errorf("%s with %d events and %s is compiled, or starts workers:\n%s", name, events, plan, explained)
				}
				if bounded := strings.Contains(explained, "lane <="); strings.Contains(statement.SQL, "BETWEEN $2 AND $3") && !bounded {
					t.Errorf("%s passes over lanes outside of the index, with %d events and %s:\n%s", name, events, plan, explained)
				}
			}
		}
	}
}

// sortsEvents reports whether a plan sorts anything but dead letters, which are
// few, and which releases from 16 on sort to count ordering keys.
func sortsEvents(explained string) bool {
	for line := range strings.Lines(explained) {
		if strings.Contains(line, "Sort Key:") && !strings.Contains(line, "dead_letters") {
			return true
		}
	}
	return false
}

// eager has the planner compile and start workers wherever it may. The latter
// setting has had two names.
const eager = `SET LOCAL jit = on; SET LOCAL jit_above_cost = 0; SET LOCAL max_parallel_workers_per_gather = 2;
	SELECT set_config(name, 'on', true) FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query')`

// explainPlanned returns the plan of a statement, set up as the table sets it up.
func explainPlanned(t *testing.T, f *fixture, statement pgstore.TableStatement, plan string) string {
	t.Helper()
	tx, err := f.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(t.Context()) }()
	for _, sql := range []string{eager, statement.Settings, "SET LOCAL plan_cache_mode = " + plan, "PREPARE statement AS " + statement.SQL} {
		if _, err := tx.Exec(t.Context(), sql, pgx.QueryExecModeSimpleProtocol); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	rows, err := tx.Query(t.Context(), "EXPLAIN EXECUTE statement"+statement.Arguments, pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "DEALLOCATE statement"); err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n")
}
