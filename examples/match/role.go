package main

import (
	"context"
	"errors"
	"os"
	"sync"
	"syscall"

	"github.com/settleonce/settleonce/examples/match/process"
)

// role is a process of this program that can be killed and started again. Safe
// for concurrent use.
type role struct {
	name   string
	config process.Config

	mu      sync.Mutex
	current *process.Process // nil: not running
	address string
	ending  bool // its end is somebody's wish
}

func (d *drill) newRole(name string, args []string, env ...string) *role {
	executable, err := os.Executable()
	if err != nil {
		executable = os.Args[0]
	}
	return &role{name: name, config: process.Config{
		Name: name, Path: executable, Args: args, LogPath: d.directory.log(name),
		Env: append(env, secretVariable+"="+d.secret),
	}}
}

func (r *role) start(ctx context.Context) error {
	started, err := process.Start(r.config)
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

func (r *role) url() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.address
}

// take returns the process, whose end is wanted from now on.
func (r *role) take() *process.Process {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ending = true
	return r.current
}

// kill kills the process and returns the signal that it was reaped with.
func (r *role) kill() (syscall.Signal, error) {
	running := r.take()
	if running == nil {
		return 0, errors.New(r.name + " is not running")
	}
	return running.Kill()
}

func (r *role) stop(ctx context.Context) error {
	running := r.take()
	if running == nil {
		return nil
	}
	r.mu.Lock()
	r.current = nil
	r.mu.Unlock()
	return running.Stop(ctx)
}

// died reports whether the process has ended without anybody's wish.
func (r *role) died() bool {
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
