package drilltest

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// Program runs the test binary as the program that it tests, in whichever role.
// Figures is the type of what a run prints with -json. Safe for concurrent use
// once the tests run.
type Program[Figures any] struct {
	// Variable is the environment variable that makes the test binary the
	// program. Its children inherit it. It must be set.
	Variable string
	// DSN is that of a server that the runs share, each with schemas of its own.
	// RunTests sets it.
	DSN string
}

// RunTests is for TestMain: it runs main where this process is to be the
// program, and else the tests, usually testing.M's Run, with a server as
// [WithServer] finds it. It returns the exit code.
func (p *Program[Figures]) RunTests(run func() int, main func()) (code int) {
	if os.Getenv(p.Variable) != "" {
		main()
		return 0
	}
	return WithServer(func(dsn string) int {
		p.DSN = dsn
		return run()
	})
}

// Command returns a run of the program that has not been started. It ends with
// the test. Without -dsn among args it has the shared server.
func (p *Program[Figures]) Command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	command := exec.CommandContext(t.Context(), os.Args[0], args...) //nolint:gosec // it is this very program that runs
	command.Env = append(os.Environ(), p.Variable+"=yes")
	if !slices.Contains(args, "-dsn") {
		command.Env = append(command.Env, "DATABASE_URL="+p.DSN)
	}
	return command
}

// Outcome is how a run of the program ended.
type Outcome[Figures any] struct {
	// Code is the exit code.
	Code int
	// Lines are those of standard output, at least one.
	Lines []string
	// Stderr is standard error.
	Stderr string
	// Figures are those of the last line. Zero: the run was not asked for them.
	Figures Figures
}

// First is the first line of standard output.
func (o *Outcome[Figures]) First() string { return o.Lines[0] }

// Run runs the program to its end.
func (p *Program[Figures]) Run(t *testing.T, args ...string) Outcome[Figures] {
	t.Helper()
	command := p.Command(t, args...)
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	err := command.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(stdout.String()), "\n")
	return Outcome[Figures]{Code: command.ProcessState.ExitCode(), Lines: lines, Stderr: stderr.String()}
}

// RunForFigures runs the program with -json, to its end. It fails the test
// where the last line is not the figures, or has a field that they lack.
func (p *Program[Figures]) RunForFigures(t *testing.T, args ...string) Outcome[Figures] {
	t.Helper()
	ran := p.Run(t, append([]string{"-json"}, args...)...)
	last := ran.Lines[len(ran.Lines)-1]
	decoder := json.NewDecoder(strings.NewReader(last))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&ran.Figures); err != nil {
		t.Fatalf("the last line is not the figures: %v\n%s\n%s", err, last, ran.Stderr)
	}
	return ran
}
