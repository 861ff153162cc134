package process

import (
	"fmt"
	"os"
	"syscall"
)

// Pause stops the child where it stands, with SIGSTOP, until [Process.Resume].
// Its connections stay open, and its deadlines go on. A child whose parent dies
// meanwhile is resumed by the system, which then hangs up on it.
func (p *Process) Pause() error { return p.signal(syscall.SIGSTOP) }

// Resume lets a paused child go on, with SIGCONT. It does nothing to one that is
// not paused.
func (p *Process) Resume() error { return p.signal(syscall.SIGCONT) }

func (p *Process) signal(signal os.Signal) error {
	if err := p.child.Signal(signal); err != nil {
		return fmt.Errorf("process: %s: %v: %w", p.name, signal, err)
	}
	return nil
}

// Pause pauses the child, as [Process.Pause] does.
func (r *Role) Pause() error { return r.running((*Process).Pause) }

// Resume lets it go on, as [Process.Resume] does.
func (r *Role) Resume() error { return r.running((*Process).Resume) }

// running does something to the child that runs.
func (r *Role) running(do func(*Process) error) error {
	r.mu.Lock()
	current := r.current
	r.mu.Unlock()
	if current == nil {
		return fmt.Errorf("process: %s is not running", r.config.Name)
	}
	return do(current)
}
