package settle_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/receipt"
	"github.com/settleonce/settleonce/receipt/receipttest"
)

// outcome is what one call of Do under one fault must come to.
type outcome struct {
	Err       error // the sentinel; nil: none
	Not       error // a sentinel that must not be true
	Calls     int   // runs of the callback
	Hooks     int
	OnReceipt int
	OnReplay  int // those of OnReceipt that were told of a replay
	Replayed  bool
	Rating    int // what is committed: 10 a settlement
	Events    int
	Receipts  int
}

// TestFaults has one row a fault of the fake: what Do returns, how often the
// callback, the hook and OnReceipt run, and what is left.
func TestFaults(t *testing.T) {
	t.Parallel()
	committed := outcome{Calls: 1, Hooks: 1, OnReceipt: 1, Rating: 10, Events: 1, Receipts: 1}
	twice := committed
	twice.Calls = 2
	nothing := outcome{Calls: 1}
	rows := map[receipttest.Fault]outcome{
		receipttest.NoFault:          committed,
		receipttest.RerunCallback:    twice,
		receipttest.LoseAnswer:       committed,
		receipttest.UnknownThenFound: committed,
		// Known not to have committed, so the callback may run again.
		receipttest.UnknownThenNotFound: twice,
		receipttest.FailBegin:           {Err: receipttest.ErrInjected},
		receipttest.SlowLock:            {Err: receipt.ErrInFlight},
		receipttest.FailBeforeCommit:    withErr(nothing, receipt.ErrNotCommitted, receipt.ErrOutcomeUnknown),
		// The rival's effects stand; the hooks of the beaten attempt are
		// dropped.
		receipttest.UnknownThenRival: {Calls: 1, OnReceipt: 1, OnReplay: 1, Replayed: true, Rating: 10, Events: 1, Receipts: 1},
		receipttest.RivalFirst:       {Calls: 1, OnReceipt: 1, OnReplay: 1, Replayed: true, Rating: 10, Events: 1, Receipts: 1},
		receipttest.UnknownUnresolved: withErr(nothing, receipt.ErrOutcomeUnknown,
			receipt.ErrNotCommitted),
		// What a raw COMMIT let out stays, without receipt and events.
		receipttest.TransactionEnded: {Err: receipt.ErrTransactionEnded, Not: receipt.ErrNotCommitted, Calls: 1, Rating: 10},
	}
	for _, fault := range append(receipttest.Faults(), receipttest.NoFault) {
		t.Run(string(fault), func(t *testing.T) {
			t.Parallel()
			want, ok := rows[fault]
			if !ok {
				t.Fatal("no row for this fault")
			}
			synctest.Test(t, func(t *testing.T) { checkFault(t, fault, want) })
		})
	}
}

func withErr(o outcome, is, not error) outcome {
	o.Err, o.Not = is, not
	return o
}

func checkFault(t *testing.T, fault receipttest.Fault, want outcome) {
	t.Helper()
	b := newBench(t, nil, fault)
	result, err := b.do(t.Context())
	if want.Err == nil && err != nil || !errors.Is(err, want.Err) {
		t.Errorf("err = %v, want %v", err, want.Err)
	}
	if want.Not != nil && errors.Is(err, want.Not) {
		t.Errorf("err = %v, must not be %v", err, want.Not)
	}
	got := outcome{
		Err: want.Err, Not: want.Not,
		Calls: b.calls, Hooks: b.hooks, OnReceipt: b.onReceipt, OnReplay: b.onReplay,
		Replayed: result.Replayed,
		Rating:   b.alice(), Events: len(b.fake.Events()), Receipts: len(b.fake.Receipts()),
	}
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b error) bool { return errors.Is(a, b) })); diff != "" {
		t.Errorf("outcome (-want +got):\n%s", diff)
	}
	if fired := b.fake.Fired(fault); fired != 1 {
		t.Errorf("the fault fired %d times, want 1", fired)
	}
	checkSentAgain(t, b, fault, want)
}

// checkSentAgain sends the same once more, as any sender would that did not
// get a receipt, and some that did: whatever the fault was, the effects are
// there exactly once.
func checkSentAgain(t *testing.T, b *bench, fault receipttest.Fault, want outcome) {
	t.Helper()
	if errors.Is(want.Err, receipt.ErrTransactionEnded) {
		return // The one error that forbids a retry.
	}
	b.fake.Heal()
	result, err := b.do(t.Context())
	if err != nil {
		t.Fatalf("sent again: %v", err)
	}
	if result.Value != 10 || b.alice() != 10 {
		t.Errorf("sent again: value %d and rating %d, want 10 and 10", result.Value, b.alice())
	}
	if receipts := len(b.fake.Receipts()); receipts != 1 {
		t.Errorf("sent again: %d receipts, want 1", receipts)
	}
	mustReplay := want.Err == nil || fault == receipttest.UnknownUnresolved
	if result.Replayed != mustReplay {
		t.Errorf("sent again: replayed = %v, want %v", result.Replayed, mustReplay)
	}
}

// TestSchedules settles one key under many seeded schedules of faults, sending
// again until there is an answer.
func TestSchedules(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		synctest.Test(t, func(t *testing.T) {
			schedule := receipttest.Schedule(seed, 12)
			b := newBench(t, nil, schedule...)
			result, err := b.do(t.Context())
			for range schedule {
				if err == nil {
					break
				}
				result, err = b.do(t.Context())
			}
			if err != nil || result.Value != 10 || b.alice() != 10 || len(b.fake.Events()) != 1 || b.hooks > 1 {
				t.Errorf("seed %d, schedule %v: err %v, rating %d, %d events, %d hooks, result %+v",
					seed, schedule, err, b.alice(), len(b.fake.Events()), b.hooks, result)
			}
		})
	}
}
