package pgstore_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/settleonce/settleonce/pgstore"
	"github.com/settleonce/settleonce/receipt"
)

// uses are all the ways to reach the server through a pgx.Tx.
var uses = map[string]func(ctx context.Context, tx pgx.Tx) error{
	"Begin": func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Begin(ctx)
		return err
	},
	"Commit":   func(ctx context.Context, tx pgx.Tx) error { return tx.Commit(ctx) },
	"Rollback": func(ctx context.Context, tx pgx.Tx) error { return tx.Rollback(ctx) },
	"Exec": func(ctx context.Context, tx pgx.Tx) error {
		return mark(ctx, tx, "late")
	},
	"Query": func(ctx context.Context, tx pgx.Tx) error {
		rows, err := tx.Query(ctx, "INSERT INTO marks VALUES ('late') RETURNING mark")
		rows.Close()
		return errors.Join(err, rows.Err())
	},
	"QueryRow": func(ctx context.Context, tx pgx.Tx) error {
		var text string
		return tx.QueryRow(ctx, "INSERT INTO marks VALUES ('late') RETURNING mark").Scan(&text)
	},
	"SendBatch": func(ctx context.Context, tx pgx.Tx) error {
		var batch pgx.Batch
		batch.Queue("INSERT INTO marks VALUES ('late')")
		return tx.SendBatch(ctx, &batch).Close()
	},
	"SendBatch of nothing": func(ctx context.Context, tx pgx.Tx) error {
		return tx.SendBatch(ctx, &pgx.Batch{}).Close()
	},
	"CopyFrom": func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.CopyFrom(ctx, pgx.Identifier{"marks"}, []string{"mark"}, pgx.CopyFromRows([][]any{{"late"}}))
		return err
	},
	"Prepare": func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Prepare(ctx, "late", "SELECT 1")
		return err
	},
	"LargeObjects": func(ctx context.Context, tx pgx.Tx) error {
		objects := tx.LargeObjects()
		_, err := objects.Create(ctx, 0)
		return err
	},
	"Defer": func(_ context.Context, tx pgx.Tx) error {
		return pgstore.Defer(tx, 1, "INSERT INTO marks VALUES ('late')")
	},
	"Conn": func(_ context.Context, tx pgx.Tx) error {
		if tx.Conn() == nil {
			return pgx.ErrTxClosed
		}
		return nil
	},
}

// kept is what a callback might keep for later.
type kept struct {
	tx, savepoint, nested pgx.Tx
	rows                  pgx.Rows
	row                   pgx.Row
	batch                 pgx.BatchResults
	objects               pgx.LargeObjects
	object                *pgx.LargeObject
}

// keepEverything takes one of each handle.
func keepEverything(t *testing.T, tx pgx.Tx) kept {
	t.Helper()
	var k kept
	var err error
	check := func() {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	k.tx = tx
	k.savepoint, err = tx.Begin(t.Context())
	check()
	k.nested, err = k.savepoint.Begin(t.Context())
	check()
	k.rows, err = k.nested.Query(t.Context(), "SELECT 1")
	check()
	k.rows.Close()
	k.row = tx.QueryRow(t.Context(), "SELECT 1")
	var one int
	err = k.row.Scan(&one)
	check()
	var batch pgx.Batch
	batch.Queue("SELECT 1")
	k.batch = tx.SendBatch(t.Context(), &batch)
	err = k.batch.Close()
	check()
	k.objects = k.nested.LargeObjects()
	oid, err := k.objects.Create(t.Context(), 0)
	check()
	k.object, err = k.objects.Open(context.Background(), oid, pgx.LargeObjectModeWrite)
	check()
	return k
}

func TestNothingOutlivesTheCallback(t *testing.T) {
	t.Parallel()
	ends := map[string]func(receipt.Session[pgx.Tx], receipt.Claim) error{
		"Commit": func(session receipt.Session[pgx.Tx], claim receipt.Claim) error {
			_, err := session.Commit(context.Background(), receiptFor(claim))
			return err
		},
		"Rollback": func(session receipt.Session[pgx.Tx], _ receipt.Claim) error {
			return session.Rollback(context.Background())
		},
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			claim := claimOn("m1")
			session := f.begin(t, claim)
			k := keepEverything(t, session.Tx())
			if err := end(session, claim); err != nil {
				t.Fatal(err)
			}
			for handle, tx := range map[string]pgx.Tx{"transaction": k.tx, "savepoint": k.savepoint, "nested savepoint": k.nested} {
				for use, try := range uses {
					if err := try(t.Context(), tx); !errors.Is(err, pgx.ErrTxClosed) {
						t.Errorf("%s of the kept %s = %v, want ErrTxClosed", use, handle, err)
					}
				}
			}
			expectResultsClosed(t, k)
			if marks := f.marks(t); len(marks) != 0 {
				t.Errorf("effects = %q, want none", marks)
			}
		})
	}
}

