package faults_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/examples/match/faults"
)

func TestEveryFaultSaysWhatItIs(t *testing.T) {
	t.Parallel()
	for _, known := range faults.Catalogue() {
		if known.Effect == "" {
			t.Errorf("%s says nothing", known.Name)
		}
	}
}

// deliver lets every room's result come by until nothing befalls it.
func deliver(plan *faults.Plan, rooms int) map[faults.Name]int {
	counts := make(map[faults.Name]int)
	for i := range rooms {
		room := string(rune('a'+i/26)) + string(rune('a'+i%26))
		for {
			fault := plan.Next(room)
			if fault == "" {
				break
			}
			counts[fault]++
		}
	}
	return counts
}

func TestPlan(t *testing.T) {
	t.Parallel()
	all := map[faults.Name]int{
		faults.Unavailable: 4, faults.BareOK: 4, faults.BareNotFound: 4,
		faults.LostAnswer: 4, faults.KillLobby: 2, faults.DuplicateStorm: 2,
	}
	if diff := cmp.Diff(all, deliver(faults.NewPlan(1, 100, faults.Catalogue().Names()), 100)); diff != "" {
		t.Errorf("a hundred matches (-want +got):\n%s", diff)
	}
	one := map[faults.Name]int{
		faults.Unavailable: 1, faults.BareOK: 1, faults.BareNotFound: 1,
		faults.LostAnswer: 1, faults.KillLobby: 1, faults.DuplicateStorm: 1,
	}
	if diff := cmp.Diff(one, deliver(faults.NewPlan(1, 1, faults.Catalogue().Names()), 1)); diff != "" {
		t.Errorf("one match (-want +got):\n%s", diff)
	}
	few := map[faults.Name]int{faults.BareOK: 2}
	if diff := cmp.Diff(few, deliver(faults.NewPlan(1, 50, []faults.Name{faults.BareOK, faults.PoisonFile}), 50)); diff != "" {
		t.Errorf("one kind (-want +got):\n%s", diff)
	}
}

func TestPlanDependsOnItsSeed(t *testing.T) {
	t.Parallel()
	draw := func(seed uint64) (drawn []faults.Name) {
		plan := faults.NewPlan(seed, 20, faults.Catalogue().Names())
		for i := range 20 {
			drawn = append(drawn, plan.Next(string(rune('a'+i))))
		}
		return drawn
	}
	if !slices.Equal(draw(5), draw(5)) {
		t.Error("one seed gives two plans")
	}
	if slices.Equal(draw(5), draw(6)) {
		t.Error("two seeds give one plan")
	}
}

func TestFaultThatCameToNothingComesAgain(t *testing.T) {
	t.Parallel()
	plan := faults.NewPlan(1, 1, []faults.Name{faults.LostAnswer})
	for range 9 {
		if got := plan.Next("a"); got != faults.LostAnswer {
			t.Fatalf("fault %q, want it again", got)
		}
		plan.PutBack(faults.LostAnswer)
	}
	if got := plan.Next("a"); got != "" {
		t.Errorf("fault %q, want it given up", got)
	}
}

// A fault that was put back may end in a receipt, after which the room's result
// does not come by again: the room's own fault must have happened before.
func TestFaultThatComesAgainDisplacesNoOther(t *testing.T) {
	t.Parallel()
	plan := faults.NewPlan(1, 1, []faults.Name{faults.BareOK})
	plan.PutBack(faults.DuplicateStorm)
	got := []faults.Name{plan.Next("a"), plan.Next("a"), plan.Next("a")}
	if diff := cmp.Diff([]faults.Name{faults.BareOK, faults.DuplicateStorm, ""}, got); diff != "" {
		t.Errorf("deliveries (-want +got):\n%s", diff)
	}
}

func TestSparedRoomMeetsNothing(t *testing.T) {
	t.Parallel()
	plan := faults.NewPlan(1, 1, []faults.Name{faults.LostAnswer})
	plan.Spare("a")
	if got := plan.Next("a"); got != "" {
		t.Errorf("fault %q on a room that is spared", got)
	}
	if got := plan.Next("b"); got != faults.LostAnswer {
		t.Errorf("fault %q, want the spared room's", got)
	}
}
