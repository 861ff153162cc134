package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/settleonce/settleonce/pgstore/pgtemp"

	"github.com/settleonce/settleonce/examples/drill/course"
	"github.com/settleonce/settleonce/examples/drill/database"
	"github.com/settleonce/settleonce/examples/drill/drilltest"
	"github.com/settleonce/settleonce/examples/drill/fault"
	"github.com/settleonce/settleonce/examples/drill/program"
	"github.com/settleonce/settleonce/examples/drill/sabotage"
	"github.com/settleonce/settleonce/examples/sportsbook/audit"
	"github.com/settleonce/settleonce/examples/sportsbook/faults"
)

// testProgram is this test binary as the program.
var testProgram = drilltest.Program[audit.Figures]{Variable: "SPORTSBOOK_TEST_PROGRAM"}

// bets is how many bets the ordinary traffic of these tests has.
const bets = 16

func TestMain(m *testing.M) {
	os.Exit(testProgram.RunTests(m.Run, main))
}

// outcome is how a run of the program ended.
type outcome = drilltest.Outcome[audit.Figures]

// run runs the program with as many bets as these tests have.
func run(t *testing.T, args ...string) outcome {
	t.Helper()
	return testProgram.RunForFigures(t, append([]string{"-bets", fmt.Sprint(bets)}, args...)...)
}

// wantInOrder checks what must hold of every run whose books are in order.
func wantInOrder(t *testing.T, o outcome) {
	t.Helper()
	f := o.Figures
	if o.Code != 0 || f.Lost != 0 || f.Doubled != 0 || f.Unbalanced != 0 {
		t.Errorf("exit code %d, figures %+v\n%s", o.Code, f, o.Stderr)
	}
	relayed := f.Events
	if f.Store == "memory" {
		relayed = 0 // nobody relays them
	}
	if f.Published != relayed || f.Projected != relayed {
		t.Errorf("of %d events %d were published and %d projected", f.Events, f.Published, f.Projected)
	}
	if f.Requests < bets || f.Accepted+f.Rejected+f.Requoted > f.Requests || f.Settled+f.Voided != f.Accepted {
		t.Errorf("figures do not add up: %+v", f)
	}
}

