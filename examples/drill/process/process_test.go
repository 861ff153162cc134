package process_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/settleonce/settleonce/examples/drill/process"
	"github.com/settleonce/settleonce/examples/drill/wait"
)

const roleVariable = "PROCESS_TEST_ROLE"

// TestMain is the child's main where the parent says so.
func TestMain(m *testing.M) {
	switch os.Getenv(roleVariable) {
	case "":
		os.Exit(m.Run())
	case "serve":
		ctx := process.WithParent(context.Background())
		fmt.Fprintln(os.Stderr, "a line for the log")
		if err := process.Announce("somewhere"); err != nil {
			os.Exit(2)
		}
		<-ctx.Done()
	case "group":
		if err := process.Announce(fmt.Sprint(syscall.Getpgrp())); err != nil {
			os.Exit(2)
		}
	case "pid":
		ctx := process.WithParent(context.Background())
		if err := process.Announce(fmt.Sprint(os.Getpid())); err != nil {
			os.Exit(2)
		}
		<-ctx.Done()
	case "fail":
		os.Exit(3)
	case "terminate":
		ctx := process.WithParent(context.Background())
		_ = syscall.Kill(os.Getpid(), syscall.SIGTERM)
		<-ctx.Done() // it ends before
	}
}

func start(t *testing.T, role string) (child *process.Process, log string) {
	t.Helper()
	log = filepath.Join(t.TempDir(), "log")
	child, err := process.Start(process.Config{
		Name: "child", Path: os.Args[0], Env: []string{roleVariable + "=" + role}, LogPath: log,
	})
	if err != nil {
		t.Fatal(err)
	}
	return child, log
}

func TestChildEndsWhenAsked(t *testing.T) {
	t.Parallel()
	child, log := start(t, "serve")
	address, err := child.Ready(t.Context())
	if err != nil || address != "somewhere" {
		t.Fatalf("ready at %q, error %v", address, err)
	}
	if err := child.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	text, err := os.ReadFile(log)
	if err != nil || !strings.Contains(string(text), "a line for the log") {
		t.Errorf("log %q, error %v", text, err)
	}
}

// A Ctrl-C reaches the whole group of the parent. The parent ends its children
// itself, and must not take their end for a failure.
func TestChildGetsNoCtrlCOfItsParent(t *testing.T) {
	t.Parallel()
	child, _ := start(t, "group")
	group, err := child.Ready(t.Context())
	if err != nil || group == fmt.Sprint(syscall.Getpgrp()) {
		t.Errorf("the child is in group %s, this process in %d, error %v", group, syscall.Getpgrp(), err)
	}
	<-child.Done()
}

func TestKillTellsTheSignal(t *testing.T) {
	t.Parallel()
	child, _ := start(t, "serve")
	if _, err := child.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	if signal, err := child.Kill(); signal != syscall.SIGKILL || err != nil {
		t.Errorf("ended by %v, error %v; want SIGKILL", signal, err)
	}
}

// Whoever asks for a kill must not take another end for its own.
func TestAnotherSignalIsToldFromTheKill(t *testing.T) {
	t.Parallel()
	child, _ := start(t, "terminate")
	<-child.Done()
	if signal, err := child.Kill(); signal != syscall.SIGTERM || err != nil {
		t.Errorf("ended by %v, error %v; want SIGTERM", signal, err)
	}
}

func TestChildThatFails(t *testing.T) {
	t.Parallel()
	child, _ := start(t, "fail")
	if _, err := child.Ready(t.Context()); err == nil {
		t.Error("a child that failed was ready")
	}
	<-child.Done()
	if signal, err := child.Kill(); signal != 0 || err != nil {
		t.Errorf("ended by %v, error %v; it had ended by itself", signal, err)
	}
	if err := child.Stop(t.Context()); err == nil || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("error %v does not tell the exit status", err)
	}
}

