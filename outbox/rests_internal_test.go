package outbox

import (
	"testing"
	"time"
)

// TestRestsThatAreOverTakeNoMemory lets one ordering key fail again and again
// while the source always has more of others, so that nothing is ever swept.
func TestRestsThatAreOverTakeNoMemory(t *testing.T) {
	t.Parallel()
	r := newRests()
	now := time.Unix(1_000_000, 0)
	r.begin("y", history{failures: 1}, now)
	r.end(now)
	for failures := range 10_000 {
		r.forget("x")
		r.begin("x", history{failures: failures + 1}, now)
		if _, found := r.end(now); !found {
			t.Fatal("the rest does not end")
		}
	}
	if len(r.over) > 100 {
		t.Errorf("%d rests of two ordering keys are kept", len(r.over))
	}
	r.sweep(func(string) bool { return false })
	if len(r.all) != 0 {
		t.Errorf("%d rests are kept though the source has nothing of them", len(r.all))
	}
}

// TestASweepSparesWhoFailedAgain has an ordering key whose rest was over, and
// that rests once more.
func TestASweepSparesWhoFailedAgain(t *testing.T) {
	t.Parallel()
	r := newRests()
	now := time.Unix(1_000_000, 0)
	r.begin("x", history{failures: 1}, now)
	r.end(now)
	r.forget("x")
	r.begin("x", history{failures: 2}, now.Add(time.Second))
	r.sweep(func(string) bool { return false })
	if rest := r.of("x"); rest == nil || rest.failures != 2 {
		t.Errorf("known of x: %+v, want two failures", rest)
	}
}
