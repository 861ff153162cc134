package drilltest

import (
	"bufio"
	"io"
	"os"
	"syscall"
	"testing"

	"github.com/settleonce/settleonce/examples/drill/program"
)

// WantClearedUp interrupts runs in every way that leaves the program something
// to do, and checks that it fails and leaves no files behind.
func (p *Program[Figures]) WantClearedUp(t *testing.T) {
	t.Helper()
	for name, interrupt := range map[string]func(*os.Process, io.Closer) error{
		"Ctrl-C":          func(p *os.Process, _ io.Closer) error { return p.Signal(os.Interrupt) },
		"terminated":      func(p *os.Process, _ io.Closer) error { return p.Signal(syscall.SIGTERM) },
		"terminal closed": func(p *os.Process, _ io.Closer) error { return p.Signal(syscall.SIGHUP) },
		"reader gone":     func(_ *os.Process, out io.Closer) error { return out.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			temporary := t.TempDir()
			command := p.Command(t, "-faults", "none")
			command.Env = append(command.Env, "TMPDIR="+temporary)
			out, err := command.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := command.Start(); err != nil {
				t.Fatal(err)
			}
			if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
				t.Error(err)
			}
			if err := interrupt(command.Process, out); err != nil {
				t.Error(err)
			}
			_ = command.Wait() // the state says more than the error
			if code := command.ProcessState.ExitCode(); code != program.ExitError {
				t.Errorf("ended with %v, want exit code %d", command.ProcessState, program.ExitError)
			}
			left, err := os.ReadDir(temporary)
			if err != nil || len(left) != 0 {
				t.Errorf("left behind: %v, error %v", left, err)
			}
		})
	}
}
