package pgstore_test

import (
	"testing"
)

// firstsOf divides what came, in its order, into the first delivery of each
// event and the repeats.
func firstsOf(all []delivery) (firsts, repeats []delivery) {
	came := map[string]bool{}
	for _, d := range all {
		if came[d.ID] {
			repeats = append(repeats, d)
			continue
		}
		came[d.ID] = true
		firsts = append(firsts, d)
	}
	return firsts, repeats
}

// expectEachInOrder checks that every wanted event came and no other, and that
// the first deliveries of each ordering key were in the order of the commits
// (I8): positions rise, and where the writers counted no number is left out.
func expectEachInOrder(t *testing.T, firsts []delivery, want map[string]bool) {
	t.Helper()
	came := map[string]bool{}
	last := map[string]delivery{}
	for _, d := range firsts {
		came[d.ID] = true
		if !want[d.ID] {
			t.Errorf("event %q came, and nobody committed it", d.ID)
		}
		before := last[d.Ordering]
		if d.Position <= before.Position {
			t.Errorf("ordering key %q: event %q at %d came after event %q at %d",
				d.Ordering, d.ID, d.Position, before.ID, before.Position)
		}
		if d.Number != 0 && d.Number != before.Number+1 {
			t.Errorf("ordering key %q: event number %d came after number %d", d.Ordering, d.Number, before.Number)
		}
		last[d.Ordering] = d
	}
	for id := range want {
		if !came[id] {
			t.Errorf("event %q was committed and never came", id)
		}
	}
}

// idsOf returns the events' ids as a set.
func idsOf(deliveries []delivery) map[string]bool {
	ids := map[string]bool{}
	for _, d := range deliveries {
		ids[d.ID] = true
	}
	return ids
}
