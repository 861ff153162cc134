package lanes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/settleonce/settleonce/outbox"
)

// brokenRecord is what stands in the table and is no event.
type brokenRecord struct {
	record   outbox.Record
	position int64
	ordering string
	why      outbox.Refusal
}

// waits reports whether the row is no event, and another of its ordering key is
// handed out: one before it, if it were released, would be held back, too, by what
// is now made a dead letter. It is owed then. The caller holds mu.
func (c *call) waits(l *line, row *Row) bool {
	if row.Broken == nil || !c.source.cfg.HoldBack || len(l.out) == 0 {
		return false
	}
	c.tenure.owe(l, row.Position)
	l.broken = row.Position
	return true
}

// handOutBroken takes a row that is no event. What follows in its ordering key
// is held back at once, where the policy is to. The caller holds mu.
func (c *call) handOutBroken(row *Row) {
	if c.source.cfg.HoldBack {
		c.tenure.hold(row.Ordering, untilTold)
	}
	c.broken = append(c.broken, brokenRecord{
		record:   outbox.Record{ID: strconv.FormatInt(row.Position, 10)},
		position: row.Position,
		ordering: row.Ordering,
		why:      outbox.Refusal{Reason: reasonOf(row.Broken)},
	})
}

// maxReason is the greatest length in bytes of what is said of a row that is no
// event, which may cite what stands in it.
const maxReason = 1024

func reasonOf(broken error) string {
	reason := "it can't be read: " + broken.Error()
	if len(reason) > maxReason {
		reason = strings.ToValidUTF8(reason[:maxReason], "") + "…"
	}
	return reason
}

// setAsideBroken makes dead letters of what is no event, so that it blocks
// nothing else (I7). What can't be set aside now is pending as before. A call
// that fails is the last, since each may take as long as the table lets it, and
// what else was handed out waits.
func (c *call) setAsideBroken(ctx context.Context) error {
	defer c.endHolds()
	for i, b := range c.broken {
		err := c.source.SetAside(ctx, b.record, b.why)
		switch {
		case err == nil:
			c.source.cfg.Logger.Error("lanes: what is stored is no event and was set aside", "position", b.record.ID, "reason", b.why.Reason)
		case errors.Is(err, outbox.ErrLeaseLost):
			// Nothing of it is out any more, nor of what follows it.
		default:
			c.release(c.broken[i:]...)
			return fmt.Errorf("set aside what is no event: %w", err)
		}
	}
	return nil
}

// release takes back what is no event and was not set aside, and what this call
// hands out after it in its ordering key: another relay, of another release, may
// be able to read it, and would deliver it after that (I8).
func (c *call) release(broken ...brokenRecord) {
	first := make(map[string]int64, len(broken))
	records := make([]outbox.Record, 0, len(broken))
	for _, b := range broken {
		records = append(records, b.record)
		if before, again := first[b.ordering]; !again || b.position < before {
			first[b.ordering] = b.position
		}
	}
	c.records = slices.DeleteFunc(c.records, func(record outbox.Record) bool {
		after, found := first[record.Event.Ordering()]
		if follows := found && record.Event.Position > after; !follows {
			return false
		}
		records = append(records, record)
		return true
	})
	c.source.Release(records)
}

// endHolds lets a list of the held keys end what handOutBroken holds back, where
// SetAside did not: it was not called, since another failed, or the row was not
// this relay's any more. Both have the list asked for.
func (c *call) endHolds() {
	s, t := c.source, c.tenure
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range c.broken {
		if t.held[b.ordering] == untilTold {
			t.hold(b.ordering, t.nextHold())
		}
	}
}
