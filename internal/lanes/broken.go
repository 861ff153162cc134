package lanes

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/settleonce/settleonce/outbox"
)

// brokenRecord is what stands in the table and is no event.
type brokenRecord struct {
	record outbox.Record
	why    outbox.Refusal
}

// handOutBroken takes a row that is no event. What follows in its ordering key
// is held back at once, where the policy is to. The caller holds mu.
func (c *call) handOutBroken(row *Row) {
	if c.source.cfg.HoldBack {
		c.tenure.hold(row.Ordering, untilTold)
	}
	c.broken = append(c.broken, brokenRecord{
		outbox.Record{ID: strconv.FormatInt(row.Position, 10)},
		outbox.Refusal{Reason: "it can't be read: " + row.Broken.Error()},
	})
}

// setAsideBroken makes dead letters of what is no event, so that it blocks
// nothing else (I7). What can't be set aside now is pending as before.
func (c *call) setAsideBroken(ctx context.Context) error {
	var failures []error
	for _, b := range c.broken {
		err := c.source.SetAside(ctx, b.record, b.why)
		switch {
		case err == nil:
			c.source.cfg.Logger.Error("lanes: what is stored is no event and was set aside", "position", b.record.ID, "reason", b.why.Reason)
		case !errors.Is(err, outbox.ErrLeaseLost):
			failures = append(failures, fmt.Errorf("set aside what is no event: %w", err))
		}
		if err != nil {
			c.source.Release([]outbox.Record{b.record})
		}
	}
	return errors.Join(failures...)
}
