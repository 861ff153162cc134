package pgstore_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/settleonce/settleonce/pgstore"
)

// Every lookup goes through the primary key as soon as the table has more than
// a few pages, whatever the planner knows of it and of the arguments: a scan would
// cost more with every receipt, and at SERIALIZABLE make every session conflict
// with every other.
func TestReceiptsAreFoundByThePrimaryKey(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	receipts := fmt.Sprintf(`INSERT INTO settleonce.receipts
		(tenant, scope, operation, id, revision, requested_kind, outcome_kind, fingerprint, ordering_key, attempt, recorded_at)
		SELECT 'tenant', 'match', 'settle', 'm' || i, 0, 'settled', 'settled', 'test/1:%s', '', 'a', now()
		FROM generate_series(1, 2000) AS i`, strings.Repeat("0", 64))
	for _, change := range []string{"SELECT 'nothing, the table is new'", receipts, "ANALYZE settleonce.receipts"} {
		execute(t, f.pool, change)
		for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
			for text, arguments := range pgstore.Lookups(f.store, keyNamed("m1")) {
				plan := explain(t, f, mode, text, arguments)
				if strings.Contains(plan, "Seq Scan") || !strings.Contains(plan, "Index Scan using receipts_pkey") {
					t.Errorf("%s: after %s the plan is\n%s\nof\n%s", mode, change, plan, text)
				}
			}
		}
	}
}

// explain returns the plan of a statement.
func explain(t *testing.T, f *fixture, mode, text string, arguments []any) string {
	t.Helper()
	tx, err := f.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.Background()) }()
	setUp := "SET LOCAL plan_cache_mode = " + mode + "; PREPARE looked_at AS " + text
	if _, err := tx.Exec(t.Context(), setUp, pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatal(err)
	}
	var parameters []string
	for i := range arguments {
		parameters = append(parameters, fmt.Sprintf("$%d", i+1))
	}
	explained := "EXPLAIN EXECUTE looked_at(" + strings.Join(parameters, ", ") + ")"
	rows, err := tx.Query(t.Context(), explained, append([]any{pgx.QueryExecModeSimpleProtocol}, arguments...)...)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "DEALLOCATE looked_at"); err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n")
}

// A lookup that is planned anew each time costs twice as much. The server
// does that where it takes the plan that fits all arguments for a worse one.
func TestLookupsAreNotPlannedAnewEachTime(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	conn, err := f.pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	for text, arguments := range pgstore.Lookups(f.store, keyNamed("m1")) {
		for range 10 {
			if _, err := conn.Exec(t.Context(), text, arguments...); err != nil {
				t.Fatal(err)
			}
		}
		// Servers before PostgreSQL 14 do not say, and plan in the same way.
		var planned *int
		err := conn.QueryRow(t.Context(), `SELECT (to_jsonb(s)->>'custom_plans')::int FROM pg_prepared_statements AS s
			WHERE statement = $1`, text).Scan(&planned)
		if err != nil {
			t.Fatal(err)
		}
		if planned != nil && *planned > 5 {
			t.Errorf("of 10 executions %d had a plan of their own, want the first 5 at most:\n%s", *planned, text)
		}
	}
}
