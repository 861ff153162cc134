package main

import (
	"context"
	"fmt"

	"github.com/settleonce/settleonce/receipt"

	"github.com/settleonce/settleonce/examples/match/faults"
	"github.com/settleonce/settleonce/examples/match/result"
)

// mistakes has the battle node report what it should not.
func (d *drill) mistakes(ctx context.Context) error {
	if d.options.arms(faults.UnknownRoom) {
		if err := d.mistake(ctx, "unknown", receipt.NewID()); err != nil {
			return err
		}
	}
	if !d.options.arms(faults.LateAbort) {
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
	if _, err := post(ctx, d.client, d.battle.url()+"/mistakes/"+kind+"/"+room, nil, nil); err != nil {
		return fmt.Errorf("mistake %s: %w", kind, err)
	}
	return nil
}

// waitForDelivered waits for a match that is settled, and whose record has left
// the outbox. It returns "" where the run has no such match.
func (d *drill) waitForDelivered(ctx context.Context) (room string, err error) {
	err = d.until(ctx, func() (bool, error) {
		finished, err := d.directory.finished()
		if err != nil {
			return false, err
		}
		owed, err := d.directory.owed()
		if err != nil {
			return false, err
		}
		waiting := make(map[string]bool)
		for _, e := range owed {
			waiting[e.Key.ID] = true
		}
		for _, entry := range finished {
			if waiting[entry.RoomID] || entry.Event.Type != result.TypeFinished {
				continue
			}
			_, settled, err := d.books.receipt(ctx, entry.Event.Key)
			if err != nil {
				return false, err
			}
			if settled {
				room = entry.RoomID
				return true, nil
			}
		}
		return len(finished) == d.options.matches && len(owed) == 0, nil
	})
	return room, err
}

// settleDown waits until every match is finished, the outbox has judged every
// file, and every lobby is back.
func (d *drill) settleDown(ctx context.Context) error {
	return d.until(ctx, func() (bool, error) {
		finished, err := d.directory.finished()
		if err != nil {
			return false, err
		}
		left, err := d.directory.left()
		return len(finished) == d.options.matches && left == 0 && d.restarting.Load() == 0, err
	})
}
