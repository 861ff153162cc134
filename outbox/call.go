package outbox

import (
	"slices"
	"time"
)

// fate is what became of one record of a call.
type fate int

const (
	// kept: it stays, and its ordering key rests.
	kept fate = iota
	// removed: it was delivered, and the source has let go of it.
	removed
	// aside: it was refused, and the source has set it aside.
	aside
	// unsettled: it was delivered or refused, and the source could not let go
	// of it.
	unsettled
	// lost: the source says that it is another relay's now, or that others of
	// the call are. It goes back to the source, for which the first changes
	// nothing.
	lost
	// forgotten: it was not leased, and nothing more is done about it.
	forgotten
	// returned: nothing is said of it, because one before it in its ordering
	// key did not make it.
	returned
)

// attempt is one record of a call.
type attempt struct {
	record *Record
	line   *line
	// number counts the attempts at the record, this one included, without
	// those at which one before it in its line failed.
	number int
	sent   bool

	fate fate
	// reason is why it is refused.
	reason string
	// err is why it is kept, and retryAfter what the destination asks for.
	err        error
	retryAfter time.Duration
	// blameless says that it is kept for no fault of the destination's.
	blameless bool
}

// call is one call to the sender: made by the schedule, carried out on a
// goroutine of its own, and given back to the schedule.
type call struct {
	// attempts of one line stand together.
	attempts []attempt
	// copied are their records, once all was asked for them, in memory of
	// memory.
	copied []Record
	memory *reuse[Record]
	// round is the pace's, and down the outage's, as it began.
	round int
	down  bool

	// leaseDone ends the lease, where there is one, when the source was told
	// what became of every record.
	leaseDone func()
	// answered says that the destination proved something of a record, and
	// works that it showed that it works: by that, or by a failure that is
	// about a record alone.
	answered bool
	works    bool
	// timedOut says that the destination did not answer in time.
	timedOut bool
	// leaseEnded says that it did not, or was not asked, before the lease
	// ended, which says nothing of it.
	leaseEnded bool
	// send and settle are the times in the sender and in the source.
	send   time.Duration
	settle time.Duration
	// settled is when the source had let go of what was delivered.
	settled time.Time
	// sourceErr is the source's last error about a record of the call.
	sourceErr error
}

// failed reports whether a destination that works would not have answered so,
// for any of the records.
func (c *call) failed() bool {
	if c.timedOut {
		return true
	}
	for i := range c.attempts {
		if a := &c.attempts[i]; a.fate == kept && !a.blameless {
			return true
		}
	}
	return false
}

// settledAny reports whether the source has let go of any of the records.
func (c *call) settledAny() bool {
	return slices.ContainsFunc(c.attempts, func(a attempt) bool { return a.fate == removed || a.fate == aside })
}

// all returns the records of all attempts. They are the caller's to read until
// the call is over: a record is large, so they are copied once a call.
func (c *call) all() []Record {
	if c.copied == nil {
		c.copied = c.memory.borrow(len(c.attempts))
		for i := range c.attempts {
			c.copied = append(c.copied, *c.attempts[i].record)
		}
	}
	return c.copied
}

// over lets go of what all returned.
func (c *call) over() {
	if c.copied != nil {
		c.memory.giveBack(c.copied)
		c.copied = nil
	}
}

// records returns the records of the attempts for which is says so, as all does.
func (c *call) records(is func(*attempt) bool) []Record {
	count := 0
	for i := range c.attempts {
		if is(&c.attempts[i]) {
			count++
		}
	}
	if count == len(c.attempts) {
		return c.all()
	}
	records := make([]Record, 0, count)
	for i := range c.attempts {
		if is(&c.attempts[i]) {
			records = append(records, *c.attempts[i].record)
		}
	}
	return records
}
