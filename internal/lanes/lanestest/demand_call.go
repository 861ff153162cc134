package lanestest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/settleonce/settleonce/internal/lanes"
	"github.com/settleonce/settleonce/outbox/outboxtest"
)

func callDemands() []demand {
	return []demand{
		{"cancelled", "a call whose context has ended is an error that says so, is not ErrFenced, and changes nothing", checkCancelled},
		{"concurrent", "a table is safe for concurrent use: relays that put, read, delete and share out lanes at once lose nothing", checkConcurrent},
	}
}

func checkCancelled(t *trial) {
	ticket := t.holder()
	rows := t.put("a")
	ctx := t.cancelled()
	for name, call := range map[string]func() error{
		"Join":     func() error { _, err := t.Table.Join(ctx, longLease); return err },
		"Renew":    func() error { _, err := t.Table.Renew(ctx, ticket, longLease); return err },
		"Take":     func() error { _, err := t.Table.Take(ctx, ticket, 1); return err },
		"Give":     func() error { _, err := t.Table.Give(ctx, ticket, allLanes()); return err },
		"Leave":    func() error { return t.Table.Leave(ctx, ticket) },
		"Read":     func() error { _, _, err := t.Table.Read(ctx, allLanes(), 0, 1, nil); return err },
		"ReadOf":   func() error { _, err := t.Table.ReadOf(ctx, []string{rows[0].Ordering}, 0, 9, 1); return err },
		"ReadAt":   func() error { _, err := t.Table.ReadAt(ctx, positionsOf(rows)); return err },
		"Heads":    func() error { _, err := t.Table.Heads(ctx, allLanes(), 0, math.MaxInt64, 1); return err },
		"HeldBack": func() error { _, err := t.Table.HeldBack(ctx, allLanes()); return err },
		"Delete":   func() error { return t.Table.Delete(ctx, ticket, positionsOf(rows)) },
		"Bury":     func() error { return t.Table.Bury(ctx, ticket, rows[0].Position, refusal("no"), true) },
	} {
		if err := call(); !errors.Is(err, context.Canceled) || errors.Is(err, lanes.ErrFenced) {
			t.Errorf("%s with a context that has ended = %v; want context.Canceled", name, err)
		}
	}
	t.wantRoster(ticket, 1, 0)
	t.wantPending(rows...)
	t.wantHeldBack(allLanes())
}

// checkConcurrent lets four relays, each of which starts with some lanes and
// gives half of them away, drain what is put meanwhile.
func checkConcurrent(t *trial) {
	const relays, events = 4, 80
	ctx := t.patient()
	var wait sync.WaitGroup
	wait.Go(func() {
		for i := range events {
			commit, err := t.Begin(ctx, outboxtest.NewEvent(fmt.Sprint(i), fmt.Sprintf("ordering-%d", i%7)))
			if err == nil {
				err = commit(ctx)
			}
			if err != nil {
				t.Errorf("a put beside relays = %v; want nil", err)
				return
			}
		}
	})
	var mu sync.Mutex
	seen := make(map[int64]int)
	count := func(rows []lanes.Row) int {
		mu.Lock()
		defer mu.Unlock()
		for i := range rows {
			seen[rows[i].Position]++
		}
		return len(seen)
	}
	for range relays {
		wait.Go(func() {
			if err := drain(ctx, t.Table, func(rows []lanes.Row) bool { return count(rows) == events }); err != nil {
				t.Errorf("a relay beside others: %v", err)
			}
		})
	}
	wait.Wait()
	t.wantPending()
	for position, times := range seen {
		if times > 1 {
			t.Errorf("the row at position %d was drained %d times", position, times)
		}
	}
}

// drain is a relay that deletes what it reads of its lanes, and that gives half
// of them up each time it has done so, until it is told that all is done.
func drain(ctx context.Context, table lanes.Table, done func([]lanes.Row) bool) error {
	ticket, err := table.Join(ctx, longLease)
	if err != nil {
		return err
	}
	for !done(nil) {
		held, err := table.Take(ctx, ticket, lanes.Count)
		if err != nil {
			return err
		}
		rows, _, err := table.Read(ctx, held, 0, plenty, nil)
		if err != nil {
			return err
		}
		if err := table.Delete(ctx, ticket, positionsOf(rows)); err != nil {
			return err
		}
		done(rows)
		if _, err := table.Renew(ctx, ticket, longLease); err != nil {
			return err
		}
		if ticket, err = table.Give(ctx, ticket, held); err != nil {
			return err
		}
	}
	return table.Leave(ctx, ticket)
}
