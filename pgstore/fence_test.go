package pgstore_test

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/settleonce/settleonce/pgstore"
	"github.com/settleonce/settleonce/receipt"
)

func TestNewFenceNamesEveryWrongField(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cfg  pgstore.FenceConfig
		says []string // none: accepted
	}{
		"default schema": {pgstore.FenceConfig{Name: "market"}, nil},
		"longest name":   {pgstore.FenceConfig{Name: strings.Repeat("m", 63), Schema: "own"}, nil},
		"no name":        {pgstore.FenceConfig{}, []string{"FenceConfig.Name must have 1 to 63 bytes, has 0"}},
		"long name":      {pgstore.FenceConfig{Name: strings.Repeat("m", 64)}, []string{"FenceConfig.Name must have 1 to 63 bytes, has 64"}},
		"both": {pgstore.FenceConfig{Name: "a market", Schema: "pg_own"}, []string{
			"FenceConfig.Name may hold only", "FenceConfig.Schema must not begin with pg_",
		}},
	} {
		_, err := pgstore.NewFence(c.cfg)
		if (err == nil) != (len(c.says) == 0) {
			t.Errorf("%s: error = %v", name, err)
		}
		for _, part := range c.says {
			if err != nil && !strings.Contains(err.Error(), part) {
				t.Errorf("%s: error %q does not say %q", name, err, part)
			}
		}
	}
}

func TestFenceRefusesSubjectsThatAreNone(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	fence := newFence(t, pgstore.FenceConfig{Name: "market"})
	session := f.begin(t, claimOn("bet"))
	for name, c := range map[string]struct {
		subjects []pgstore.Subject
		says     []string
	}{
		"none":  {nil, []string{`fence "market": must be given a subject`}},
		"empty": {[]pgstore.Subject{market("m1"), {}}, []string{"Tenant of subject 2 must not be empty", "ID of subject 2 must not be empty"}},
	} {
		var batch pgx.Batch
		shared := fence.Share(&batch, c.subjects...)
		excluded := fence.Exclude(t.Context(), session.Tx(), c.subjects...)
		for call, err := range map[string]error{"Share": shared, "Exclude": excluded} {
			for _, part := range c.says {
				if err == nil || !strings.Contains(err.Error(), part) {
					t.Errorf("%s of %s = %v, want an error that says %q", call, name, err, part)
				}
			}
		}
		if batch.Len() != 0 {
			t.Errorf("Share of %s queued a statement", name)
		}
	}
	if err := mark(t.Context(), session.Tx(), "the transaction goes on"); err != nil {
		t.Error(err)
	}
}

