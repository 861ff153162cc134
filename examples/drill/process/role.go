package process

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
)

// Role is a child that can be killed and started again with the same [Config].
// Safe for concurrent use.
type Role struct {
	config Config

	mu      sync.Mutex
	current *Process // nil: not running
	address string
	ending  bool // its end is somebody's wish
}

// NewRole returns a role that has not been started.
func NewRole(config Config) *Role { return &Role{config: config} }

// OfThisProgram returns a role that is this program's own executable. The
// config's Path is set for it.
func OfThisProgram(config Config) *Role {
	executable, err := os.Executable()
	if err != nil {
		executable = os.Args[0]
	}
	config.Path = executable
	return NewRole(config)
}

// Name returns the config's name.
func (r *Role) Name() string { return r.config.Name }

// Start starts the child and waits until it is ready.
func (r *Role) Start(ctx context.Context) error {
	started, err := Start(r.config)
	if err != nil {
		return err
	}
	r.mu.Lock()
	r.current, r.ending, r.address = started, false, ""
	r.mu.Unlock()
	address, err := started.Ready(ctx)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.address = address
	return nil
}

// URL returns the address that the child announced last. Empty: none yet.
func (r *Role) URL() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.address
}

// take returns the process, whose end is wanted from now on.
func (r *Role) take() *Process {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ending = true
	return r.current
}

// Kill kills the child and returns the signal that it was reaped with.
func (r *Role) Kill() (syscall.Signal, error) {
	running := r.take()
	if running == nil {
		return 0, fmt.Errorf("process: %s is not running", r.config.Name)
	}
	return running.Kill()
}

// Stop asks the child to end and waits, as [Process.Stop] does. One that does
// not run is left so.
func (r *Role) Stop(ctx context.Context) error {
	running := r.take()
	if running == nil {
		return nil
	}
	r.mu.Lock()
	r.current = nil
	r.mu.Unlock()
	return running.Stop(ctx)
}

// Died reports whether the child has ended without anybody's wish.
func (r *Role) Died() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.current == nil || r.ending {
		return false
	}
	select {
	case <-r.current.Done():
		return true
	default:
		return false
	}
}

// LastLines returns the end of the child's log, for an error.
func (r *Role) LastLines() string {
	text, err := os.ReadFile(r.config.LogPath)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return fmt.Sprintf("last lines of %s:\n%s", filepath.Base(r.config.LogPath), strings.Join(lines[max(0, len(lines)-10):], "\n"))
}

// CheckAlive fails for the first role that has ended without anybody's wish. The
// error has the end of its log.
func CheckAlive(roles ...*Role) error {
	for _, role := range roles {
		if role.Died() {
			return fmt.Errorf("%s ended by itself; %s", role.Name(), role.LastLines())
		}
	}
	return nil
}