func expectResultsClosed(t *testing.T, k kept) {
	t.Helper()
	var one int
	_, valuesErr := k.rows.Values()
	_, execErr := k.batch.Exec()
	_, queryErr := k.batch.Query()
	_, createErr := k.objects.Create(t.Context(), 0)
	_, writeErr := k.object.Write([]byte("late"))
	for use, err := range map[string]error{
		"Rows.Err": k.rows.Err(), "Rows.Scan": k.rows.Scan(&one), "Rows.Values": valuesErr, "Row.Scan": k.row.Scan(&one),
		"BatchResults.Exec": execErr, "BatchResults.Query": queryErr, "BatchResults.Close": k.batch.Close(),
		"BatchResults.QueryRow": k.batch.QueryRow().Scan(&one),
		"LargeObjects.Create":   createErr, "LargeObject.Write": writeErr,
	} {
		if !errors.Is(err, pgx.ErrTxClosed) {
			t.Errorf("kept %s = %v, want ErrTxClosed", use, err)
		}
	}
	k.rows.Close()
	if k.rows.Next() || k.rows.Conn() != nil || k.rows.RawValues() != nil || k.rows.TypeMap() != nil {
		t.Error("kept rows still answer")
	}
}

// Rows that a callback leaves open stand between the session and its
// connection: it must not commit past them, nor hand the connection on.
func TestResultsLeftUnreadAreNotCommitted(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	leave := map[string]func(ctx context.Context, tx pgx.Tx) error{
		"rows": func(ctx context.Context, tx pgx.Tx) error {
			_, err := tx.Query(ctx, "SELECT * FROM generate_series(1, 100000)")
			return err
		},
		"row": func(ctx context.Context, tx pgx.Tx) error {
			tx.QueryRow(ctx, "SELECT 1")
			return nil
		},
		"batch": func(ctx context.Context, tx pgx.Tx) error {
			var batch pgx.Batch
			batch.Queue("SELECT 1")
			tx.SendBatch(ctx, &batch)
			return nil
		},
	}
	for name, run := range leave {
		claim := claimOn(name)
		session := f.begin(t, claim)
		if err := mark(t.Context(), session.Tx(), name); err != nil {
			t.Fatal(err)
		}
		if err := run(t.Context(), session.Tx()); err != nil {
			t.Fatal(err)
		}
		if _, err := session.Commit(t.Context(), receiptFor(claim)); !errors.Is(err, receipt.ErrNotCommitted) {
			t.Errorf("%s: Commit = %v, want ErrNotCommitted", name, err)
		}
		f.expectNothing(t, name)
	}
}

