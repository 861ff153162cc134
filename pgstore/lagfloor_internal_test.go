package pgstore

import (
	"testing"
	"time"
)

// TestLagFloor moves the floor by a script. What a scan found is as of its
// beginning.
func TestLagFloor(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var floor lagFloor
	steps := []struct {
		name     string
		at       time.Duration
		took     time.Duration
		full     bool
		clear    int64
		want     int64
		wantFull time.Duration
	}{
		{"the first counts from the start", 0, time.Second, true, 100, 0, time.Second + time.Minute},
		{"soon after it nothing is old enough", 4 * time.Second, 0, false, 200, 0, 61 * time.Second},
		{"what was true five seconds ago is", 5 * time.Second, 0, false, 300, 100, 61 * time.Second},
		{"and not what has been since", 9 * time.Second, 0, false, 400, 100, 61 * time.Second},
		{"each in its turn", 10 * time.Second, 0, false, 500, 300, 61 * time.Second},
		{"a long count is rare", 70 * time.Second, 10 * time.Second, true, 600, 500, 280 * time.Second},
		{"what was found below moves it back at once", 71 * time.Second, 0, true, 50, 50, 131 * time.Second},
	}
	for _, step := range steps {
		began := start.Add(step.at)
		floor.note(lagScan{began: began, ended: began.Add(step.took), full: step.full, clear: step.clear, requeues: 7})
		got := floor.begin()
		if got.position != step.want || got.fullAt.Sub(start) != step.wantFull || got.requeues != 7 {
			t.Errorf("%s: position %d, full in %v, %d requeues; want %d, %v, 7", step.name,
				got.position, got.fullAt.Sub(start), got.requeues, step.want, step.wantFull)
		}
	}
}
