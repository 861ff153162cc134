package pgstore_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/settleonce/settleonce/receipt"
)

// decideBeside has one session wait for the key of another, which then commits
// the receipt of the key beside alone, and returns the session that waited. Its
// snapshot, if it has one, is then older than that commit.
func decideBeside(t *testing.T, f *fixture, isolation receipt.Isolation) (waited receipt.Session[pgx.Tx], claim receipt.Claim) {
	t.Helper()
	first := claimBeside("m1", 1)
	first.Isolation, first.LockTimeout = isolation, patience
	session := f.begin(t, first)
	second := rerunOf(first)
	began := make(chan receipt.Session[pgx.Tx], 1)
	go func() {
		waiting, err := f.store.Begin(context.Background(), second)
		if err != nil {
			t.Errorf("Begin of the session that waits = %v", err)
		}
		began <- waiting
	}()
	awaitAdvisoryWaits(t, f.pool, 1)
	if _, err := session.Commit(t.Context(), receiptsBeside(first)[0]); err != nil {
		t.Fatal(err)
	}
	waited = <-began
	if waited == nil {
		t.FailNow()
	}
	t.Cleanup(func() { _ = waited.Rollback(context.Background()) })
	return waited, second
}

func TestReadCommittedSeesTheReceiptBesideThatItWaitedFor(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	waited, claim := decideBeside(t, f, receipt.ReadCommitted)
	if beside := waited.Beside(); len(beside) != 1 || beside[0].Key != claim.Beside[0] {
		t.Errorf("Beside of the session that waited = %v, want the receipt of %s", beside, claim.Beside[0])
	}
	if _, err := waited.Commit(t.Context(), receiptFor(claim)); err != nil {
		t.Errorf("Commit = %v, want nil: it knew of the receipt beside", err)
	}
}

// The session that waited decided without the receipt beside, and its own
// receipt is no duplicate: only what the first one read tells the server that
// no order of the two explains both.
func TestSerializableFailsWithoutTheReceiptBesideThatItWaitedFor(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	waited, claim := decideBeside(t, f, receipt.Serializable)
	if beside := waited.Beside(); len(beside) != 0 {
		t.Fatalf("Beside of the session that waited = %v: its snapshot is too new to show anything", beside)
	}
	_, err := waited.Commit(t.Context(), receiptFor(claim))
	expectNotCommitted(t, f.store, err, "40001", true)
	if history := f.history(t, "m1"); len(history) != 0 {
		t.Errorf("receipts = %v, want none", history)
	}
}

// Two transactions that write the same keys beside wait for each other in one
// order, however their claims and callbacks name them: the later one fails as a
// duplicate, not in a deadlock with the earlier one.
func TestReceiptsAreWrittenInOneOrder(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	execute(t, f.pool, `CREATE FUNCTION wait_at_gate() RETURNS trigger LANGUAGE plpgsql AS
		$$ BEGIN PERFORM pg_advisory_xact_lock(4711); RETURN NULL; END $$;
		CREATE TRIGGER gate AFTER INSERT ON settleonce.receipts FOR EACH ROW
		WHEN (NEW.id = 'z-1, beside 0' AND NEW.attempt = 'first') EXECUTE FUNCTION wait_at_gate()`)
	first := claimBeside("z-1", 2)
	first.Attempt, first.LockTimeout = "first", patience
	second := claimOn("a-2")
	second.LockTimeout = patience
	second.Beside = []receipt.Key{first.Beside[1], first.Beside[0]}

	open := f.holdGate(t)
	earlier := f.commitBeside(t, first)
	awaitAdvisoryWaits(t, f.pool, 1)
	later := f.commitBeside(t, second)
	await(t, f.pool, "the second waits for the first one's receipt", `EXISTS (SELECT FROM pg_locks
		WHERE locktype = 'transactionid' AND NOT granted)`)
	open()
	expectCommitted(t, earlier)
	expectNotCommitted(t, f.store, <-later, "23505", true)
	if history := f.history(t, "a-2"); len(history) != 0 {
		t.Errorf("receipts of the later one = %v, want none", history)
	}
}

// commitBeside settles the claim's key and all keys beside it.
func (f *fixture) commitBeside(t *testing.T, claim receipt.Claim) <-chan error {
	t.Helper()
	session := f.begin(t, claim)
	session.Add(receiptsBeside(claim)...)
	done := make(chan error, 1)
	go func() {
		_, err := session.Commit(context.Background(), receiptFor(claim))
		done <- err
	}()
	return done
}

// The error names the receipt that the server refused.
func TestRefusedReceiptBesideIsNamed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	execute(t, f.pool, "ALTER TABLE settleonce.receipts ADD CONSTRAINT small CHECK (id <> 'm1, beside 1')")
	_, err := receiptsCommitted(t, f, claimBeside("m1", 2))
	expectNotCommitted(t, f.store, err, "23514", false)
	if refused := keyNamed("m1, beside 1").String(); !strings.Contains(err.Error(), refused) {
		t.Errorf("error %q does not name %s", err, refused)
	}
	f.expectNothing(t, "m1")
	f.expectNothing(t, "m1, beside 0")
}

func receiptsCommitted(t *testing.T, f *fixture, claim receipt.Claim) (receipt.Receipt, error) {
	t.Helper()
	session := f.begin(t, claim)
	session.Add(receiptsBeside(claim)...)
	return session.Commit(t.Context(), receiptFor(claim))
}

