package lanestest_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/settleonce/settleonce/internal/lanes"
	"github.com/settleonce/settleonce/internal/lanes/lanestest"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/outbox/outboxtest"
)

func TestMemory(t *testing.T) {
	t.Parallel()
	lanestest.TestTable(t, func(testing.TB) lanestest.Subject {
		return subjectOf(lanestest.NewMemory(lanestest.MemoryConfig{}))
	})
}

func subjectOf(memory *lanestest.Memory) lanestest.Subject {
	return lanestest.Subject{
		Table: memory,
		Begin: func(ctx context.Context, events ...event.Event) (func(context.Context) error, error) {
			tx, err := memory.Begin(ctx, events...)
			if err != nil {
				return nil, err
			}
			return func(context.Context) error {
				tx.Commit()
				return nil
			}, nil
		},
		Expire: func(_ context.Context, id int64) error {
			memory.Expire(id)
			return nil
		},
		DeadLetters: memory,
	}
}

// What was deleted since the last durable write comes back after a crash, and
// nothing else changes.
func TestCrash(t *testing.T) {
	t.Parallel()
	memory := lanestest.NewMemory(lanestest.MemoryConfig{})
	positions := put(t, memory, "a", "b", "c", "d")
	ticket := join(t, memory)
	remove(t, memory, ticket, positions[0])
	positions = append(positions, put(t, memory, "e")...) // durable, and so is what was before
	remove(t, memory, ticket, positions[1], positions[4])
	open, err := memory.Begin(t.Context(), outboxtest.NewEvent("f", "f"))
	if err != nil {
		t.Fatal(err)
	}

	if back := memory.Crash(); !slices.Equal(back, []int64{positions[1], positions[4]}) {
		t.Errorf("positions %d came back; want %d and %d", back, positions[1], positions[4])
	}
	if open.Commit() {
		t.Errorf("a transaction that was open at the crash committed")
	}
	var pending []int64
	for _, row := range memory.Pending() {
		pending = append(pending, row.Position)
	}
	if !slices.Equal(pending, positions[1:]) {
		t.Errorf("positions %d are pending; want %d", pending, positions[1:])
	}
	if back := memory.Crash(); len(back) > 0 {
		t.Errorf("at a second crash, positions %d came back", back)
	}
	if more := put(t, memory, "f"); more[0] <= open.Positions()[0] {
		t.Errorf("position %d was given after the crash, though %d was taken before", more[0], open.Positions()[0])
	}
}

// A transaction waits for those that share an ordering key with it, and takes
// its positions after that.
func TestBeginWaitsForOrderingKeys(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		memory := lanestest.NewMemory(lanestest.MemoryConfig{})
		first, err := memory.Begin(t.Context(), outboxtest.NewEvent("1", "a"))
		if err != nil {
			t.Fatal(err)
		}
		waited := make(chan []int64)
		go func() {
			positions, _ := memory.Put(context.Background(), outboxtest.NewEvent("2", "b"), outboxtest.NewEvent("3", "a"))
			waited <- positions
		}()
		synctest.Wait()
		other := put(t, memory, "c")
		first.Commit()
		if positions := <-waited; positions[0] <= other[0] {
			t.Errorf("position %d was taken before position %d of a transaction that waited for nothing", positions[0], other[0])
		}
	})
}

// Who gives up waiting for an ordering key leaves nothing.
func TestBeginHeedsItsContext(t *testing.T) {
	t.Parallel()
	memory := lanestest.NewMemory(lanestest.MemoryConfig{})
	first, err := memory.Begin(t.Context(), outboxtest.NewEvent("1", "b"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := memory.Begin(ctx, outboxtest.NewEvent("2", "a"), outboxtest.NewEvent("3", "b")); !errors.Is(err, context.Canceled) {
		t.Errorf("Begin that waits = %v; want context.Canceled", err)
	}
	first.Rollback()
	put(t, memory, "a", "b") // neither is locked any more
}

func TestNoOrderingLocks(t *testing.T) {
	t.Parallel()
	memory := lanestest.NewMemory(lanestest.MemoryConfig{NoOrderingLocks: true})
	first, err := memory.Begin(t.Context(), outboxtest.NewEvent("1", "a"))
	if err != nil {
		t.Fatal(err)
	}
	if second := put(t, memory, "a"); second[0] <= first.Positions()[0] {
		t.Errorf("position %d was given after %d", second[0], first.Positions()[0])
	}
	if !first.Commit() {
		t.Errorf("the transaction that was overtaken can't commit")
	}
}

func put(t *testing.T, memory *lanestest.Memory, orderings ...string) []int64 {
	t.Helper()
	var positions []int64
	for _, ordering := range orderings {
		taken, err := memory.Put(t.Context(), outboxtest.NewEvent(ordering, ordering))
		if err != nil {
			t.Fatal(err)
		}
		positions = append(positions, taken...)
	}
	return positions
}

func join(t *testing.T, table lanes.Table) lanes.Ticket {
	t.Helper()
	ticket, err := table.Join(t.Context(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return ticket
}

func remove(t *testing.T, table lanes.Table, ticket lanes.Ticket, positions ...int64) {
	t.Helper()
	if err := table.Delete(t.Context(), ticket, positions); err != nil {
		t.Fatal(err)
	}
}
