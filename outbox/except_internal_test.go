package outbox

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestWhatIsLentStaysAsItIs changes the set while a Next has it, and twice for one
// ordering key.
func TestWhatIsLentStaysAsItIs(t *testing.T) {
	t.Parallel()
	e := newExcept()
	want := func(when string, orderings ...string) {
		t.Helper()
		if diff := cmp.Diff(orderings, slices.Sorted(maps.Keys(e.keys))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
	}
	e.set("a", true)
	e.set("b", true)
	lent := e.lend()
	e.set("a", false)
	e.set("b", false)
	e.set("b", true)
	e.set("c", true)
	if len(lent) != 2 {
		t.Errorf("what was lent has %d members after a change, want 2", len(lent))
	}
	want("while lent", "a", "b")
	e.takeBack()
	want("back again", "b", "c")
	e.set("b", false)
	e.lend()
	e.takeBack()
	want("after a call without a change", "c")
}
