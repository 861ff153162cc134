// Package processtest starts a test binary again, as processes of their own
// that a test can talk to, stop and kill.
//
// The test and its process exchange lines, over the process's input and output.
// What the process writes to its standard error appears among the test's.
package processtest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
)

// orderVariable is the environment variable that holds a process's order.
const orderVariable = "SETTLEONCE_TEST_ORDER"

// Order says what a process is to do. It reaches the process as JSON.
type Order interface {
	// Follow does it. The process ends when Follow returns, and has failed
	// where that is an error.
	Follow(ctx context.Context, in *bufio.Reader, out io.Writer) error
}

// Main is the body of a TestMain: it follows the order of the process, which
// must be an O, and where there is none it runs the tests.
func Main[O Order](m *testing.M) {
	text, ordered := os.LookupEnv(orderVariable)
	if !ordered {
		m.Run()
		return
	}
	var order O
	err := json.Unmarshal([]byte(text), &order)
	if err == nil {
		err = order.Follow(context.Background(), bufio.NewReader(os.Stdin), os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// Process is the test binary, started again. Its methods that talk are for one
// goroutine at a time.
type Process struct {
	*os.Process
	in  io.WriteCloser
	out *bufio.Reader
}

// Start starts a process that follows order, and ends with the test. The
// TestMain of the test binary must call [Main] for orders of that type.
func Start(t *testing.T, order Order) *Process {
	t.Helper()
	text, err := json.Marshal(order)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), self)
	command.Env = append(os.Environ(), orderVariable+"="+string(text))
	command.Stderr = os.Stderr
	in, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill() // it has ended already, or nobody needs it now
		_ = command.Wait()
	})
	return &Process{command.Process, in, bufio.NewReader(out)}
}

// Tell writes a line to the process.
func (p *Process) Tell(t *testing.T, line string) {
	t.Helper()
	if _, err := io.WriteString(p.in, line+"\n"); err != nil {
		t.Fatal(err)
	}
}

// Expect waits for a line from the process, which must be want.
func (p *Process) Expect(t *testing.T, want string) {
	t.Helper()
	if line, err := p.out.ReadString('\n'); line != want+"\n" {
		t.Fatalf("the process said %q (%v), want %q", line, err, want)
	}
}

// Hear waits for a line of JSON from the process and decodes it.
func (p *Process) Hear(t *testing.T, into any) {
	t.Helper()
	line, err := p.out.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, into)
	}
	if err != nil {
		t.Fatalf("the process said %q: %v", line, err)
	}
}
