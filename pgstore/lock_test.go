package pgstore_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/pgstore"
	"github.com/settleonce/settleonce/receipt"
)

// Processes of different releases must take the same locks and fill the same
// lanes: these figures never change.
func TestLocksAndLanesAreFixed(t *testing.T) {
	t.Parallel()
	key := receipt.Key{Tenant: "t", Scope: "s", Operation: "o", ID: "i"}
	got := map[string]int64{
		"key":               pgstore.KeyLock("settleonce", key),
		"key, other schema": pgstore.KeyLock("other", key),
		"ordering":          pgstore.OrderingLocks("settleonce", []event.Event{{Key: key, OrderingKey: "line"}})[0],
		"lane":              int64(pgstore.Lane("line")),
	}
	want := map[string]int64{
		"key":               4204302606921577049,
		"key, other schema": -1258547560799896475,
		"ordering":          -6783845680680019605,
		"lane":              56,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLocksAreFramed(t *testing.T) {
	t.Parallel()
	seen := map[int64]string{}
	record := func(name string, lock int64) {
		if other, ok := seen[lock]; ok {
			t.Errorf("%s and %s share a lock", name, other)
		}
		seen[lock] = name
	}
	record("ab|c", pgstore.KeyLock("s", receipt.Key{Tenant: "ab", Scope: "c", Operation: "o", ID: "i"}))
	record("a|bc", pgstore.KeyLock("s", receipt.Key{Tenant: "a", Scope: "bc", Operation: "o", ID: "i"}))
	record("schema", pgstore.KeyLock("sa", receipt.Key{Tenant: "b", Scope: "c", Operation: "o", ID: "i"}))
	record("shifted schema", pgstore.KeyLock("s", receipt.Key{Tenant: "ab", Scope: "c", Operation: "o", ID: "j"}))
	key := receipt.Key{Tenant: "t", Scope: "s", Operation: "o", ID: "i"}
	record("key", pgstore.KeyLock("s", key))
	record("d|sa|b", pgstore.AdvisoryKey("d", "sa", []byte("b")))
	record("d|s|ab", pgstore.AdvisoryKey("d", "s", []byte("ab")))
	record("ds|a|b", pgstore.AdvisoryKey("ds", "a", []byte("b")))
	encoded, err := key.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	record("ordering key of the same bytes", pgstore.AdvisoryKey(pgstore.OrderingDomain, "s", encoded))
}

func TestOrderingLocksAreDistinctAndSorted(t *testing.T) {
	t.Parallel()
	named := func(names ...string) []event.Event {
		events := make([]event.Event, len(names))
		for i, name := range names {
			events[i].OrderingKey = name
		}
		return events
	}
	forth := pgstore.OrderingLocks("s", named("a", "b", "c", "a"))
	back := pgstore.OrderingLocks("s", named("c", "c", "b", "a"))
	if diff := cmp.Diff(forth, back); diff != "" || len(forth) != 3 {
		t.Errorf("locks of the same lines = %v and %v", forth, back)
	}
}