func TestRoleComesBackAfterItsDeath(t *testing.T) {
	t.Parallel()
	role := process.NewRole(process.Config{
		Name: "child", Path: os.Args[0], Env: []string{roleVariable + "=serve"}, LogPath: filepath.Join(t.TempDir(), "log"),
	})
	if _, err := role.Kill(); err == nil || role.URL() != "" {
		t.Errorf("killed what does not run, at %q", role.URL())
	}
	for range 2 {
		if err := role.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if role.Died() || role.URL() != "somewhere" {
			t.Errorf("died: %v, at %q", role.Died(), role.URL())
		}
		if signal, err := role.Kill(); signal != syscall.SIGKILL || err != nil {
			t.Errorf("ended by %v, error %v", signal, err)
		}
		if role.Died() {
			t.Error("a role that was killed died by itself")
		}
	}
	if !strings.Contains(role.LastLines(), "a line for the log") {
		t.Errorf("last lines %q", role.LastLines())
	}
}

func TestRoleThatEndsByItselfHasDied(t *testing.T) {
	t.Parallel()
	role := process.NewRole(process.Config{
		Name: "child", Path: os.Args[0], Env: []string{roleVariable + "=fail"}, LogPath: filepath.Join(t.TempDir(), "log"),
	})
	if err := role.Start(t.Context()); err == nil {
		t.Error("a role that failed was ready")
	}
	if err := wait.Until(t.Context(), func() (bool, error) { return role.Died(), nil }); err != nil {
		t.Error(err)
	}
	idle := process.NewRole(process.Config{Name: "idle"})
	if err := process.CheckAlive(idle, role); err == nil || !strings.Contains(err.Error(), "child ended by itself") {
		t.Errorf("error %v does not tell which role ended", err)
	}
	if err := process.CheckAlive(idle); err != nil {
		t.Errorf("a role that was not started has died: %v", err)
	}
}

func TestKilledRoleIsPendingUntilItIsBack(t *testing.T) {
	t.Parallel()
	role := process.NewRole(process.Config{
		Name: "child", Path: os.Args[0], Env: []string{roleVariable + "=serve"}, LogPath: filepath.Join(t.TempDir(), "log"),
	})
	if err := role.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	var restarts process.Restarts
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	ctx, cancel := context.WithCancel(t.Context())
	goOn := make(chan struct{})
	signal, err := restarts.Kill(ctx, role, func(ctx context.Context) error {
		<-goOn
		return role.Start(ctx)
	}, logger)
	if signal != syscall.SIGKILL || err != nil || restarts.Pending() != 1 {
		t.Errorf("ended by %v, error %v, %d pending", signal, err, restarts.Pending())
	}
	cancel() // whoever asked for the kill does not wait for the rest
	close(goOn)
	restarts.Wait()
	if restarts.Pending() != 0 || role.URL() != "somewhere" || log.Len() > 0 {
		t.Errorf("%d pending, the role is at %q, log %q", restarts.Pending(), role.URL(), &log)
	}
	_, err = restarts.Kill(ctx, role, func(context.Context) error { return errors.New("no port is free") }, logger)
	restarts.Wait()
	if err != nil || !strings.Contains(log.String(), "no port is free") {
		t.Errorf("error %v, log %q", err, &log)
	}
}

// A role that is paused does nothing, and goes on where it stood. One that ends
// while it is paused ends all the same.
func TestPausedRoleGoesOn(t *testing.T) {
	t.Parallel()
	role := process.NewRole(process.Config{
		Name: "child", Path: os.Args[0], Env: []string{roleVariable + "=pid"}, LogPath: filepath.Join(t.TempDir(), "log"),
	})
	if err := role.Pause(); err == nil {
		t.Error("paused what does not run")
	}
	if err := role.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := role.Pause(); err != nil {
		t.Fatal(err)
	}
	err := wait.Until(t.Context(), func() (bool, error) { return stopped(role.URL()) })
	if err != nil {
		t.Fatal(err)
	}
	if err := role.Resume(); err != nil {
		t.Fatal(err)
	}
	err = wait.Until(t.Context(), func() (bool, error) {
		still, err := stopped(role.URL())
		return !still, err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := role.Pause(); err != nil {
		t.Fatal(err)
	}
	if signal, err := role.Kill(); signal != syscall.SIGKILL || err != nil {
		t.Errorf("ended by %v, error %v", signal, err)
	}
}

// stopped reports whether a process is stopped, as its state in /proc says.
func stopped(pid string) (bool, error) {
	text, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
	if err != nil {
		return false, err
	}
	_, state, _ := strings.Cut(string(text), ") ")
	return strings.HasPrefix(state, "T"), nil
}
