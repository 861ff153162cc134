package receipttest

import (
	"context"
	"slices"
	"testing"

	"github.com/settleonce/settleonce/receipt"
)

// Subject is a store under test, and what [TestStore] needs to see whether
// effects and events commit with the receipts (I2). Every field is required.
type Subject[Tx any] struct {
	// Store is the store. It must bear eight open sessions at once.
	Store receipt.Store[Tx]

	// Write is an effect: it leaves mark in the data that tx changes. Each
	// mark is written once.
	Write func(ctx context.Context, tx Tx, mark string) error

	// Written returns the marks that are committed, in any order.
	Written func(ctx context.Context) ([]string, error)

	// Emitted returns the ids of the events that are committed, those of one
	// ordering key in the order of delivery.
	Emitted func(ctx context.Context) ([]string, error)
}

// TestStore checks that the stores which open returns keep the contract of
// [receipt.Store] and [receipt.Session], as far as it can be seen from
// outside. It calls open once a case, each a subtest; the data may be the same
// each time, since the keys and marks are not. What open needs to close it
// registers with Cleanup.
//
// No case depends on how fast the store is, except that a call which takes
// longer than half a minute fails.
func TestStore[Tx any](t *testing.T, open func(testing.TB) Subject[Tx]) {
	t.Helper()
	for _, d := range demands[Tx]() {
		t.Run(d.name, func(t *testing.T) { d.test(t, open) })
	}
}

// demand is one case of the suite.
type demand[Tx any] struct {
	name string
	// sentence says what is demanded, and is printed where it is not met.
	sentence string
	check    func(*trial[Tx])
}

func (d *demand[Tx]) test(tb testing.TB, open func(testing.TB) Subject[Tx]) {
	tb.Helper()
	tb.Cleanup(func() {
		if tb.Failed() {
			tb.Logf("this case demands: %s", d.sentence)
		}
	})
	subject := open(tb)
	if subject.Store == nil || subject.Write == nil || subject.Written == nil || subject.Emitted == nil {
		tb.Fatal("receipttest: Subject: every field must be set")
	}
	d.check(&trial[Tx]{TB: tb, Subject: subject})
}

func demands[Tx any]() []demand[Tx] {
	return slices.Concat(
		commitDemands[Tx](),
		endDemands[Tx](),
		receiptDemands[Tx](),
		duplicateDemands[Tx](),
		waitDemands[Tx](),
		keyDemands[Tx](),
		besideDemands[Tx](),
	)
}