// Each receipt of the last flush checks by itself that the transaction is still
// the session's (I2): here the first one makes the mark go.
func TestEachReceiptNeedsTheSessionsTransaction(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	execute(t, f.pool, `CREATE FUNCTION lose_mark() RETURNS trigger LANGUAGE plpgsql AS
		$$ BEGIN PERFORM set_config('settleonce.attempt', 'another', true); RETURN NULL; END $$;
		CREATE TRIGGER lose_mark AFTER INSERT ON settleonce.receipts FOR EACH ROW EXECUTE FUNCTION lose_mark()`)
	_, err := receiptsCommitted(t, f, claimBeside("m1", 1))
	if !errors.Is(err, receipt.ErrTransactionEnded) {
		t.Errorf("Commit whose mark goes after the first receipt = %v, want ErrTransactionEnded", err)
	}
	f.expectNothing(t, "m1")
	f.expectNothing(t, "m1, beside 0")
}

// revise commits the receipts of so many revisions of a key, the first included.
func revise(t *testing.T, f *fixture, key receipt.Key, revisions int) {
	t.Helper()
	for revision := range revisions {
		claim := receipt.Claim{Key: key, Revision: revision, Attempt: receipt.NewID()}
		if _, err := f.begin(t, claim).Commit(t.Context(), receiptFor(claim)); err != nil {
			t.Fatal(err)
		}
	}
}

// found is what identifies a receipt.
type found struct {
	ID       string
	Revision int
}

func allFound(receipts []receipt.Receipt) []found {
	var all []found
	for i := range receipts {
		all = append(all, found{receipts[i].Key.ID, receipts[i].Revision})
	}
	return all
}

// One statement reads the claim's key and those beside: of the one it gives the
// claimed and the newest receipt, of the others the first, however many there
// are of each, and in the order of the claim.
func TestBeginTellsTheReceiptsOfSeveralKeysApart(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	revise(t, f, keyNamed("m"), 3)
	revise(t, f, keyNamed("z"), 2)
	revise(t, f, keyNamed("a"), 2)
	for _, tc := range []struct {
		key             string
		revision        int
		beside          []string
		claimed, newest *found
		firsts          []found
	}{
		{"m", 0, []string{"z", "none", "a"}, &found{"m", 0}, &found{"m", 2}, []found{{"z", 0}, {"a", 0}}},
		{"m", 1, []string{"a", "z"}, &found{"m", 1}, &found{"m", 2}, []found{{"a", 0}, {"z", 0}}},
		{"m", 2, []string{"z"}, &found{"m", 2}, &found{"m", 2}, []found{{"z", 0}}},
		{"m", 5, []string{"none"}, nil, &found{"m", 2}, nil},
		{"m", 1, nil, &found{"m", 1}, &found{"m", 2}, nil},
		{"none", 0, []string{"z", "m"}, nil, nil, []found{{"z", 0}, {"m", 0}}},
	} {
		claim := claimOn(tc.key)
		claim.Revision = tc.revision
		for _, id := range tc.beside {
			claim.Beside = append(claim.Beside, keyNamed(id))
		}
		session := f.begin(t, claim)
		claimed, newest := session.Prior()
		for name, pair := range map[string][2]*found{
			"claimed": {tc.claimed, identity(claimed)}, "newest": {tc.newest, identity(newest)},
		} {
			if diff := cmp.Diff(pair[0], pair[1]); diff != "" {
				t.Errorf("%s of revision %d of %s beside %v (-want +got):\n%s", name, tc.revision, tc.key, tc.beside, diff)
			}
		}
		if diff := cmp.Diff(tc.firsts, allFound(session.Beside())); diff != "" {
			t.Errorf("beside %v (-want +got):\n%s", tc.beside, diff)
		}
		if err := session.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// identity returns nil for none.
func identity(r *receipt.Receipt) *found {
	if r == nil {
		return nil
	}
	return &found{r.Key.ID, r.Revision}
}

// The number of keys decides which statement reads their histories.
func TestHistoryOfEveryNumberOfKeys(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	other := keyNamed("k3")
	other.Tenant, other.Scope, other.Operation = "other", "bet", "place"
	revise(t, f, keyNamed("k1"), 2)
	revise(t, f, keyNamed("k2"), 3)
	revise(t, f, other, 1)
	keys := []receipt.Key{keyNamed("k2"), other, keyNamed("k1"), keyNamed("k3")}
	of := [][]found{{{"k2", 0}, {"k2", 1}, {"k2", 2}}, {{"k3", 0}}, {{"k1", 0}, {"k1", 1}}, nil}
	var asked []receipt.Key
	var want []found
	for count := range receipt.MaxBeside + 3 {
		asked, want = append(asked, keys[count%len(keys)]), append(want, of[count%len(keys)]...)
		history, err := f.store.History(t.Context(), asked...)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, allFound(history)); diff != "" {
			t.Errorf("history of %v (-want +got):\n%s", asked, diff)
		}
	}
}

func TestHistoryNamesEveryWrongKey(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, err := f.store.History(t.Context(), receipt.Key{Tenant: "t"}, keyNamed("m1"), receipt.Key{Scope: "s"})
	if err == nil || strings.Count(err.Error(), "id must not be empty") != 2 {
		t.Errorf("History = %v, want both wrong keys named", err)
	}
	if history, err := f.store.History(t.Context()); len(history) != 0 || err != nil {
		t.Errorf("History of no key = %v, %v, want nothing", history, err)
	}
}
