package pgstore_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/settleonce/settleonce/internal/pgtest"
	"github.com/settleonce/settleonce/pgstore"
	"github.com/settleonce/settleonce/receipt"
)

// controlForms are the ways in which a callback can hand transaction control
// to its transaction.
var controlForms = []struct {
	name string
	try  func(ctx context.Context, tx pgx.Tx, control string) error
}{
	{"exec", func(ctx context.Context, tx pgx.Tx, control string) error {
		_, err := tx.Exec(ctx, control)
		return err
	}},
	{"exec behind another statement", func(ctx context.Context, tx pgx.Tx, control string) error {
		_, err := tx.Exec(ctx, "SELECT 1; /* hidden */ "+control)
		return err
	}},
	{"exec in the simple protocol", func(ctx context.Context, tx pgx.Tx, control string) error {
		_, err := tx.Exec(ctx, control, pgx.QueryExecModeSimpleProtocol)
		return err
	}},
	{"query", func(ctx context.Context, tx pgx.Tx, control string) error {
		rows, err := tx.Query(ctx, control)
		rows.Close()
		return errors.Join(err, rows.Err())
	}},
	{"query row", func(ctx context.Context, tx pgx.Tx, control string) error {
		return tx.QueryRow(ctx, control).Scan()
	}},
	{"prepare", func(ctx context.Context, tx pgx.Tx, control string) error {
		_, err := tx.Prepare(ctx, "hidden", control)
		return err
	}},
	{"batch", func(ctx context.Context, tx pgx.Tx, control string) error {
		var batch pgx.Batch
		batch.Queue("INSERT INTO marks VALUES ('in the batch')")
		batch.Queue(control)
		return tx.SendBatch(ctx, &batch).Close()
	}},
	{"batch through a rewriter", func(ctx context.Context, tx pgx.Tx, control string) error {
		var batch pgx.Batch
		batch.Queue("SELECT 1", rewriteTo(control))
		return tx.SendBatch(ctx, &batch).Close()
	}},
	{"rewriter", func(ctx context.Context, tx pgx.Tx, control string) error {
		_, err := tx.Exec(ctx, "SELECT 1", pgx.QueryExecModeExec, rewriteTo(control))
		return err
	}},
	{"rewriter behind another", func(ctx context.Context, tx pgx.Tx, control string) error {
		_, err := tx.Exec(ctx, "SELECT 1", pgx.NamedArgs{}, pgx.QueryExecModeExec, rewriteTo(control))
		return err
	}},
	{"batch through a rewriter behind another", func(ctx context.Context, tx pgx.Tx, control string) error {
		var batch pgx.Batch
		batch.Queue("SELECT 1", pgx.NamedArgs{}, rewriteTo(control))
		return tx.SendBatch(ctx, &batch).Close()
	}},
	{"savepoint", func(ctx context.Context, tx pgx.Tx, control string) error {
		nested, err := tx.Begin(ctx)
		if err != nil {
			return err
		}
		_, err = nested.Exec(ctx, control)
		return err
	}},
}

// In the simple protocol pgx sends a batch as one text, where a literal that one
// statement leaves open would end in the next.
func TestControlAcrossTheStatementsOfABatchIsRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(cfg *pgxpool.Config) { cfg.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol })
	claim := claimOn("m1")
	session := f.begin(t, claim)
	for _, queue := range []func(*pgx.Batch){
		func(batch *pgx.Batch) { batch.Queue("SELECT '") },
		func(batch *pgx.Batch) { batch.Queue("SELECT 1", rewriteTo("SELECT '")) },
	} {
		var batch pgx.Batch
		queue(&batch)
		batch.Queue("'; ROLLBACK; BEGIN; --'")
		if err := session.Tx().SendBatch(t.Context(), &batch).Close(); !errors.Is(err, receipt.ErrTransactionControl) {
			t.Errorf("SendBatch = %v, want ErrTransactionControl", err)
		}
	}
	if _, err := session.Commit(t.Context(), receiptFor(claim)); err != nil {
		t.Fatal(err)
	}
}

