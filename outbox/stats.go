package outbox

import (
	"context"
	"fmt"
	"time"
)

// Stats is a directory's state at one moment.
type Stats struct {
	// Records and Bytes count what is pending, including what is just being
	// written.
	Records int
	Bytes   int64
	// OldestAge is the age of the oldest pending record by the directory's
	// clock. Zero: none is pending, or the clock went back.
	OldestAge time.Duration
	// Waiting is how many Puts wait for the disk, of MaxWaiting at most.
	Waiting    int
	MaxWaiting int
	// Quarantined counts the files that were set aside.
	Quarantined int
	// FreeBytes and FreeInodes are what the file system has left for the
	// process. FreeInodes is zero where the file system has no such limit.
	FreeBytes  uint64
	FreeInodes uint64
	// Unhealthy is nil while the disk works. Else errors.Is(Unhealthy,
	// [ErrUnhealthy]) is true, it wraps the disk's last error, and Puts
	// block until the disk works again.
	Unhealthy error
}

// Stats returns the directory's state. errors.Is(err, [ErrClosed]) is true
// after Close; any other error is the file system's.
func (d *Dir) Stats(_ context.Context) (Stats, error) {
	leave, err := d.enter()
	if err != nil {
		return Stats{}, err
	}
	defer leave()
	space, err := d.fs.Space()
	if err != nil {
		return Stats{}, fmt.Errorf("outbox: %w", err)
	}
	now := d.now()
	d.mu.Lock()
	defer d.mu.Unlock()
	stats := Stats{
		Records:     d.pending.len(),
		Bytes:       d.pending.bytes,
		Waiting:     len(d.slots),
		MaxWaiting:  cap(d.slots),
		Quarantined: d.quarantined,
		FreeBytes:   space.Bytes,
		FreeInodes:  space.Inodes,
	}
	if oldest, found := d.pending.oldest(); found {
		stats.OldestAge = max(0, now.Sub(time.Unix(0, oldest)))
	}
	if d.failures >= unhealthyAfter {
		stats.Unhealthy = fmt.Errorf("%w: %d failures in a row: %w", ErrUnhealthy, d.failures, d.lastFailure)
	}
	return stats, nil
}
