package pgstore_test

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/settleonce/settleonce/pgstore"
	"github.com/settleonce/settleonce/receipt"
)

// waitForWriter has a bet, whose transaction has begun, wait at the fence until
// a writer has changed the market, and returns what the bet then reads.
func (b *betting) waitForWriter(t *testing.T, bet *party, read, change string) seen {
	t.Helper()
	writer := b.plain(t, pgx.Serializable)
	b.mustExclude(t, writer, "m1")
	writer.execute(t, change)
	result := b.queueShare(t, bet, read, "m1")
	writer.commit(t)
	return <-result
}

func TestReadCommittedSeesWhatItWaitedFor(t *testing.T) {
	t.Parallel()
	b := newBetting(t)
	bet, _, _ := b.bet(t, receipt.ReadCommitted)
	if state := b.waitForWriter(t, bet, readStatus, suspendMarket); state.err != nil || state.status != "suspended" {
		t.Errorf("bet that waited for the suspension sees %+v, want a suspended market", state)
	}
}

// Why the read is a statement of its own.
func TestLockAndReadInOneStatementIsStale(t *testing.T) {
	t.Parallel()
	b := newBetting(t)
	locks, err := pgstore.FenceLocks(b.fence, market("m1"))
	if err != nil {
		t.Fatal(err)
	}
	writer := b.plain(t, pgx.ReadCommitted)
	b.mustExclude(t, writer, "m1")
	writer.execute(t, suspendMarket)
	bet := b.plain(t, pgx.ReadCommitted)
	result := make(chan seen, 1)
	ctx := t.Context()
	go func() {
		var state seen
		state.err = bet.QueryRow(ctx, `SELECT status FROM pg_advisory_xact_lock_shared($1), markets WHERE id = 'm1'`, locks[0]).Scan(&state.status)
		result <- state
	}()
	b.awaitWaiting(t, bet)
	writer.commit(t)
	if state := <-result; state.err != nil || state.status != "open" {
		t.Errorf("one statement that locked and read saw %+v, want the state from before its wait", state)
	}
}

// At SERIALIZABLE the snapshot is older than the wait, and it depends on the
// row lock whether that shows.
func TestSerializableNeedsARowLock(t *testing.T) {
	t.Parallel()
	const (
		stale    = "open"
		conflict = "40001"
		none     = "no rows"

		changeKey = "UPDATE markets SET version = 3, status = 'suspended' WHERE id = 'm1'"
		remove    = "DELETE FROM markets WHERE id = 'm1'"
		insert    = "INSERT INTO states VALUES ('m1', 'suspended')"
	)
	for name, c := range map[string]struct{ read, change, want string }{
		"no row lock":                            {readStatus, suspendMarket, stale},
		"no row lock, deleted":                   {readStatus, remove, stale},
		"FOR KEY SHARE":                          {readStatus + " FOR KEY SHARE", suspendMarket, stale},
		"FOR KEY SHARE, key changed":             {readStatus + " FOR KEY SHARE", changeKey, conflict},
		"FOR KEY SHARE, deleted":                 {readStatus + " FOR KEY SHARE", remove, conflict},
		"FOR SHARE":                              {readStatus + " FOR SHARE", suspendMarket, conflict},
		"FOR SHARE, key changed":                 {readStatus + " FOR SHARE", changeKey, conflict},
		"FOR SHARE, deleted":                     {readStatus + " FOR SHARE", remove, conflict},
		"FOR NO KEY UPDATE":                      {readStatus + " FOR NO KEY UPDATE", suspendMarket, conflict},
		"FOR UPDATE":                             {readStatus + " FOR UPDATE", suspendMarket, conflict},
		"FOR SHARE, found by what was changed":   {readStatus + " AND status = 'suspended' FOR SHARE", suspendMarket, none},
		"FOR SHARE, state in a row of its own":   {"SELECT status FROM states WHERE market = 'm1' FOR SHARE", insert, none},
		"FOR SHARE of a row that did not change": {readStatus + " FOR SHARE", insert, stale},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBetting(t)
			bet, session, claim := b.bet(t, receipt.Serializable)
			state := b.waitForWriter(t, bet, c.read, c.change)
			if got := outcomeOf(state); got != c.want {
				t.Fatalf("bet that waited sees %q (%v), want %q", got, state.err, c.want)
			}
			if c.want != conflict {
				// Nothing stops such a bet later on.
				bet.execute(t, "INSERT INTO bets VALUES ('m1', $1)", state.status)
				if _, err := session.Commit(t.Context(), receiptFor(claim)); err != nil {
					t.Errorf("commit of a bet on the old state = %v, want nil", err)
				}
				return
			}
			if !b.store.Retryable(state.err) {
				t.Errorf("%v is not retryable", state.err)
			}
			again, _, _ := b.bet(t, receipt.Serializable)
			if got := outcomeOf(b.share(t.Context(), again, c.read, "m1")); got == stale || got == conflict {
				t.Errorf("the next attempt sees %q, want the new state", got)
			}
		})
	}
}

