package outbox_test

import (
	"cmp"
	"slices"
	"testing"

	"github.com/settleonce/settleonce/outbox"
)

// FuzzIndex compares the index with a plain list under any series of inserts
// and removals.
func FuzzIndex(f *testing.F) {
	f.Add([]byte{1, 2, 3, 129, 130, 131})
	f.Add([]byte{1, 2, 3, 4, 132, 131, 130}) // more than half removed, from the end
	f.Add([]byte{1, 9, 17, 137, 129, 145})   // of one key
	f.Add([]byte{9, 8, 7, 6, 5, 4, 3, 2, 1, 137, 5, 133, 9})
	f.Fuzz(func(t *testing.T, steps []byte) {
		index := outbox.NewIndex()
		var model []int64
		for _, step := range steps {
			at := int64(step & 127)
			i, found := slices.BinarySearch(model, at)
			switch remove := step >= 128; {
			case remove:
				index.Remove(at)
				if found {
					model = slices.Delete(model, i, i+1)
				}
			default:
				if index.Insert(at) == found {
					t.Fatalf("inserting %d: taken is %v", at, found)
				}
				if !found {
					model = slices.Insert(model, i, at)
				}
			}
			if got := index.Times(); slices.CompareFunc(got, model, cmp.Compare[int64]) != 0 {
				t.Fatalf("after %v the index has %v, want %v", steps, got, model)
			}
			if records, bytes := index.Size(); records != len(model) || bytes != int64(len(model)) {
				t.Fatalf("after %v the index has %d records and %d bytes, want %d", steps, records, bytes, len(model))
			}
			if oldest, found := index.Oldest(); found != (len(model) > 0) || found && oldest != model[0] {
				t.Fatalf("after %v the oldest is %d, %v; want of %v", steps, oldest, found, model)
			}
		}
	})
}