// In some encodings a backslash is the second byte of a character, so that the
// guard and the server disagree on where a literal ends. Other encodings than
// UTF-8 also make other keys of the same bytes.
func TestConnectionThatIsNotInUTF8IsRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	claim := claimOn("m1")
	session := f.begin(t, claim)
	if _, err := session.Tx().Exec(t.Context(), "SET LOCAL client_encoding = 'SJIS'"); err != nil {
		t.Fatal(err)
	}
	_, err := session.Tx().Exec(t.Context(), "SELECT E'\x95\\'; ROLLBACK; BEGIN; --'")
	if err == nil || !strings.Contains(err.Error(), "client_encoding") {
		t.Errorf("Exec = %v, want a word about client_encoding", err)
	}
	_, err = session.Commit(t.Context(), receiptFor(claim))
	expectNotCommitted(t, f.store, err, "", false)
	f.expectNothing(t, "m1")

	latin := newStore(t, pgtest.PoolOn(t, f.pool.Config().ConnString(), func(cfg *pgxpool.Config) {
		cfg.ConnConfig.RuntimeParams["client_encoding"] = "LATIN1"
	}), pgstore.Config{})
	if _, err := latin.Begin(t.Context(), claimOn("é")); err == nil || !strings.Contains(err.Error(), "client_encoding") {
		t.Errorf("Begin on a connection in LATIN1 = %v, want a word about client_encoding", err)
	}
	if err := latin.Check(t.Context()); !errors.Is(err, pgstore.ErrUnfit) || !strings.Contains(err.Error(), "client_encoding") {
		t.Errorf("Check on a connection in LATIN1 = %v, want a word about client_encoding", err)
	}
}

// rewriteTo is a pgx.QueryRewriter that puts another text in a query's place.
type rewriteTo string

func (r rewriteTo) RewriteQuery(context.Context, *pgx.Conn, string, []any) (string, []any, error) {
	return string(r), nil, nil
}