func TestSavepoints(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	claim := claimOn("m1")
	session := f.begin(t, claim)
	ctx, tx := t.Context(), session.Tx()
	defers := func(handle pgx.Tx, text string) error {
		return pgstore.Defer(handle, 1, "INSERT INTO marks VALUES ($1)", text)
	}
	var released, dropped, within pgx.Tx
	for i, step := range []func() error{
		func() error { return defers(tx, "deferred before") },
		func() (err error) { released, err = tx.Begin(ctx); return err },
		func() error { return mark(ctx, released, "released") },
		func() error { return defers(released, "deferred and released") },
		func() error { return released.Commit(ctx) },
		func() (err error) { dropped, err = tx.Begin(ctx); return err },
		func() error { return mark(ctx, dropped, "dropped") },
		func() error { return defers(dropped, "deferred and dropped") },
		func() (err error) { within, err = dropped.Begin(ctx); return err },
		func() error { return defers(within, "deferred within") },
		func() error { return defers(tx, "deferred on the outer handle, inside") },
		func() error { return dropped.Rollback(ctx) },
		func() error { return defers(tx, "deferred after") },
		func() error { return pgx.BeginFunc(ctx, tx, func(pgx.Tx) error { return nil }) },
	} {
		if err := step(); err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
	}
	// A savepoint ends with the one that it was set in, large objects and all.
	if err := mark(ctx, within, "late"); !errors.Is(err, pgx.ErrTxClosed) {
		t.Errorf("Exec in a savepoint of one that was rolled back = %v, want ErrTxClosed", err)
	}
	objects := within.LargeObjects()
	if _, err := objects.Create(ctx, 0); !errors.Is(err, pgx.ErrTxClosed) {
		t.Errorf("Create in a savepoint of one that was rolled back = %v, want ErrTxClosed", err)
	}
	if _, err := session.Commit(ctx, receiptFor(claim)); err != nil {
		t.Fatal(err)
	}
	want := []string{"deferred after", "deferred and released", "deferred before", "released"}
	if diff := cmp.Diff(want, f.marks(t)); diff != "" {
		t.Errorf("effects (-want +got):\n%s", diff)
	}
}

// failInSavepoint has a savepoint fail and rolls it back.
func failInSavepoint(t *testing.T, tx pgx.Tx) {
	t.Helper()
	err := pgx.BeginFunc(t.Context(), tx, func(tx pgx.Tx) error {
		_, err := tx.Exec(t.Context(), "SELECT 1/0")
		return err
	})
	if err == nil {
		t.Fatal("1/0 went well")
	}
}

// A failure that a rolled-back savepoint took with it is not the commit's.
func TestSavepointMendsAFailure(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	claim := claimOn("m1")
	session := f.begin(t, claim)
	failInSavepoint(t, session.Tx())
	if err := mark(t.Context(), session.Tx(), "effect"); err != nil {
		t.Fatal(err)
	}
	if _, err := session.Commit(t.Context(), receiptFor(claim)); err != nil {
		t.Fatal(err)
	}
}

// A savepoint whose end never reached the server still holds what was done in
// it. A callback that was told of a failure and goes on means that to be gone.
func TestSavepointThatCouldNotEndIsNotCommitted(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for name, failure := range map[string]error{"Rollback": errors.New("own"), "Commit": nil} {
		claim := claimOn(name)
		session := f.begin(t, claim)
		ctx, cancel := context.WithCancel(t.Context())
		err := pgx.BeginFunc(ctx, session.Tx(), func(tx pgx.Tx) error {
			if err := mark(ctx, tx, name); err != nil {
				t.Fatal(err)
			}
			cancel() // such as a time limit for this step alone
			return failure
		})
		if err == nil {
			t.Fatalf("%s of a savepoint under a done context succeeded", name)
		}
		_, err = session.Commit(t.Context(), receiptFor(claim))
		expectNotCommitted(t, f.store, err, "", false)
		f.expectNothing(t, name)
	}
}

// A savepoint that the server refused to release is mended by the rollback of
// the one around it.
func TestOuterSavepointMendsAnInnerOne(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	claim := claimOn("m1")
	session := f.begin(t, claim)
	err := pgx.BeginFunc(t.Context(), session.Tx(), func(outer pgx.Tx) error {
		return pgx.BeginFunc(t.Context(), outer, func(inner pgx.Tx) error {
			_, _ = inner.Exec(t.Context(), "SELECT 1/0")
			return nil
		})
	})
	if err == nil {
		t.Fatal("a savepoint that failed was released")
	}
	if _, err := session.Commit(t.Context(), receiptFor(claim)); err != nil {
		t.Fatal(err)
	}
}

// Nor is it the cause of a later one.
func TestMendedFailureIsForgotten(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	claim := claimOn("m1")
	session := f.begin(t, claim)
	failInSavepoint(t, session.Tx())
	_, _ = session.Tx().Exec(t.Context(), "SELECT 'not a number'::int")
	_, err := session.Commit(t.Context(), receiptFor(claim))
	expectNotCommitted(t, f.store, err, "22P02", false)
}
