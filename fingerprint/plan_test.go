package fingerprint_test

import (
	"sync"
	"testing"

	"github.com/settleonce/settleonce/fingerprint"
)

// Types that lead to one another, none of which any other test uses first.
type (
	tree struct {
		Name   string
		Leaves []*tree
		Other  map[string]forest
	}
	forest struct {
		Trees []tree
		Kind  any
		Next  *forest
	}
)

// Many goroutines meet types that have no plan yet, in different orders.
func TestPlansAreMadeConcurrently(t *testing.T) {
	t.Parallel()
	oak := tree{Name: "oak", Leaves: []*tree{{Name: "leaf"}}, Other: map[string]forest{"x": {}}}
	wood := forest{Trees: []tree{oak}, Kind: oak, Next: &forest{}}
	values := []any{oak, &oak, wood, []forest{wood}, map[string]tree{"a": oak}}
	const rounds = 8
	digests := make([][rounds]fingerprint.Digest, len(values))
	var group sync.WaitGroup
	for round := range rounds {
		for i := range values {
			i := (i + round) % len(values)
			group.Go(func() {
				digest, err := fingerprint.Of(sampleSchema, values[i])
				if err != nil {
					t.Error(err)
				}
				digests[i][round] = digest
			})
		}
	}
	group.Wait()
	for i := range digests {
		for _, digest := range digests[i] {
			if digest.IsZero() || digest != digests[i][0] {
				t.Fatalf("value %d has digests %v", i, digests[i])
			}
		}
	}
}

// What a type looks like is worked out once, for the types within it too.
func TestPlansAreKept(t *testing.T) {
	t.Parallel()
	type leaf struct{ Name string }
	type branch struct{ Leaves []*leaf }
	for _, value := range []any{branch{}, &branch{}, []*leaf{}, leaf{}, map[string]branch{}} {
		if !fingerprint.SamePlan(value) {
			t.Errorf("the plan of %T is made anew", value)
		}
	}
}

// reentrant fingerprints something else while it is being fingerprinted.
type reentrant struct{ inner any }

func (r reentrant) MarshalText() ([]byte, error) {
	digest, err := fingerprint.Of(sampleSchema, r.inner)
	return []byte(digest.String()), err
}

func TestMethodMayUseThePackage(t *testing.T) {
	t.Parallel()
	inner := map[string]any{"b": 1, "a": []int{2}}
	value := map[string]any{"x": 1, "r": reentrant{inner}, "a": 0}
	want := map[string]any{"x": 1, "r": mustOf(t, sampleSchema, inner).String(), "a": 0}
	if got := mustOf(t, sampleSchema, value); got != mustOf(t, sampleSchema, want) {
		t.Error("a method that uses the package disturbs the value around it")
	}
}

// panicking leaves in the middle.
type panicking struct{}

func (panicking) MarshalText() ([]byte, error) { panic("own panic") }

func TestPanicOfAMethodIsTheCallers(t *testing.T) {
	t.Parallel()
	want := mustOf(t, sampleSchema, sampleMatch())
	for range 3 {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the panic was swallowed")
				}
			}()
			_, _ = fingerprint.Of(sampleSchema, map[string]any{"a": []any{sampleMatch(), panicking{}}})
		}()
		if got := mustOf(t, sampleSchema, sampleMatch()); got != want {
			t.Error("a panic disturbed a later call")
		}
	}
}