// Processes of different releases must take the same locks: these figures
// never change.
func TestFenceLocksAreFixed(t *testing.T) {
	t.Parallel()
	got := map[string]int64{
		"market":          fenceLock(t, pgstore.FenceConfig{Name: "market"}, pgstore.Subject{Tenant: "t", ID: "i"}),
		"in other schema": fenceLock(t, pgstore.FenceConfig{Name: "market", Schema: "other"}, pgstore.Subject{Tenant: "t", ID: "i"}),
	}
	want := map[string]int64{
		"market":          1788880333901807793,
		"in other schema": -2398435796154715574,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFenceLocksAreFramed(t *testing.T) {
	t.Parallel()
	seen := map[int64]string{}
	for name, c := range map[string]struct {
		cfg     pgstore.FenceConfig
		subject pgstore.Subject
	}{
		"m|ab|c":       {pgstore.FenceConfig{Name: "m"}, pgstore.Subject{Tenant: "ab", ID: "c"}},
		"m|a|bc":       {pgstore.FenceConfig{Name: "m"}, pgstore.Subject{Tenant: "a", ID: "bc"}},
		"ma|b|c":       {pgstore.FenceConfig{Name: "ma"}, pgstore.Subject{Tenant: "b", ID: "c"}},
		"s|ma|b|c":     {pgstore.FenceConfig{Name: "ma", Schema: "s"}, pgstore.Subject{Tenant: "b", ID: "c"}},
		"sm|a|b|c":     {pgstore.FenceConfig{Name: "a", Schema: "sm"}, pgstore.Subject{Tenant: "b", ID: "c"}},
		"other tenant": {pgstore.FenceConfig{Name: "m"}, pgstore.Subject{Tenant: "other", ID: "c"}},
	} {
		lock := fenceLock(t, c.cfg, c.subject)
		if other, ok := seen[lock]; ok {
			t.Errorf("%s and %s share a lock", name, other)
		}
		seen[lock] = name
	}
	framed := []byte{1, 'm', 1, 't', 1, 'i'}
	if fenceLock(t, pgstore.FenceConfig{Name: "m", Schema: "s"}, pgstore.Subject{Tenant: "t", ID: "i"}) ==
		pgstore.AdvisoryKey(pgstore.OrderingDomain, "s", framed) {
		t.Error("a fence and an ordering key share a lock")
	}
}

func TestFenceLocksAreDistinctAndSorted(t *testing.T) {
	t.Parallel()
	fence := newFence(t, pgstore.FenceConfig{Name: "market"})
	forth, err := pgstore.FenceLocks(fence, subjects("a", "b", "c", "a")...)
	if err != nil {
		t.Fatal(err)
	}
	back, err := pgstore.FenceLocks(fence, subjects("c", "c", "b", "a")...)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(forth, back); diff != "" || len(forth) != 3 || !slices.IsSorted(forth) {
		t.Errorf("locks of the same markets = %v and %v", forth, back)
	}
}

func fenceLock(t *testing.T, cfg pgstore.FenceConfig, subject pgstore.Subject) int64 {
	t.Helper()
	locks, err := pgstore.FenceLocks(newFence(t, cfg), subject)
	if err != nil {
		t.Fatal(err)
	}
	return locks[0]
}

// The lock table has room for so many locks: a subject takes one of them,
// however often it is named.
func TestFenceTakesOneLockForEachSubject(t *testing.T) {
	t.Parallel()
	b := newBetting(t)
	bet := b.plain(t, pgx.ReadCommitted)
	b.mustShare(t, bet, readStatus, "m1", "m2", "m1", "m3", "m2")
	if held := b.fences(t, "mode = 'ShareLock' AND granted"); held != 3 {
		t.Errorf("a bet on three markets holds %d locks, want 3", held)
	}
	bet.commit(t)
	writer := b.plain(t, pgx.ReadCommitted)
	b.mustExclude(t, writer, "m2", "m1", "m2")
	if held := b.fences(t, "mode = 'ExclusiveLock' AND granted"); held != 2 {
		t.Errorf("a writer of two markets holds %d locks, want 2", held)
	}
	writer.commit(t)
	if held := b.fences(t, "true"); held != 0 {
		t.Errorf("%d locks outlive their transactions", held)
	}
}

// Other subjects, other fences and other tenants are not kept waiting.
func TestFenceKeepsOthersApart(t *testing.T) {
	t.Parallel()
	b := newBetting(t)
	b.mustExclude(t, b.plain(t, pgx.ReadCommitted), "m1")
	bet := b.plain(t, pgx.ReadCommitted)
	bet.execute(t, "SET LOCAL lock_timeout = '1ms'") // who waits at all fails
	b.mustShare(t, bet, readStatus, "m2")
	other := &betting{b.fixture, newFence(t, pgstore.FenceConfig{Name: "event"})}
	other.mustShare(t, bet, readStatus, "m1")
	var batch pgx.Batch
	if err := b.fence.Share(&batch, pgstore.Subject{Tenant: "other tenant", ID: "m1"}); err != nil {
		t.Fatal(err)
	}
	if err := bet.SendBatch(t.Context(), &batch).Close(); err != nil {
		t.Error(err)
	}
}

func TestShareTravelsWithTheRead(t *testing.T) {
	t.Parallel()
	modes := []pgx.QueryExecMode{pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeExec}
	for _, mode := range modes {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			var writes atomic.Int64
			b := newBetting(t, countWrites(&writes, mode))
			for _, connection := range []string{"cold", "warm"} {
				session := b.begin(t, claimOn(connection))
				before := writes.Load()
				b.mustShare(t, &party{Tx: session.Tx()}, readStatus, "m1", "m2")
				if made := writes.Load() - before; connection == "warm" && made != 1 {
					t.Errorf("lock and read took %d writes, want 1", made)
				}
				if err := session.Rollback(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func TestEveryExecModeReadsBehindTheFence(t *testing.T) {
	t.Parallel()
	modes := []pgx.QueryExecMode{
		pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec,
		pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol,
	}
	for _, mode := range modes {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			b := newBetting(t, func(cfg *pgxpool.Config) { cfg.ConnConfig.DefaultQueryExecMode = mode })
			bet, _, _ := b.bet(t, receipt.ReadCommitted)
			if state := b.waitForWriter(t, bet, readStatus, suspendMarket); state.err != nil || state.status != "suspended" {
				t.Errorf("bet that waited for the suspension sees %+v, want a suspended market", state)
			}
		})
	}
}

// A caller may also read the results one by one.
func TestShareHasOneResult(t *testing.T) {
	t.Parallel()
	b := newBetting(t)
	var batch pgx.Batch
	if err := b.fence.Share(&batch, subjects("m1", "m2")...); err != nil {
		t.Fatal(err)
	}
	batch.Queue(readStatus)
	results := b.plain(t, pgx.ReadCommitted).SendBatch(t.Context(), &batch)
	if _, err := results.Exec(); err != nil {
		t.Fatal(err)
	}
	var status string
	if err := results.QueryRow().Scan(&status); err != nil || status != "open" {
		t.Errorf("second result = %q, %v, want open", status, err)
	}
	if err := results.Close(); err != nil {
		t.Error(err)
	}
}
