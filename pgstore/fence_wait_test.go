package pgstore_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/settleonce/settleonce/internal/pgtest"
	"github.com/settleonce/settleonce/pgstore"
	"github.com/settleonce/settleonce/receipt"
)

// Two writers name the same markets in opposite orders. Each would get its
// first when both become free, and then wait for the other for ever.
func TestWritersOfSeveralMarketsDoNotDeadlock(t *testing.T) {
	t.Parallel()
	b := newBetting(t)
	before := b.plain(t, pgx.ReadCommitted)
	b.mustExclude(t, before, "m1", "m2")
	forth, back := b.plain(t, pgx.ReadCommitted), b.plain(t, pgx.ReadCommitted)
	first := b.queueExclude(t, forth, "m1", "m2")
	second := b.queueExclude(t, back, "m2", "m1")
	before.commit(t)
	if err := <-first; err != nil {
		t.Fatal(err)
	}
	forth.commit(t)
	if err := <-second; err != nil {
		t.Fatal(err)
	}
}

// Accumulators share their locks, but not with the writer between them.
func TestAccumulatorsDoNotDeadlock(t *testing.T) {
	t.Parallel()
	b := newBetting(t)
	before := b.plain(t, pgx.ReadCommitted)
	b.mustExclude(t, before, "m1", "m2")
	forth, back := b.plain(t, pgx.ReadCommitted), b.plain(t, pgx.ReadCommitted)
	writer, last := b.plain(t, pgx.ReadCommitted), b.plain(t, pgx.ReadCommitted)
	first := b.queueShare(t, forth, readStatus, "m1", "m2")
	second := b.queueShare(t, back, readStatus, "m2", "m1")
	excluded := b.queueExclude(t, writer, "m2", "m1")
	third := b.queueShare(t, last, readStatus, "m1", "m2")
	before.commit(t)
	for _, bet := range []struct {
		result <-chan seen
		party  *party
	}{{second, back}, {first, forth}} { // the writer is next once back has gone
		if state := <-bet.result; state.err != nil {
			t.Fatal(state.err)
		}
		bet.party.commit(t)
	}
	if err := <-excluded; err != nil {
		t.Fatal(err)
	}
	writer.commit(t)
	if state := <-third; state.err != nil {
		t.Fatal(state.err)
	}
}

// Why no transaction may exclude what it has shared.
func TestTwoThatExcludeWhatTheySharedDeadlock(t *testing.T) {
	t.Parallel()
	b := newBetting(t)
	first, second := b.plain(t, pgx.ReadCommitted), b.plain(t, pgx.ReadCommitted)
	b.mustShare(t, first, readStatus, "m1")
	b.mustShare(t, second, readStatus, "m1")
	waited := b.queueExclude(t, first, "m1")
	ends := map[string]int{}
	ends[outcomeOf(seen{err: b.fence.Exclude(t.Context(), second, market("m1"))})]++
	ends[outcomeOf(seen{err: <-waited})]++
	if diff := cmp.Diff(map[string]int{"": 1, "40P01": 1}, ends); diff != "" {
		t.Errorf("ends (-want +got):\n%s", diff)
	}
}

func TestLockTimeoutBoundsTheFence(t *testing.T) {
	t.Parallel()
	b := newBetting(t)
	b.mustExclude(t, b.plain(t, pgx.ReadCommitted), "m1")

	claim := claimOn("bet")
	claim.LockTimeout = 20 * time.Millisecond
	session := b.begin(t, claim)
	state := b.share(t.Context(), session.Tx(), readStatus, "m1")
	if got := outcomeOf(state); got != "55P03" || !strings.Contains(state.err.Error(), `fence "market"`) {
		t.Errorf("Share of a subject that a writer holds = %v, want 55P03 and the fence's name", state.err)
	}
	if errors.Is(state.err, receipt.ErrInFlight) {
		t.Error("a bet that waited for the fence is taken for one whose key is in flight")
	}

	writer := b.plain(t, pgx.ReadCommitted)
	writer.execute(t, "SET LOCAL lock_timeout = '20ms'")
	err := b.fence.Exclude(t.Context(), writer, market("m1"))
	if got := outcomeOf(seen{err: err}); got != "55P03" || !strings.Contains(err.Error(), `fence "market"`) {
		t.Errorf("Exclude of a subject that another holds = %v, want 55P03 and the fence's name", err)
	}
}

