package receipttest_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/settleonce/settleonce/receipt"
	"github.com/settleonce/settleonce/receipt/receipttest"
)

func TestConfigNamesEveryWrongField(t *testing.T) {
	t.Parallel()
	_, err := receipttest.New(receipttest.Config[memoryTx]{
		LockTimeout: -1,
		Faults:      []receipttest.Fault{receipttest.NoFault, "no such fault"},
	})
	if err == nil {
		t.Fatal("New = nil; want an error")
	}
	for _, want := range []string{"World", "LockTimeout", `"no such fault"`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("New = %v; want it to name %s", err, want)
		}
	}
}

func TestInjectTakesAllOrNothing(t *testing.T) {
	t.Parallel()
	s := newScene(t, receipttest.Config[memoryTx]{})
	if err := s.fake.Inject(receipttest.RerunCallback, "no such fault"); err == nil {
		t.Error("Inject of an unknown fault = nil; want an error")
	}
	if queued := s.fake.Queued(); len(queued) != 0 {
		t.Errorf("queued: %v; want none", queued)
	}
}

// A claim that breaks a rule is refused before it waits or opens anything.
func TestBeginNamesEveryWrongField(t *testing.T) {
	t.Parallel()
	opened := 0
	w := &world{Memory: &receipttest.Memory[int]{}}
	w.begin = func() memoryTx { opened++; return w.Memory.Begin() }
	fake, err := receipttest.New(receipttest.Config[memoryTx]{World: w})
	if err != nil {
		t.Fatal(err)
	}
	_, err = fake.Begin(t.Context(), receipt.Claim{Revision: -1, Isolation: 99, LockTimeout: -1, Beside: make([]receipt.Key, 1)})
	if err == nil {
		t.Fatal("Begin = nil; want an error")
	}
	for _, want := range []string{"tenant", "revision", "attempt", "isolation", "lock timeout", "beside 1 of 1"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("Begin = %v; want it to name the %s", err, want)
		}
	}
	if opened != 0 {
		t.Errorf("%d transactions were opened; want 0", opened)
	}
}

// Every transaction of the world is ended once, whatever becomes of its
// session.
func TestWorldsTransactionsEndOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		open, ends := 0, make(map[memoryTx]int)
		w := &world{Memory: &receipttest.Memory[int]{}}
		w.begin = func() memoryTx { open++; return w.Memory.Begin() }
		w.commit = func(tx memoryTx) error { ends[tx]++; return w.Memory.Commit(tx) }
		w.rollback = func(tx memoryTx) { ends[tx]++; w.Memory.Rollback(tx) }
		s := newScene(t, receipttest.Config[memoryTx]{})
		fake, err := receipttest.New(receipttest.Config[memoryTx]{World: w, Faults: receipttest.Faults()})
		if err != nil {
			t.Fatal(err)
		}
		s.fake, s.memory = fake, w.Memory
		for i := 0; len(fake.Queued()) > 0; i++ {
			claim := s.claim(receipt.NewID())
			claim.Isolation = receipt.Isolation(i % 2)
			_, _ = s.settle(claim) // with whatever fault is next
			_ = s.look(claim)
		}
		fake.Heal()
		if open == 0 || len(ends) != open {
			t.Errorf("%d transactions were opened and %d ended", open, len(ends))
		}
		for _, times := range ends {
			if times != 1 {
				t.Errorf("a transaction was ended %d times; want 1", times)
			}
		}
	})
}

// What the world refuses to commit is not committed, and the cause is there to
// see.
func TestWorldRefusesCommit(t *testing.T) {
	t.Parallel()
	errFull := errors.New("the world is full")
	for _, fault := range []receipttest.Fault{
		receipttest.NoFault, receipttest.LoseAnswer, receipttest.RivalFirst, receipttest.TransactionEnded,
	} {
		w := &world{Memory: &receipttest.Memory[int]{}}
		w.commit = func(tx memoryTx) error { w.Memory.Rollback(tx); return errFull }
		fake, err := receipttest.New(receipttest.Config[memoryTx]{World: w, Faults: []receipttest.Fault{fault}})
		if err != nil {
			t.Fatal(err)
		}
		s := &scene{t, w.Memory, fake}
		claim := s.claim("m-1")
		_, err = s.settle(claim)
		if !errors.Is(err, receipt.ErrNotCommitted) || !errors.Is(err, errFull) {
			t.Errorf("%s: Commit = %v; want ErrNotCommitted and the world's error", fault, err)
		}
		if fake.Fired(fault) != 0 {
			t.Errorf("%s fired on a commit that failed by itself", fault)
		}
		s.wantState(string(fault), claim.Key, state{})
		s.rollBackFree(claim)
	}
}

