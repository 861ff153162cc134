package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/settleonce/settleonce/pgstore/pgtemp"

	"github.com/settleonce/settleonce/examples/drill/database"
	"github.com/settleonce/settleonce/examples/drill/drilltest"
	"github.com/settleonce/settleonce/examples/drill/fault"
	"github.com/settleonce/settleonce/examples/drill/program"
	"github.com/settleonce/settleonce/examples/drill/sabotage"
	"github.com/settleonce/settleonce/examples/match/audit"
	"github.com/settleonce/settleonce/examples/match/faults"
)

// testProgram is this test binary as the program.
var testProgram = drilltest.Program[audit.Figures]{Variable: "ARENA_TEST_PROGRAM"}

// matches is how many matches a run of these tests has: enough for every fault
// to find a result.
const matches = 16

func TestMain(m *testing.M) {
	os.Exit(testProgram.RunTests(m.Run, main))
}

// outcome is how a run of the program ended.
type outcome = drilltest.Outcome[audit.Figures]

// run runs the program with as many matches as these tests have.
func run(t *testing.T, args ...string) outcome {
	t.Helper()
	return testProgram.RunForFigures(t, append([]string{"-matches", fmt.Sprint(matches)}, args...)...)
}

// wantInOrder checks what must hold of every run whose books are in order.
func wantInOrder(t *testing.T, o outcome) {
	t.Helper()
	f := o.Figures
	if o.Code != 0 || f.Lost != 0 || f.Doubled != 0 || f.OutboxLeft != 0 {
		t.Errorf("exit code %d, figures %+v\n%s", o.Code, f, o.Stderr)
	}
	if f.Matches != matches || f.Settled+f.Aborted != matches {
		t.Errorf("%d matches, %d settled and %d aborted; want all of %d", f.Matches, f.Settled, f.Aborted, matches)
	}
}

func TestAllFaults(t *testing.T) {
	t.Parallel()
	ran := run(t)
	wantInOrder(t, ran)
	f := ran.Figures
	for name, figure := range map[string]int{
		"matches": f.Matches, "deliveries": f.Deliveries, "replays": f.Replays, "settled": f.Settled, "aborted": f.Aborted,
		"suspect": f.Suspect, "draws": f.Draws, "replay_missing": f.ReplayMissing, "released_early": f.ReleasedEarly,
		"conflicts": f.Conflicts, "quarantined": f.Quarantined, "seconds": int(1000 * f.Seconds),
	} {
		if figure <= 0 {
			t.Errorf("%s is %d", name, figure)
		}
	}
	for _, name := range faults.Catalogue().Names() {
		if f.Faults[string(name)] == 0 {
			t.Errorf("%s was not observed", name)
		}
	}
	if f.Store != "postgresql" || !strings.Contains(ran.First(), "at -dsn or DATABASE_URL") {
		t.Errorf("store %q, first line %q", f.Store, ran.First())
	}
}

func TestNoFaults(t *testing.T) {
	t.Parallel()
	ran := run(t, "-faults", "none")
	wantInOrder(t, ran)
	f := ran.Figures
	if f.Deliveries != matches || f.Replays+f.ReplayMissing+f.ReleasedEarly+f.Conflicts+f.Quarantined+len(f.Faults) != 0 {
		t.Errorf("a clean run has figures %+v", f)
	}
}

func TestFaultThatDoesNotHappenIsMissing(t *testing.T) {
	t.Parallel()
	for _, name := range faults.Catalogue().Names() {
		t.Run(string(name), func(t *testing.T) {
			t.Parallel()
			ran := run(t, "-disarm", string(name))
			if ran.Code != program.ExitBooks || !strings.Contains(ran.Stderr, "requested and not observed: "+string(name)+"\n") {
				t.Errorf("exit code %d, standard error %q", ran.Code, ran.Stderr)
			}
			if count, requested := ran.Figures.Faults[string(name)]; count != 0 || !requested {
				t.Errorf("observed %d times, requested: %v", count, requested)
			}
			if f := ran.Figures; f.Lost+f.Doubled+f.OutboxLeft != 0 {
				t.Errorf("figures %+v", f)
			}
		})
	}
}

func TestSabotage(t *testing.T) {
	t.Parallel()
	figure := map[string]func(audit.Figures) int{
		"lost":           func(f audit.Figures) int { return f.Lost },
		"released_early": func(f audit.Figures) int { return f.ReleasedEarly },
	}
	needs := map[string]string{sabotage.SkipReceipt: "none", faults.DeleteOnBareOK: "bare-200", faults.ReleaseBeforeCommit: "none"}
	for _, guard := range faults.Sabotages() {
		t.Run(guard.Name, func(t *testing.T) {
			t.Parallel()
			ran := run(t, "-faults", needs[guard.Name], "-"+guard.Name)
			if figure[guard.Figure](ran.Figures) == 0 || ran.Code != program.ExitBooks {
				t.Errorf("exit code %d, figures %+v; want %s above zero", ran.Code, ran.Figures, guard.Figure)
			}
		})
	}
}

