// Package process runs the roles of the program as processes of their own,
// kills them, and tells how they ended.
//
// A child says on its first line of output where it listens. It ends when its
// standard input does, so that none outlives its parent, whatever becomes of
// that.
package process

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// readyPrefix begins the line in which a child says where it listens.
const readyPrefix = "ready "

// Config says what to start.
type Config struct {
	// Name is for errors, such as "lobby-a". It must be set.
	Name string
	// Path is the executable. It must be set.
	Path string
	// Args are its arguments, without its name.
	Args []string
	// Env is added to this process's environment, as "NAME=value".
	Env []string
	// LogPath is the file to which the child's standard error is added. It
	// must be set.
	LogPath string
}

// Process is a child. Safe for concurrent use.
type Process struct {
	name  string
	input io.Closer // closing it asks the child to end
	child *os.Process
	ready chan string   // gets the address, or is closed without
	done  chan struct{} // closed once the child is reaped
	state *os.ProcessState
}

// Start starts a child.
func Start(config Config) (*Process, error) {
	log, err := os.OpenFile(config.LogPath, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("process: %s: %w", config.Name, err)
	}
	defer func() { _ = log.Close() }() // the child has its own handle
	command := exec.Command(config.Path, config.Args...)
	command.Env = append(os.Environ(), config.Env...)
	command.Stderr = log
	// A group of its own keeps the terminal's Ctrl-C away from the child: its
	// parent ends it.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	input, err := command.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("process: %s: %w", config.Name, err)
	}
	output, err := command.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("process: %s: %w", config.Name, err)
	}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("process: %s: %w", config.Name, err)
	}
	p := &Process{
		name: config.Name, input: input, child: command.Process,
		ready: make(chan string, 1), done: make(chan struct{}),
	}
	go p.watch(command, output)
	return p, nil
}

// watch reads what the child says, to its end, and reaps it.
func (p *Process) watch(command *exec.Cmd, output io.Reader) {
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		if address, found := strings.CutPrefix(lines.Text(), readyPrefix); found {
			p.ready <- address
			break
		}
	}
	close(p.ready)
	_, _ = io.Copy(io.Discard, output) // whatever it says now, it must not block on it
	_ = command.Wait()                 // the state says more than the error
	p.state = command.ProcessState
	close(p.done)
}

// Ready waits for the address at which the child listens. It can be asked once.
func (p *Process) Ready(ctx context.Context) (address string, err error) {
	select {
	case address, found := <-p.ready:
		if !found {
			return "", fmt.Errorf("process: %s ended before it was ready", p.name)
		}
		return address, nil
	case <-ctx.Done():
		return "", fmt.Errorf("process: %s: not ready: %w", p.name, context.Cause(ctx))
	}
}

// Done is closed when the child has ended and been reaped.
func (p *Process) Done() <-chan struct{} { return p.done }

// Kill sends SIGKILL, waits until the child is reaped and returns the signal
// that ended it. It is another one, or none, where the child had ended already.
func (p *Process) Kill() (syscall.Signal, error) {
	if err := p.child.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return 0, fmt.Errorf("process: %s: %w", p.name, err)
	}
	<-p.done
	status, known := p.state.Sys().(syscall.WaitStatus)
	if !known || !status.Signaled() {
		return 0, nil
	}
	return status.Signal(), nil
}

// Stop asks the child to end and waits. It is killed once ctx is done. The error
// says how it ended, if not well.
func (p *Process) Stop(ctx context.Context) error {
	_ = p.input.Close() // fails only where the child has ended
	select {
	case <-p.done:
	case <-ctx.Done():
		_, err := p.Kill()
		return errors.Join(fmt.Errorf("process: %s had to be killed: %w", p.name, context.Cause(ctx)), err)
	}
	if !p.state.Success() {
		return fmt.Errorf("process: %s: %v", p.name, p.state)
	}
	return nil
}

// Announce is for the child: it tells the parent where it listens.
func Announce(address string) error {
	_, err := fmt.Println(readyPrefix + address)
	return err
}

// WithParent is for the child: the context that it returns is done when the
// parent has gone, or asks for the end.
func WithParent(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // an error is an end too
		cancel(errors.New("process: the parent asked for the end"))
	}()
	return ctx
}