// On a server of its own a run has every fault.
func TestAllFaults(t *testing.T) {
	t.Parallel()
	ran := run(t, "-dsn", "")
	wantInOrder(t, ran)
	f := ran.Figures
	for name, figure := range map[string]int{
		"accepted": f.Accepted, "rejected": f.Rejected, "requoted": f.Requoted, "pending": f.Pending, "replays": f.Replays,
		"conflicts": f.Conflicts, "settled": f.Settled, "voided": f.Voided, "events": f.Events, "published": f.Published, "projected": f.Projected, "seconds": int(1000 * f.Seconds),
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
	if f.Store != "postgresql" || !strings.Contains(ran.First(), "a private server") {
		t.Errorf("store %q, first line %q", f.Store, ran.First())
	}
}

// Somebody else's server is not restarted, and the run says so.
func TestServerOfSomebodyElse(t *testing.T) {
	t.Parallel()
	ran := run(t, "-faults", "all")
	wantInOrder(t, ran)
	if _, requested := ran.Figures.Faults[string(faults.Restart)]; requested {
		t.Error("the restart was not left out")
	}
	if !strings.Contains(ran.First(), "at -dsn or DATABASE_URL") || !strings.Contains(ran.First(), "not available, since the server is somebody else's: [database-restart]") {
		t.Errorf("first line %q", ran.First())
	}
	ran = testProgram.Run(t, "-faults", "database-restart")
	if ran.Code != program.ExitError || !strings.Contains(ran.Stderr, `"database-restart" needs a private server`) {
		t.Errorf("exit code %d, standard error %q", ran.Code, ran.Stderr)
	}
}

func TestNoFaults(t *testing.T) {
	t.Parallel()
	ran := run(t, "-faults", "none")
	wantInOrder(t, ran)
	f := ran.Figures
	if f.Pending+f.Conflicts+len(f.Faults) != 0 || f.Replays != f.Requests {
		t.Errorf("a clean run has figures %+v", f)
	}
}

func TestFaultThatDoesNotHappenIsMissing(t *testing.T) {
	t.Parallel()
	for _, name := range faults.Catalogue().Names() {
		t.Run(string(name), func(t *testing.T) {
			t.Parallel()
			args := []string{"-faults", string(name), "-disarm", string(name)}
			if name == faults.Restart {
				args = append(args, "-dsn", "")
			}
			ran := run(t, args...)
			if ran.Code != program.ExitBooks || !strings.Contains(ran.Stderr, "requested and not observed: "+string(name)+"\n") {
				t.Errorf("exit code %d, standard error %q", ran.Code, ran.Stderr)
			}
			if count, requested := ran.Figures.Faults[string(name)]; count != 0 || !requested {
				t.Errorf("observed %d times, requested: %v", count, requested)
			}
			if f := ran.Figures; f.Lost+f.Doubled+f.Unbalanced != 0 {
				t.Errorf("figures %+v", f)
			}
		})
	}
}

// Where all others happen, the one that does not is missed still.
func TestOneOfAllFaultsIsMissing(t *testing.T) {
	t.Parallel()
	ran := run(t, "-disarm", string(faults.LostAnswer))
	if ran.Code != program.ExitBooks || !strings.Contains(ran.Stderr, "requested and not observed: lost-answer\n") {
		t.Errorf("exit code %d, standard error %q", ran.Code, ran.Stderr)
	}
}

func TestSabotage(t *testing.T) {
	t.Parallel()
	figure := map[string]func(outcome) int{
		"doubled":         func(o outcome) int { return o.Figures.Doubled },
		"unbalanced":      func(o outcome) int { return o.Figures.Unbalanced },
		faults.FigureLate: func(o outcome) int { return strings.Count(o.Stderr, "late: ") },
	}
	needs := map[string]string{
		sabotage.SkipReceipt: "none", faults.NoFundsGuard: "wallet-race", faults.NoFence: "suspension", faults.UnbalancedJournal: "none",
		faults.SkipInbox: "lost-receipt",
	}
	for _, guard := range faults.Sabotages() {
		t.Run(guard.Name, func(t *testing.T) {
			t.Parallel()
			ran := run(t, "-faults", needs[guard.Name], "-"+guard.Name)
			if figure[guard.Figure](ran) == 0 || ran.Code != program.ExitBooks {
				t.Errorf("exit code %d, figures %+v; want %s above zero\n%s", ran.Code, ran.Figures, guard.Figure, ran.Stderr)
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

// The guards of the memory are taken out like those of PostgreSQL. Commits that
// are cut meanwhile hold nobody up.
func TestSabotageInMemory(t *testing.T) {
	t.Parallel()
	ran := run(t, "-memory", "-faults", "commit-cut", "-"+sabotage.SkipReceipt)
	if ran.Code != program.ExitBooks || ran.Figures.Doubled == 0 || ran.Figures.Lost == 0 || strings.Contains(ran.Stderr, course.ErrLimit.Error()) {
		t.Errorf("exit code %d, figures %+v\n%s", ran.Code, ran.Figures, ran.Stderr)
	}
	if ran.Figures.Faults[string(faults.CommitCut)] == 0 {
		t.Error("no commit was cut")
	}
}

// The test machine has PostgreSQL, so this is as far as a run can be shown that
// does not find it.
func TestMemoryIsWhereNoServerIsInstalled(t *testing.T) {
	t.Parallel()
	missing := func(context.Context, string) (*database.Database, error) {
		return nil, fmt.Errorf("start: %w", pgtemp.ErrNotInstalled)
	}
	var out bytes.Buffer
	d := &drill{out: &out, options: options{Choice: fault.Choice{Requested: faults.Catalogue().Names()}}}
	if err := d.openStore(t.Context(), missing); err != nil {
		t.Fatal(err)
	}
	want := "store: in memory, the fake of receipttest, since there is no PostgreSQL to be had; one API process, whose books die with it, and no relay; " +
		"not available: [wallet-race kill-api database-restart lost-receipt kill-relay stop-relay kill-projection projection-refusal]\n"
	if out.String() != want {
		t.Errorf("first line %q, want %q", out.String(), want)
	}
	d.options.Requested = []fault.Name{faults.KillAPI}
	if err := d.openStore(t.Context(), missing); err == nil || !strings.Contains(err.Error(), "needs PostgreSQL") {
		t.Errorf("error %v does not say what kill-api needs", err)
	}
	refused := errors.New("password authentication failed")
	broken := func(context.Context, string) (*database.Database, error) { return nil, refused }
	if err := d.openStore(t.Context(), broken); !errors.Is(err, refused) {
		t.Errorf("error %v, want that of the server: only a missing one is replaced", err)
	}
}

// The same seed bets the same, and another one otherwise.
func TestPlanDependsOnItsSeed(t *testing.T) {
	t.Parallel()
	plan := func(seed uint64) string {
		var text strings.Builder
		d := &drill{options: options{bets: bets, seed: seed}}
		for _, s := range d.newSlips() {
			fmt.Fprintln(&text, s.id, s.wallet, s.legs, s.stake, s.change, s.loseAnswer, s.consents)
			for _, m := range s.moves {
				fmt.Fprintln(&text, m.market, m.price.Selection, m.price.Odds)
			}
		}
		return text.String()
	}
	one, again, other := plan(1), plan(1), plan(2)
	if one != again {
		t.Errorf("one seed gives two plans:\n%s\n%s", one, again)
	}
	if one == other {
		t.Error("two seeds give one plan")
	}
}

// Any account of the machine can list the arguments of a process.
func TestPasswordIsNoArgument(t *testing.T) {
	t.Parallel()
	api := apiFlags{dsn: "hidden", decisionsDSN: "hidden", playersPassword: "hidden", tradersPassword: "hidden"}
	relay := relayFlags{dsn: "hidden", secret: "hidden"}
	consumer := projectionFlags{dsn: "hidden", secret: "hidden"}
	for _, role := range []struct {
		args, env []string
		secrets   int
	}{{api.args(), api.env(), 4}, {relay.args(), relay.env(), 2}, {consumer.args(), consumer.env(), 2}} {
		if text := strings.Join(role.args, " "); strings.Contains(text, "hidden") {
			t.Errorf("arguments %q", text)
		}
		if got := strings.Count(strings.Join(role.env, " "), "hidden"); got != role.secrets {
			t.Errorf("environment %q", role.env)
		}
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
	ran := testProgram.Run(t, "-bets", "4", "-faults", "changed-body")
	text := strings.Join(ran.Lines, "\n")
	for _, want := range []string{"lost", "unbalanced", "journal EUR", "changed-body", "in order: nothing lost"} {
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
		{[]string{"-bets", "0"}, "-bets must be 1 or more"},
		{[]string{"-faults", "nonsense"}, `"nonsense" is not a fault`},
		{[]string{"-disarm", "nonsense"}, `"nonsense" is not a fault`},
		{[]string{"-skip-receipt", "-no-fence"}, "one sabotage at a time"},
		{[]string{"-limit", "-1s"}, "-limit must not be negative"},
		{[]string{"surplus"}, `unknown argument "surplus"`},
	} {
		ran := testProgram.Run(t, test.args...)
		if ran.Code != program.ExitUsage || !strings.Contains(ran.Stderr, test.want) {
			t.Errorf("%v: exit code %d, standard error %q", test.args, ran.Code, ran.Stderr)
		}
	}
	for _, args := range [][]string{{"-faults", "kill-api"}, {"-faults", "kill-relay"}, {"-skip-inbox"}} {
		ran := testProgram.Run(t, append(args, "-memory")...)
		if ran.Code != program.ExitError || !strings.Contains(ran.Stderr, "needs PostgreSQL") {
			t.Errorf("%v: exit code %d, standard error %q", args, ran.Code, ran.Stderr)
		}
	}
}