func TestMemory(t *testing.T) {
	t.Parallel()
	ran := run(t, "-memory")
	wantInOrder(t, ran)
	if ran.Figures.Store != "memory" || !strings.HasPrefix(ran.First(), "store: in memory") {
		t.Errorf("store %q, first line %q", ran.Figures.Store, ran.First())
	}
	for _, known := range faults.Catalogue() {
		count, requested := ran.Figures.Faults[string(known.Name)]
		if requested == known.NeedsDatabase || requested && count == 0 {
			t.Errorf("%s: observed %d times, requested: %v", known.Name, count, requested)
		}
		if named := strings.Contains(ran.First(), string(known.Name)); named != known.NeedsDatabase {
			t.Errorf("the first line names %s: %v\n%s", known.Name, named, ran.First())
		}
	}
}

// The test machine has PostgreSQL, so this is as far as a run can be shown that
// does not find it.
func TestMemoryIsWhereNoServerIsInstalled(t *testing.T) {
	t.Parallel()
	missing := func(context.Context, string, []string) (*database.Database, error) {
		return nil, fmt.Errorf("start: %w", pgtemp.ErrNotInstalled)
	}
	var out bytes.Buffer
	d := &drill{out: &out, options: options{Choice: fault.Choice{Requested: faults.Catalogue().Names()}}}
	if err := d.openStore(t.Context(), missing); err != nil {
		t.Fatal(err)
	}
	want := "store: in memory, the fake of receipttest, since there is no PostgreSQL to be had; one lobby, whose books die with it; not available: [kill-lobby duplicate-storm]\n"
	if out.String() != want {
		t.Errorf("first line %q, want %q", out.String(), want)
	}
	if d.options.Arms(faults.KillLobby) || !d.options.Arms(faults.LostAnswer) {
		t.Errorf("requested are %v", d.options.Requested)
	}
	d.options.Requested = []faults.Name{faults.KillLobby}
	if err := d.openStore(t.Context(), missing); err == nil || !strings.Contains(err.Error(), "needs PostgreSQL") {
		t.Errorf("error %v does not say what kill-lobby needs", err)
	}
	refused := errors.New("password authentication failed")
	broken := func(context.Context, string, []string) (*database.Database, error) { return nil, refused }
	if err := d.openStore(t.Context(), broken); !errors.Is(err, refused) {
		t.Errorf("error %v, want that of the server: only a missing one is replaced", err)
	}
}

// Any account of the machine can list the arguments of a process.
func TestPasswordIsNoArgument(t *testing.T) {
	t.Parallel()
	flags := lobbyFlags{dsn: "password=hidden", settlementDSN: "password=hidden port=1"}
	for _, argument := range flags.args() {
		if strings.Contains(argument, "hidden") {
			t.Errorf("argument %q", argument)
		}
	}
	want := []string{"ARENA_DSN=password=hidden", "ARENA_SETTLEMENT_DSN=password=hidden port=1"}
	if got := flags.env(); !slices.Equal(got, want) {
		t.Errorf("environment %q, want %q", got, want)
	}
}

func TestPrivateServer(t *testing.T) {
	t.Parallel()
	ran := run(t, "-dsn", "", "-faults", "lost-answer")
	wantInOrder(t, ran)
	if !strings.Contains(ran.First(), "a private server") {
		t.Errorf("first line %q", ran.First())
	}
}

// What a run that is cut short has not done, nobody has seen done.
func TestRunThatTakesTooLong(t *testing.T) {
	t.Parallel()
	ran := run(t, "-faults", "none", "-limit", "1ms")
	if ran.Code != program.ExitBooks || !strings.Contains(ran.Stderr, "cut short") {
		t.Errorf("exit code %d, standard error %q", ran.Code, ran.Stderr)
	}
}

// However a run ends that can still do something, it leaves no files behind.
func TestRunThatIsInterruptedClearsUp(t *testing.T) {
	t.Parallel()
	testProgram.WantClearedUp(t)
}

func TestTable(t *testing.T) {
	t.Parallel()
	ran := testProgram.Run(t, "-matches", "4", "-faults", "early-release")
	text := strings.Join(ran.Lines, "\n")
	for _, want := range []string{"lost", "released early", "compensation rule", "in order: nothing lost"} {
		if !strings.Contains(text, want) {
			t.Errorf("the output does not say %q:\n%s", want, text)
		}
	}
	if ran.Code != 0 {
		t.Errorf("exit code %d\n%s", ran.Code, ran.Stderr)
	}
}

func TestWrongArguments(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"-matches", "0"}, "-matches must be 1 or more"},
		{[]string{"-faults", "nonsense"}, `"nonsense" is not a fault`},
		{[]string{"-disarm", "nonsense"}, `"nonsense" is not a fault`},
		{[]string{"-skip-receipt", "-delete-on-200"}, "one sabotage at a time"},
		{[]string{"-limit", "-1s"}, "-limit must not be negative"},
		{[]string{"-vote-window", "0s"}, "-vote-window must be positive"},
		{[]string{"surplus"}, `unknown argument "surplus"`},
	} {
		ran := testProgram.Run(t, test.args...)
		if ran.Code != program.ExitUsage || !strings.Contains(ran.Stderr, test.want) {
			t.Errorf("%v: exit code %d, standard error %q", test.args, ran.Code, ran.Stderr)
		}
	}
	ran := testProgram.Run(t, "-memory", "-faults", "kill-lobby")
	if ran.Code != program.ExitError || !strings.Contains(ran.Stderr, "needs PostgreSQL") {
		t.Errorf("exit code %d, standard error %q", ran.Code, ran.Stderr)
	}
}