// rollBackFree begins on the claim's key, which must be free.
func (s *scene) rollBackFree(claim receipt.Claim) {
	s.Helper()
	claim.LockTimeout = 1
	if err := s.begin(claim).Rollback(s.Context()); err != nil {
		s.Errorf("Rollback = %v; want nil", err)
	}
}

// Whoever asked first gets the key first, and a turn that nobody takes passes
// on.
func TestWaitersTakeTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, receipttest.Config[memoryTx]{})
		claim := s.claim("m-1")
		holder := s.begin(claim)
		turns := make(chan int, 5)
		for number := range 5 {
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				waiting, err := s.fake.Begin(ctx, claim)
				if err != nil {
					return
				}
				turns <- number
				_ = waiting.Rollback(ctx)
			}()
			synctest.Wait()
			if number%2 == 1 {
				cancel()
				synctest.Wait()
			}
			defer cancel()
		}
		if got := s.fake.Waiting(claim.Key); got != 3 {
			t.Errorf("%d wait; want 3", got)
		}
		if err := holder.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, want := range []int{0, 2, 4} {
			if got := <-turns; got != want {
				t.Errorf("waiter %d had its turn; want %d", got, want)
			}
		}
		synctest.Wait()
		s.rollBackFree(claim)
	})
}

func TestLockTimeouts(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name          string
		config, claim time.Duration
		want          time.Duration
	}{
		{"default", 0, 0, receipttest.DefaultLockTimeout},
		{"config's", time.Minute, 0, time.Minute},
		{"claim's", time.Minute, time.Hour, time.Hour},
		{"none in sight", time.Minute, math.MaxInt64, 24 * time.Hour},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newScene(t, receipttest.Config[memoryTx]{LockTimeout: row.config})
				claim := s.claim("m-1")
				holder := s.begin(claim)
				claim.LockTimeout = row.claim
				ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
				defer cancel()
				began := time.Now()
				_, err := s.fake.Begin(ctx, claim)
				if waited := time.Since(began); waited != row.want {
					t.Errorf("Begin waited %v; want %v", waited, row.want)
				}
				timedOut := row.want < 24*time.Hour
				if errors.Is(err, receipt.ErrInFlight) != timedOut || errors.Is(err, context.DeadlineExceeded) == timedOut {
					t.Errorf("Begin = %v; want ErrInFlight: %t", err, timedOut)
				}
				if err := holder.Rollback(t.Context()); err != nil {
					t.Fatal(err)
				}
			})
		})
	}
}

func TestTimesAreTheConfigsClock(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.FixedZone("CET", 3600))
	s := newScene(t, receipttest.Config[memoryTx]{Now: func() time.Time { return now }})
	claim := s.claim("m-1")
	session := s.begin(claim)
	began := now
	now = now.Add(time.Hour)
	if _, err := s.commit(session, claim); err != nil {
		t.Fatal(err)
	}
	inUTC := func(at time.Time) time.Time { return at.UTC().Truncate(time.Microsecond) }
	if got, want := session.BeganAt(), inUTC(began); got != want {
		t.Errorf("BeganAt = %v; want %v", got, want)
	}
	for _, stored := range s.fake.Receipts() {
		if got, want := stored.RecordedAt, inUTC(now); got != want {
			t.Errorf("RecordedAt of %s = %v; want %v", stored.Key, got, want)
		}
	}
}

// What the readers return is the reader's own.
func TestReadersReturnCopies(t *testing.T) {
	t.Parallel()
	s := newScene(t, receipttest.Config[memoryTx]{})
	claim := s.claim("m-1")
	opened := s.begin(claim)
	r := validReceipt(claim)
	r.Value = []byte("value")
	emitted := eventOf(claim)
	emitted.Data = []byte(`"data"`)
	if _, err := opened.Commit(t.Context(), r, emitted); err != nil {
		t.Fatal(err)
	}
	clear(s.fake.Receipts()[0].Value)
	clear(s.fake.Events()[0].Data)
	clear(emitted.Data)
	if got := string(s.fake.Receipts()[0].Value); got != "value" {
		t.Errorf("the stored value is %q; want %q", got, "value")
	}
	if got := string(s.fake.Events()[0].Data); got != `"data"` {
		t.Errorf("the stored data is %q; want %q", got, `"data"`)
	}
}
