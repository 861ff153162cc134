package outbox

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestHeapHandsOutInOrder(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for size := range 100 {
		backwards := false
		h := heap[int]{before: func(a, b int) bool { return (a < b) != backwards }}
		var want []int
		for range size {
			n := random.IntN(50)
			h.push(n)
			want = append(want, n)
		}
		slices.Sort(want)
		if size%2 == 1 { // It changes its mind.
			backwards = true
			slices.Reverse(want)
			h.order()
		}
		var got []int
		for h.len() > 0 {
			first := h.first()
			got = append(got, h.pop())
			if got[len(got)-1] != first {
				t.Errorf("pop took %d, first said %d", got[len(got)-1], first)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}
