package lanestest

import (
	"context"
	"slices"
	"testing"

	"github.com/settleonce/settleonce/internal/lanes"
	"github.com/settleonce/settleonce/outbox"
	"github.com/settleonce/settleonce/outbox/event"
)

// Subject is a table under test, with the other ends of it. Every field is
// required.
type Subject struct {
	// Table has neither events nor members at first. It must bear eight calls
	// at once.
	Table lanes.Table

	// Begin puts events, in their order, in one transaction, up to where only
	// its commit is left. It waits for open transactions that share an
	// ordering key with it, and for no others. A transaction that is not
	// committed by the end of the case is for Cleanup to end.
	Begin func(ctx context.Context, events ...event.Event) (commit func(context.Context) error, err error)

	// Expire makes the time of a membership be up, as if its lease had passed.
	Expire func(ctx context.Context, id int64) error

	// DeadLetters is an operator's view of the table.
	DeadLetters outbox.DeadLetters
}

// TestTable checks that the tables which open returns keep the contract of
// [lanes.Table], as far as it can be seen from outside. It calls open once a
// case, each a subtest. What open needs to close it registers with Cleanup.
//
// No case depends on how fast the table is, except that a call which takes
// longer than half a minute fails.
func TestTable(t *testing.T, open func(testing.TB) Subject) {
	t.Helper()
	for _, d := range demands() {
		t.Run(d.name, func(t *testing.T) { d.test(t, open) })
	}
}

// demand is one case of the suite.
type demand struct {
	name string
	// sentence says what is demanded, and is printed where it is not met.
	sentence string
	check    func(*trial)
}

func (d *demand) test(tb testing.TB, open func(testing.TB) Subject) {
	tb.Helper()
	tb.Cleanup(func() {
		if tb.Failed() {
			tb.Logf("this case demands: %s", d.sentence)
		}
	})
	subject := open(tb)
	if subject.Table == nil || subject.Begin == nil || subject.Expire == nil || subject.DeadLetters == nil {
		tb.Fatalf("lanestest: Subject: every field must be set")
	}
	d.check(&trial{TB: tb, Subject: subject})
}

func demands() []demand {
	return slices.Concat(
		membershipDemands(),
		expiryDemands(),
		putDemands(),
		readDemands(),
		writeDemands(),
		fenceDemands(),
		deadLetterDemands(),
		callDemands(),
	)
}
