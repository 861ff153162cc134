package pgtemp_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/settleonce/settleonce/pgstore/pgtemp"
)

func start(t *testing.T, cfg pgtemp.Config) *pgtemp.Server {
	t.Helper()
	server, err := pgtemp.Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	stopAfter(t, server)
	return server
}

func stopAfter(t *testing.T, server *pgtemp.Server) {
	t.Helper()
	t.Cleanup(func() {
		if err := server.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

// openDir returns an empty directory that every account can enter.
// t.TempDir's parent is its owner's alone.
func openDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "open-") //nolint:usetesting // its parent is closed
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// query returns the one text that the statement gives, on a fresh connection.
func query(t *testing.T, server *pgtemp.Server, statement string) string {
	t.Helper()
	connection, err := pgx.Connect(t.Context(), server.DSN())
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close(context.Background())
	var text string
	if err := connection.QueryRow(t.Context(), statement).Scan(&text); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	return text
}

// execute runs the statements on a fresh connection.
func execute(t *testing.T, server *pgtemp.Server, statements string) {
	t.Helper()
	connection, err := pgx.Connect(t.Context(), server.DSN())
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close(context.Background())
	if _, err := connection.Exec(t.Context(), statements); err != nil {
		t.Fatalf("%s: %v", statements, err)
	}
}

func TestDefaultsAreDurableAndPrivate(t *testing.T) {
	t.Parallel()
	server := start(t, pgtemp.Config{})
	for setting, want := range map[string]string{
		"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on",
		"listen_addresses": "", "server_encoding": "UTF8",
	} {
		if got := query(t, server, "SHOW "+setting); got != want {
			t.Errorf("%s = %q, want %q", setting, got, want)
		}
	}
	info, err := os.Stat(filepath.Dir(server.Socket()))
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o700 {
		t.Errorf("the directory has mode %v, want 0700", info.Mode().Perm())
	}
}

func TestParametersReachTheServer(t *testing.T) {
	t.Parallel()
	awkward := `it's a \back\slash`
	server := start(t, pgtemp.Config{Parameters: map[string]string{
		"fsync": "off", "cluster_name": awkward, "max_connections": "40",
	}})
	for setting, want := range map[string]string{
		"fsync": "off", "cluster_name": awkward, "max_connections": "40",
	} {
		if got := query(t, server, "SHOW "+setting); got != want {
			t.Errorf("%s = %q, want %q", setting, got, want)
		}
	}
}

func TestCommittedDataOutlivesCrashAndRestart(t *testing.T) {
	t.Parallel()
	server := start(t, pgtemp.Config{})
	execute(t, server, "CREATE TABLE kept (word text); INSERT INTO kept VALUES ('still here')")

	held, err := pgx.Connect(t.Context(), server.DSN())
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close(context.Background())
	if err := server.Crash(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := held.Ping(t.Context()); err == nil {
		t.Error("a connection outlived the crash")
	}
	if err := server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := query(t, server, "SELECT word FROM kept"); got != "still here" {
		t.Errorf("after the crash: %q", got)
	}
	before := query(t, server, "SELECT pg_postmaster_start_time()::text")
	if err := server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if query(t, server, "SELECT pg_postmaster_start_time()::text") == before {
		t.Error("Restart did not restart the server")
	}
	log, err := os.ReadFile(server.LogFile())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(log), "was not properly shut down") {
		t.Error("Crash shut the server down in order")
	}
}

func TestStopRemovesTheDirectory(t *testing.T) {
	t.Parallel()
	server := start(t, pgtemp.Config{})
	held, err := pgx.Connect(t.Context(), server.DSN())
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close(context.Background())
	for range 2 { // a second Stop waits for the same end
		if err := server.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Dir(server.Socket())); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("the directory is still there: %v", err)
		}
	}
	if err := held.Ping(t.Context()); err == nil {
		t.Error("the server still runs")
	}
	if err := server.Restart(t.Context()); err == nil {
		t.Error("Restart of a stopped server succeeded")
	}
}

func TestStopGivesUpWaitingWithItsContext(t *testing.T) {
	t.Parallel()
	server := start(t, pgtemp.Config{})
	postmaster := postmasterOf(t, server)
	if err := postmaster.Signal(syscall.SIGSTOP); err != nil { // it takes no signal to end
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := server.Stop(ctx)
	if err := postmaster.Signal(syscall.SIGCONT); err != nil {
		t.Error(err)
	}
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
	if err := server.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

func postmasterOf(t *testing.T, server *pgtemp.Server) *os.Process {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(filepath.Dir(server.Socket()), "data", "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(first)
	if err != nil {
		t.Fatal(err)
	}
	process, err := os.FindProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	return process
}

func TestFailedStartTellsWhyAndLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := openDir(t)
	_, err := pgtemp.Start(t.Context(), pgtemp.Config{
		Dir: dir, Parameters: map[string]string{"max_connections": "many"},
	})
	if err == nil || !strings.Contains(err.Error(), `invalid value for parameter "max_connections"`) {
		t.Errorf("error %v does not quote the server", err)
	}
	left, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestCancelledStartLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := openDir(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := pgtemp.Start(ctx, pgtemp.Config{Dir: dir}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
	left, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}