// A writer that gives up leaves the queue, and those behind it go on.
func TestWriterThatGivesUpHoldsBackNobody(t *testing.T) {
	t.Parallel()
	b := newBetting(t)
	b.mustShare(t, b.plain(t, pgx.ReadCommitted), readStatus, "m1")
	writer := b.plain(t, pgx.ReadCommitted)
	ctx, cancel := context.WithCancel(t.Context())
	excluded := b.queue(t, writer, func(context.Context) error {
		return b.fence.Exclude(ctx, writer, market("m1"))
	})
	behind := b.queueShare(t, b.plain(t, pgx.ReadCommitted), readStatus, "m1")
	cancel()
	if err := <-excluded; !errors.Is(err, context.Canceled) {
		t.Errorf("Exclude of a cancelled caller = %v, want context.Canceled", err)
	}
	if state := <-behind; state.err != nil || state.status != "open" {
		t.Errorf("bet behind the writer that gave up sees %+v, want an open market", state)
	}
}

// kill closes a client's socket, as the kernel does for a killed process.
func kill(t *testing.T, tx pgx.Tx) {
	t.Helper()
	if err := tx.Conn().PgConn().Conn().Close(); err != nil {
		t.Fatal(err)
	}
}

func TestKilledClientFreesTheFence(t *testing.T) {
	t.Parallel()
	b := newBetting(t)
	writer := b.plain(t, pgx.ReadCommitted)
	b.mustExclude(t, writer, "m1")
	writer.execute(t, suspendMarket)
	behind := b.queueShare(t, b.plain(t, pgx.ReadCommitted), readStatus, "m1")
	kill(t, writer)
	if state := <-behind; state.err != nil || state.status != "open" {
		t.Errorf("bet behind the killed writer sees %+v, want an open market", state)
	}
}

// A bet that is killed while it waits in a store's session leaves the queue
// too, since the server looks after its client during the wait.
func TestClientKilledInTheQueueLeavesIt(t *testing.T) {
	t.Parallel()
	b := newBetting(t)
	b.mustShare(t, b.plain(t, pgx.ReadCommitted), readStatus, "m1")
	leaving := pgtest.PoolOn(t, b.pool.Config().ConnString(), func(cfg *pgxpool.Config) { cfg.MaxConns = 1 })
	store := newStore(t, leaving, pgstore.Config{ClientCheckInterval: 20 * time.Millisecond, LockTimeout: patience})
	session, err := store.Begin(t.Context(), claimOn("suspension"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Rollback(context.Background()) })
	socket := session.Tx().Conn().PgConn().Conn()
	excluded := b.queueExclude(t, newParty(t, session.Tx()), "m1")
	behind := b.queueShare(t, b.plain(t, pgx.ReadCommitted), readStatus, "m1")
	if err := socket.Close(); err != nil {
		t.Fatal(err)
	}
	if state := <-behind; state.err != nil || state.status != "open" {
		t.Errorf("bet behind the killed writer sees %+v, want an open market", state)
	}
	if err := <-excluded; err == nil {
		t.Error("Exclude of the killed client succeeded")
	}
}

func TestRollbackToASavepointReleasesTheFence(t *testing.T) {
	t.Parallel()
	b := newBetting(t)
	bet, _, _ := b.bet(t, receipt.ReadCommitted)
	inSavepoint := func(market string, end func(pgx.Tx, context.Context) error) {
		t.Helper()
		savepoint, err := bet.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		b.mustShare(t, &party{Tx: savepoint}, readStatus, market)
		if err := end(savepoint, t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	inSavepoint("m1", pgx.Tx.Commit)
	inSavepoint("m2", pgx.Tx.Rollback)
	b.mustExclude(t, b.plain(t, pgx.ReadCommitted), "m2") // waits for nobody
	if held := b.fences(t, "mode = 'ShareLock' AND granted"); held != 1 {
		t.Errorf("after one savepoint was released and one rolled back the bet shares %d locks, want 1", held)
	}
}
