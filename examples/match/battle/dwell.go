package battle

import (
	"fmt"
	"io"
	"sync"
	"time"
)

const dwellBuckets = 5

// dwellBounds returns the upper bounds of the metric's buckets. Thirty seconds
// are as it should be; what lies above waited for its result to become durable.
func dwellBounds() [dwellBuckets]time.Duration {
	return [...]time.Duration{30 * time.Second, 31 * time.Second, 35 * time.Second, time.Minute, 5 * time.Minute}
}

// Dwell is the metric of how long rooms stay Finished. The zero Dwell is ready.
// Safe for concurrent use.
type Dwell struct {
	mu      sync.Mutex
	now     int // rooms that are Finished
	count   int
	sum     time.Duration
	buckets [dwellBuckets]int // cumulative
}

// Enter notes that a room has finished. A room that never closes shows here and
// nowhere else.
func (d *Dwell) Enter() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.now++
}

// Leave notes that a room has closed after it dwelt so long.
func (d *Dwell) Leave(dwelt time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.now--
	d.count++
	d.sum += dwelt
	for i, bound := range dwellBounds() {
		if dwelt <= bound {
			d.buckets[i]++
		}
	}
}

// Write writes the metric in the text format of Prometheus.
func (d *Dwell) Write(w io.Writer) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	const name = "arena_room_finished_seconds"
	text := fmt.Sprintf("# TYPE arena_rooms_finished gauge\narena_rooms_finished %d\n# TYPE %s histogram\n", d.now, name)
	for i, bound := range dwellBounds() {
		text += fmt.Sprintf("%s_bucket{le=\"%g\"} %d\n", name, bound.Seconds(), d.buckets[i])
	}
	text += fmt.Sprintf("%s_bucket{le=\"+Inf\"} %d\n%s_sum %g\n%s_count %d\n", name, d.count, name, d.sum.Seconds(), name, d.count)
	_, err := io.WriteString(w, text)
	return err
}
