package pgstore_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/settleonce/settleonce/pgstore"
)

func TestDeferredStatementsRunInOrderBeforeTheReceipt(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	claim := claimOn("m1")
	session := f.begin(t, claim)
	for _, statement := range []struct {
		rows      int64
		sql       string
		arguments []any
	}{
		{2, "INSERT INTO marks VALUES ($1), ($2);", []any{"a", "b"}},
		{1, "UPDATE marks SET mark = @new WHERE mark = @old -- a comment", []any{pgx.NamedArgs{"old": "a", "new": "c"}}},
		{0, "DELETE FROM marks WHERE mark = 'a'", nil},
	} {
		if err := pgstore.Defer(session.Tx(), statement.rows, statement.sql, statement.arguments...); err != nil {
			t.Fatal(err)
		}
	}
	var seen int
	if err := session.Tx().QueryRow(t.Context(), "SELECT count(*) FROM marks").Scan(&seen); err != nil || seen != 0 {
		t.Errorf("the callback sees %d deferred rows, %v", seen, err)
	}
	if _, err := session.Commit(t.Context(), receiptFor(claim)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"b", "c"}, f.marks(t)); diff != "" {
		t.Errorf("effects (-want +got):\n%s", diff)
	}
}

func TestDeferRefusesByName(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	foreign, err := f.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = foreign.Rollback(t.Context()) }()
	guarded := f.begin(t, claimOn("m1")).Tx()
	for name, err := range map[string]error{
		"foreign transaction":            pgstore.Defer(foreign, 1, "DELETE FROM marks"),
		"negative rows":                  pgstore.Defer(guarded, -1, "DELETE FROM marks"),
		"form":                           pgstore.Defer(guarded, 1, "SELECT 1"),
		"rewriter behind another":        pgstore.Defer(guarded, 1, "DELETE FROM marks", pgx.NamedArgs{}, rewriteTo("ROLLBACK")),
		"rewriter that a rewriter makes": pgstore.Defer(guarded, 1, "DELETE FROM marks", rewriteToRewriter{rewriteTo("ROLLBACK")}),
		"named argument":                 pgstore.Defer(guarded, 1, "DELETE FROM marks WHERE mark = @mark", pgx.StrictNamedArgs{"another": 1}),
	} {
		if !errors.Is(err, pgstore.ErrNotDeferrable) {
			t.Errorf("%s: Defer = %v, want ErrNotDeferrable", name, err)
		}
	}
}

// rewriteToRewriter leaves a query as it is, with another rewriter as its
// argument.
type rewriteToRewriter struct{ next pgx.QueryRewriter }

func (r rewriteToRewriter) RewriteQuery(_ context.Context, _ *pgx.Conn, sql string, _ []any) (string, []any, error) {
	return sql, []any{r.next}, nil
}
