package pgstore

import (
	"context"
	"sync"
	"time"

	"github.com/settleonce/settleonce/outbox"
)

// MaxExactPending is how many pending events [Events.Lag] counts exactly.
const MaxExactPending = 100_000

const (
	// lagLookBack is how late an event may become visible below others and
	// still be in the next lag.
	lagLookBack = 5 * time.Second
	// lagRescan is the pause between two counts from the start, lagShare the
	// part of the time that these may take.
	lagRescan = time.Minute
	lagShare  = 20
)

// lagFloor is where the next count begins. Below it there may be millions of
// dead rows, which an old snapshot keeps, and nothing pending but what became
// visible very late. All its times are the server's.
//
// Safe for concurrent use.
type lagFloor struct {
	mu    sync.Mutex
	start lagStart
	// next is the start's position as soon as it is old enough. It was true at
	// nextAt.
	next   int64
	nextAt time.Time
}

// lagStart says where a count begins.
type lagStart struct {
	// position is below everything that was pending a while ago.
	position int64
	// fullAt is when to begin at the very start again. Zero: now.
	fullAt time.Time
	// requeues is how many there had been: one more, and the count begins at
	// the very start too.
	requeues int64
}

// lagScan is what a count found out about its own beginning.
type lagScan struct {
	began, ended time.Time
	full         bool
	requeues     int64
	// clear is the position up to which nothing was pending.
	clear int64
}

func (f *lagFloor) begin() lagStart {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.start
}

// note moves the floor.
func (f *lagFloor) note(scan lagScan) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if scan.full {
		f.start.requeues = scan.requeues
		f.start.fullAt = scan.ended.Add(max(lagRescan, lagShare*scan.ended.Sub(scan.began)))
	}
	switch {
	case scan.clear < f.start.position:
		f.start.position, f.next, f.nextAt = scan.clear, scan.clear, scan.began
	case scan.began.Sub(f.nextAt) >= lagLookBack:
		f.start.position, f.next, f.nextAt = f.next, scan.clear, scan.began
	}
}

func (t *table) lag(ctx context.Context) (outbox.Lag, error) {
	var lag outbox.Lag
	var scan lagScan
	var oldest *time.Time
	start := t.floor.begin()
	err := t.run(ctx, statement{
		doing: "measuring the lag", opening: fleeting, sql: t.sql.lag,
		arguments: []any{start.position, start.fullAt, start.requeues, MaxExactPending + 1},
	}, readOne(&scan.began, &scan.ended, &scan.full, &scan.requeues, &scan.clear,
		&oldest, &lag.Pending, &lag.DeadLetters, &lag.HeldBack))
	if err != nil {
		return outbox.Lag{}, err
	}
	t.floor.note(scan)
	lag.Exact = lag.Pending <= MaxExactPending
	if oldest != nil {
		lag.Oldest = *oldest
		lag.Age = max(scan.ended.Sub(lag.Oldest), 0)
	}
	return lag, nil
}