func TestTransactionControlIsRefusedBeforeItIsSent(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, control := range []string{"COMMIT", "ROLLBACK", "savepoint s", "PREPARE TRANSACTION 'x'"} {
		for _, form := range controlForms {
			t.Run(control+" in "+form.name, func(t *testing.T) {
				t.Parallel()
				claim := claimOn(t.Name())
				session := f.begin(t, claim)
				err := form.try(t.Context(), session.Tx(), control)
				if !errors.Is(err, receipt.ErrTransactionControl) {
					t.Fatalf("error = %v, want ErrTransactionControl", err)
				}
				// Nothing was sent, so the transaction is as sound as before.
				if err := mark(t.Context(), session.Tx(), t.Name()); err != nil {
					t.Fatal(err)
				}
				if _, err := session.Commit(t.Context(), receiptFor(claim)); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
}

func TestHandleRefusesToBeEnded(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	claim := claimOn("m1")
	session := f.begin(t, claim)
	for name, end := range map[string]func(context.Context) error{"Commit": session.Tx().Commit, "Rollback": session.Tx().Rollback} {
		if err := end(t.Context()); !errors.Is(err, receipt.ErrTransactionControl) {
			t.Errorf("%s = %v, want ErrTransactionControl", name, err)
		}
	}
	if _, err := session.Commit(t.Context(), receiptFor(claim)); err != nil {
		t.Fatal(err)
	}
}

// rawForms are the ways to end the transaction on the bare connection.
var rawForms = []struct {
	name      string
	committed bool // whether the effects are there without a receipt
	do        func(ctx context.Context, tx pgx.Tx) error
}{
	{"COMMIT", true, onBareConnection("COMMIT")},
	{"ROLLBACK", false, onBareConnection("ROLLBACK")},
	{"COMMIT and BEGIN", true, onBareConnection("COMMIT; BEGIN")},
	{"ROLLBACK and BEGIN", false, onBareConnection("ROLLBACK; BEGIN")},
	{"COMMIT by a rewriter", true, byRewriter("COMMIT")},
	{"COMMIT and BEGIN by a rewriter", true, byRewriter("COMMIT; BEGIN")},
	{"COMMIT and BEGIN by a rewriter in a batch", true, byRewriterInBatch("COMMIT; BEGIN")},
	{"COMMIT and BEGIN by a rewriter in Defer", true, byDeferredRewriter("COMMIT; BEGIN")},
}

func onBareConnection(sql string) func(context.Context, pgx.Tx) error {
	return func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Conn().Exec(ctx, sql)
		return err
	}
}

// byRewriter ends the transaction on the connection that pgx gives a rewriter.
func byRewriter(control string) func(context.Context, pgx.Tx) error {
	return func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, "SELECT 1", controlInRewriter(control))
		return err
	}
}

func byRewriterInBatch(control string) func(context.Context, pgx.Tx) error {
	return func(ctx context.Context, tx pgx.Tx) error {
		var batch pgx.Batch
		batch.Queue("SELECT 1", controlInRewriter(control))
		return tx.SendBatch(ctx, &batch).Close()
	}
}

func byDeferredRewriter(control string) func(context.Context, pgx.Tx) error {
	return func(_ context.Context, tx pgx.Tx) error {
		return pgstore.Defer(tx, 0, "DELETE FROM marks WHERE false", controlInRewriter(control))
	}
}

type controlInRewriter string

func (c controlInRewriter) RewriteQuery(ctx context.Context, conn *pgx.Conn, sql string, arguments []any) (string, []any, error) {
	_, err := conn.Exec(ctx, string(c))
	return sql, arguments, err
}

func TestRawControlIsDetected(t *testing.T) {
	t.Parallel()
	ends := map[string]func(receipt.Session[pgx.Tx], receipt.Claim) error{
		"commit": func(session receipt.Session[pgx.Tx], claim receipt.Claim) error {
			_, err := session.Commit(context.Background(), receiptFor(claim), eventOf(claim.Key, ""))
			return err
		},
		"rollback": func(session receipt.Session[pgx.Tx], _ receipt.Claim) error {
			return session.Rollback(context.Background())
		},
	}
	for _, form := range rawForms {
		for name, end := range ends {
			t.Run(form.name+" before "+name, func(t *testing.T) {
				t.Parallel()
				f := newFixture(t)
				claim := claimOn("m1")
				session := f.begin(t, claim)
				if err := mark(t.Context(), session.Tx(), "effect"); err != nil {
					t.Fatal(err)
				}
				if err := form.do(t.Context(), session.Tx()); err != nil {
					t.Fatal(err)
				}
				expectTransactionEnded(t, f.store, end(session, claim))
				if history := f.history(t, "m1"); len(history) != 0 {
					t.Errorf("receipts = %v, want none", history)
				}
				if got := len(f.marks(t)) == 1; got != form.committed {
					t.Errorf("effects are there: %t, want %t", got, form.committed)
				}
			})
		}
	}
}

func expectTransactionEnded(t *testing.T, store *pgstore.Store, err error) {
	t.Helper()
	if !errors.Is(err, receipt.ErrTransactionEnded) {
		t.Errorf("error = %v, want ErrTransactionEnded", err)
	}
	if errors.Is(err, receipt.ErrNotCommitted) || errors.Is(err, receipt.ErrOutcomeUnknown) || store.Retryable(err) {
		t.Errorf("error %v invites a retry", err)
	}
}

// A transaction that only looks like the session's own gets no receipt: the
// guard knows nothing of a connection that the pool's owner kept, so here the
// check inside the receipt's INSERT is all that stands between.
func TestInsertChecksTheAttempt(t *testing.T) {
	t.Parallel()
	var conn *pgx.Conn
	f := newFixture(t, func(cfg *pgxpool.Config) {
		cfg.MaxConns = 1
		cfg.AfterConnect = func(_ context.Context, connected *pgx.Conn) error {
			conn = connected
			return nil
		}
	})
	claim := claimOn("m1")
	session := f.begin(t, claim)
	if _, err := conn.Exec(t.Context(), "ROLLBACK; BEGIN"); err != nil {
		t.Fatal(err)
	}
	if err := mark(t.Context(), session.Tx(), "effect"); err != nil {
		t.Fatal(err)
	}
	_, err := session.Commit(t.Context(), receiptFor(claim), eventOf(claim.Key, ""))
	expectTransactionEnded(t, f.store, err)
	f.expectNothing(t, "m1")
}

// The statements of the last flush run before the receipt, so a control
// statement among them would end the transaction and let the receipt commit
// without the effects.
func TestDeferRefusesControl(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	claim := claimOn("m1")
	session := f.begin(t, claim)
	for _, sql := range []string{"ROLLBACK", "COMMIT", "DELETE FROM marks; ROLLBACK", "DELETE FROM marks) SELECT 1; ROLLBACK; SELECT (1"} {
		if err := pgstore.Defer(session.Tx(), 0, sql); !errors.Is(err, pgstore.ErrNotDeferrable) {
			t.Errorf("Defer(%q) = %v, want ErrNotDeferrable", sql, err)
		}
	}
	if _, err := session.Commit(t.Context(), receiptFor(claim)); err != nil {
		t.Fatal(err)
	}
	if marks := f.marks(t); len(marks) != 0 {
		t.Errorf("effects = %q, want none", marks)
	}
}
