package outbox

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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

// TestASweepSparesWhoIsInUse has the ordering key rest once more after it, as where
// the destination goes down.
func TestASweepSparesWhoIsInUse(t *testing.T) {
	t.Parallel()
	r := newRests()
	now := time.Unix(1_000_000, 0)
	for _, ordering := range []string{"x", "y"} {
		r.begin(ordering, history{failures: 1}, now)
		r.end(now)
	}
	r.sweep(func(ordering string) bool { return ordering == "x" })
	all := func(string) bool { return true }
	if diff := cmp.Diff([]string{"x"}, r.again(all)); diff != "" {
		t.Errorf("what rests again (-want +got):\n%s", diff)
	}
}

// TestWhatSucceededDoesNotRestAgain has an ordering key forgotten whose rest was
// over.
func TestWhatSucceededDoesNotRestAgain(t *testing.T) {
	t.Parallel()
	r := newRests()
	now := time.Unix(1_000_000, 0)
	r.begin("x", history{failures: 1}, now)
	r.end(now)
	r.forget("x")
	if again := r.again(func(string) bool { return true }); len(again) != 0 || r.alone.len() != 0 {
		t.Errorf("%q rest again, %d altogether; want none", again, r.alone.len())
	}
}
