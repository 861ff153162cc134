package faults_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/examples/match/faults"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		text string
		want []faults.Name
		err  string
	}{
		{"all", faults.Names(), ""},
		{"none", nil, ""},
		{"kill-lobby, bare-200", []faults.Name{faults.KillLobby, faults.BareOK}, ""},
		{"kill-lobby,nonsense", nil, `"nonsense" is not a fault`},
		{"kill-lobby,kill-lobby", nil, "named twice"},
		{"", nil, `"" is not a fault`},
	} {
		got, err := faults.Parse(test.text)
		if test.err == "" && err != nil || test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) {
			t.Errorf("%q: error %v, want %q", test.text, err, test.err)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", test.text, diff)
		}
	}
}

func TestEveryFaultSaysWhatItIs(t *testing.T) {
	t.Parallel()
	for _, name := range faults.Names() {
		if name.Effect() == "" {
			t.Errorf("%s says nothing", name)
		}
	}
}

func TestLedgerOutlivesItsProcess(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger")
	ledger, err := faults.OpenLedger(path)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := ledger.Observe(faults.KillLobby, "signal %d", 9); err != nil {
			t.Fatal(err)
		}
	}
	if ledger.Kinds() != 1 {
		t.Errorf("%d kinds, want 1", ledger.Kinds())
	}
	if err := ledger.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := faults.ReadLedger(path)
	want := []faults.Observation{{faults.KillLobby, "signal 9"}, {faults.KillLobby, "signal 9"}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("error %v, observations (-want +got):\n%s", err, diff)
	}
	if _, err := faults.OpenLedger(path); err == nil {
		t.Error("another run adds to an old ledger")
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
	if diff := cmp.Diff(all, deliver(faults.NewPlan(1, 100, faults.Names()), 100)); diff != "" {
		t.Errorf("a hundred matches (-want +got):\n%s", diff)
	}
	one := map[faults.Name]int{
		faults.Unavailable: 1, faults.BareOK: 1, faults.BareNotFound: 1,
		faults.LostAnswer: 1, faults.KillLobby: 1, faults.DuplicateStorm: 1,
	}
	if diff := cmp.Diff(one, deliver(faults.NewPlan(1, 1, faults.Names()), 1)); diff != "" {
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
		plan := faults.NewPlan(seed, 20, faults.Names())
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
