package fault_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settleonce/settleonce/examples/drill/fault"
)

func catalogue() fault.Catalogue {
	return fault.Catalogue{
		{Name: "lost-answer", Effect: "the client came again"},
		{Name: "kill-server", Effect: "reaped with signal 9", NeedsDatabase: true},
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		text string
		want []fault.Name
		err  string
	}{
		{"all", catalogue().Names(), ""},
		{"none", nil, ""},
		{"kill-server, lost-answer", []fault.Name{"kill-server", "lost-answer"}, ""},
		{"kill-server,nonsense", nil, `"nonsense" is not a fault`},
		{"kill-server,kill-server", nil, "named twice"},
		{"", nil, `"" is not a fault`},
	} {
		got, err := catalogue().Parse(test.text)
		if test.err == "" && err != nil || test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) {
			t.Errorf("%q: error %v, want %q", test.text, err, test.err)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", test.text, diff)
		}
	}
}

func TestCatalogueTellsOfItsFaults(t *testing.T) {
	t.Parallel()
	if got := catalogue().Effect("kill-server"); got != "reaped with signal 9" {
		t.Errorf("effect %q", got)
	}
	if got := catalogue().Effect("nonsense"); got != "" {
		t.Errorf("effect %q of a fault that there is not", got)
	}
	if got := catalogue().NeedDatabase(); !slices.Equal(got, []fault.Name{"kill-server"}) {
		t.Errorf("%v need a database", got)
	}
}

func TestWhatIsDisarmedStaysRequested(t *testing.T) {
	t.Parallel()
	choice := fault.Choice{Requested: catalogue().Names(), Disarmed: []fault.Name{"lost-answer"}}
	if choice.Arms("lost-answer") || !choice.Arms("kill-server") {
		t.Errorf("armed are %v", choice.Armed())
	}
	counts, missing := choice.Tally([]fault.Observation{{Fault: "kill-server"}, {Fault: "kill-server"}})
	if diff := cmp.Diff(map[string]int{"kill-server": 2, "lost-answer": 0}, counts); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	if !slices.Equal(missing, []string{"lost-answer"}) {
		t.Errorf("missing %v", missing)
	}
}

func TestWhatWasAskedForByNameIsNotTakenOut(t *testing.T) {
	t.Parallel()
	choice := fault.Choice{Requested: catalogue().Names()}
	if err := choice.Without(catalogue(), []fault.Name{"kill-server"}, "PostgreSQL"); err != nil || choice.Arms("kill-server") || !choice.Arms("lost-answer") {
		t.Errorf("requested are %v, error %v", choice.Requested, err)
	}
	choice = fault.Choice{Requested: []fault.Name{"kill-server"}}
	if err := choice.Without(catalogue(), []fault.Name{"kill-server"}, "PostgreSQL"); err == nil || !strings.Contains(err.Error(), `"kill-server" needs PostgreSQL`) {
		t.Errorf("error %v", err)
	}
}

func TestLedgerOutlivesItsProcess(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger")
	ledger, err := fault.OpenLedger(path)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := ledger.Observe("kill-server", "signal %d", 9); err != nil {
			t.Fatal(err)
		}
	}
	if ledger.Kinds() != 1 {
		t.Errorf("%d kinds, want 1", ledger.Kinds())
	}
	if err := ledger.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := fault.ReadLedger(path)
	want := []fault.Observation{{"kill-server", "signal 9"}, {"kill-server", "signal 9"}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("error %v, observations (-want +got):\n%s", err, diff)
	}
	if _, err := fault.OpenLedger(path); err == nil {
		t.Error("another run adds to an old ledger")
	}
}