// outcomeOf puts what a bet saw into one word.
func outcomeOf(state seen) string {
	var server *pgconn.PgError
	switch {
	case state.err == nil:
		return state.status
	case errors.Is(state.err, pgx.ErrNoRows):
		return "no rows"
	case errors.As(state.err, &server):
		return server.Code
	default:
		return state.err.Error()
	}
}

// The one way to have the snapshot after the wait: LOCK TABLE takes none. In a
// store's session it comes too late.
func TestOnlyATableLockCanPrecedeTheSnapshot(t *testing.T) {
	t.Parallel()
	const lockTable = "LOCK TABLE markets IN SHARE MODE"
	for name, c := range map[string]struct {
		begin func(*testing.T, *betting) *party
		want  string
	}{
		"first statement": {func(t *testing.T, b *betting) *party {
			t.Helper()
			return b.plain(t, pgx.Serializable)
		}, "suspended"},
		"in a session": {func(t *testing.T, b *betting) *party {
			t.Helper()
			bet, _, _ := b.bet(t, receipt.Serializable)
			return bet
		}, "open"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBetting(t)
			writer := b.plain(t, pgx.ReadCommitted)
			writer.execute(t, suspendMarket)
			bet := c.begin(t, b)
			locked := b.queue(t, bet, func(ctx context.Context) error {
				_, err := bet.Exec(ctx, lockTable)
				return err
			})
			writer.commit(t)
			if err := <-locked; err != nil {
				t.Fatal(err)
			}
			var status string
			if err := bet.QueryRow(t.Context(), readStatus).Scan(&status); err != nil || status != c.want {
				t.Errorf("bet behind the table lock sees %q, %v, want %q", status, err, c.want)
			}
		})
	}
}

// The server itself notices only a cycle: a writer that is serialisable, and
// has read what the bet then writes.
func TestSerializableWriterThatReadsBetsIsInConflict(t *testing.T) {
	t.Parallel()
	b := newBetting(t)
	bet, session, claim := b.bet(t, receipt.Serializable)
	writer := b.plain(t, pgx.Serializable)
	b.mustExclude(t, writer, "m1")
	writer.execute(t, "SELECT count(*) FROM bets WHERE market = 'm1'")
	writer.execute(t, suspendMarket)
	result := b.queueShare(t, bet, readStatus, "m1")
	writer.commit(t)
	state := <-result
	if state.err == nil {
		_, state.err = bet.Exec(t.Context(), "INSERT INTO bets VALUES ('m1', $1)", state.status)
	}
	if state.err == nil {
		_, state.err = session.Commit(t.Context(), receiptFor(claim))
	}
	if got := outcomeOf(state); got != "40001" {
		t.Errorf("bet on the old state ends with %q (%v), want 40001", got, state.err)
	}
}

func TestRepeatableReadIsStaleToo(t *testing.T) {
	t.Parallel()
	b := newBetting(t)
	bet := b.plain(t, pgx.RepeatableRead) // its first statement is the one that waits
	if got := outcomeOf(b.waitForWriter(t, bet, readStatus, suspendMarket)); got != "open" {
		t.Errorf("bet that waited sees %q, want the state from before its wait", got)
	}
}

// A row that changes often costs serialisable bets a retry each time, whether
// or not anybody waited.
func TestRowLockNoticesChangesThatWereNotFenced(t *testing.T) {
	t.Parallel()
	b := newBetting(t)
	bet, _, _ := b.bet(t, receipt.Serializable)
	execute(t, b.pool, "UPDATE markets SET version = 3 WHERE id = 'm1'")
	if state := b.share(t.Context(), bet, readStatus+" FOR SHARE", "m1"); !b.store.Retryable(state.err) {
		t.Errorf("bet on a row that was changed since sees %+v, want an error to retry", state)
	}
}

// Why a writer should be READ COMMITTED.
func TestSerializableWriterDoesNotSeeTheBetsItWaitedFor(t *testing.T) {
	t.Parallel()
	for isolation, want := range map[pgx.TxIsoLevel]int{pgx.ReadCommitted: 1, pgx.Serializable: 0} {
		b := newBetting(t)
		bet := b.plain(t, pgx.ReadCommitted)
		b.mustShare(t, bet, readStatus, "m1")
		writer := b.plain(t, isolation)
		excluded := b.queueExclude(t, writer, "m1")
		bet.execute(t, "INSERT INTO bets VALUES ('m1', 'open')")
		bet.commit(t)
		if err := <-excluded; err != nil {
			t.Fatal(err)
		}
		var bets int
		if err := writer.QueryRow(t.Context(), "SELECT count(*) FROM bets").Scan(&bets); err != nil || bets != want {
			t.Errorf("%s writer behind a bet sees %d bets, %v, want %d", isolation, bets, err, want)
		}
	}
}
