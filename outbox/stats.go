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
	// DeadLetters counts the files that were set aside, and HeldBack the
	// ordering keys that wait for one.
	DeadLetters int
	HeldBack    int
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
		DeadLetters: d.deadLetters,
		HeldBack:    d.held.lines(),
		FreeBytes:   space.Bytes,
		FreeInodes:  space.Inodes,
	}
	if oldest, found := d.pending.oldest(); found {
		stats.OldestAge = age(oldest, now)
	}
	if d.failures >= unhealthyAfter {
		stats.Unhealthy = fmt.Errorf("%w: %d failures in a row: %w", ErrUnhealthy, d.failures, d.lastFailure)
	}
	return stats, nil
}

// age is zero where the clock went back.
func age(recordTime int64, now time.Time) time.Duration {
	return max(0, now.Sub(time.Unix(0, recordTime)))
}

// Lag returns the directory's lag, as [LagSource] says. It is exact, asks
// nothing of the disk, and counts what is just being written. errors.Is(err,
// [ErrClosed]) is true after Close.
func (d *Dir) Lag(_ context.Context) (Lag, error) {
	leave, err := d.enter()
	if err != nil {
		return Lag{}, err
	}
	defer leave()
	now := d.now()
	d.mu.Lock()
	defer d.mu.Unlock()
	lag := Lag{
		Pending:     int64(d.pending.len()),
		Exact:       true,
		DeadLetters: int64(d.deadLetters),
		HeldBack:    int64(d.held.lines()),
	}
	if oldest, found := d.pending.oldest(); found {
		lag.Oldest = time.Unix(0, oldest).UTC()
		lag.Age = age(oldest, now)
	}
	return lag, nil
}
