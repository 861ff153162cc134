package main

import (
	"context"
	"fmt"

	"github.com/settleonce/settleonce/receipt"
	"github.com/settleonce/settleonce/settle"

	"github.com/settleonce/settleonce/examples/drill/wait"
	"github.com/settleonce/settleonce/examples/match/battle"
	"github.com/settleonce/settleonce/examples/match/faults"
	"github.com/settleonce/settleonce/examples/match/result"
)

// mistakes has the battle node report what it should not.
func (d *drill) mistakes(ctx context.Context) error {
	if d.options.Arms(faults.UnknownRoom) {
		if err := d.mistake(ctx, "unknown", receipt.NewID()); err != nil {
			return err
		}
	}
	if !d.options.Arms(faults.LateAbort) {
		return nil
	}
	room, err := d.waitForDelivered(ctx)
	if err != nil || room == "" {
		return err
	}
	return d.mistake(ctx, "abort", room)
}

func (d *drill) mistake(ctx context.Context, kind, room string) error {
	d.plan.Spare(room)
	if _, err := post(ctx, d.client, d.battle.URL()+"/mistakes/"+kind+"/"+room, nil, nil); err != nil {
		return fmt.Errorf("mistake %s: %w", kind, err)
	}
	return nil
}

// waitForDelivered waits for a match that is settled, and whose record has left
// the outbox and will not come back. It returns "" where the run has no such
// match.
func (d *drill) waitForDelivered(ctx context.Context) (room string, err error) {
	err = wait.Until(ctx, func() (bool, error) {
		delivered, left, err := d.delivered()
		if err != nil {
			return false, err
		}
		for _, entry := range delivered {
			stored, found, err := d.books.Receipt(ctx, result.Key(entry.RoomID))
			if err != nil {
				return false, err
			}
			if found && stored.Requested == settle.Settled {
				room = entry.RoomID
				return true, nil
			}
		}
		return len(delivered) == d.options.matches && left == 0, nil
	})
	return room, err
}

// delivered returns the matches that the battle node has put into its outbox
// and that are not there any more, and how many are.
func (d *drill) delivered() (delivered []battle.Entry, left int, err error) {
	handedOver, err := d.directory.handedOver()
	if err != nil {
		return nil, 0, err
	}
	owed, err := d.directory.owed() // read after the journal, so nothing is missed
	if err != nil {
		return nil, 0, err
	}
	waiting := make(map[string]bool)
	for _, e := range owed {
		waiting[e.Key.ID] = true
	}
	for _, entry := range handedOver {
		if !waiting[entry.RoomID] {
			delivered = append(delivered, entry)
		}
	}
	return delivered, len(owed), nil
}

// settleDown waits until every result has been in the outbox, nothing is in it
// any more, and every lobby is back.
func (d *drill) settleDown(ctx context.Context) error {
	return wait.Until(ctx, func() (bool, error) {
		handedOver, err := d.directory.handedOver()
		if err != nil {
			return false, err
		}
		left, err := d.directory.left()
		return len(handedOver) == d.options.matches && left == 0 && d.restarts.Pending() == 0, err
	})
}
