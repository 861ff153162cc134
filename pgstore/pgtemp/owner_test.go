package pgtemp_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/settleonce/settleonce/pgstore/pgtemp"
)

// ownerVariable makes this test binary an owner that starts a server, prints
// its socket and waits to be killed.
const ownerVariable = "PGTEMP_TEST_OWNER"

func TestMain(m *testing.M) {
	if os.Getenv(ownerVariable) != "" {
		own()
	}
	os.Exit(m.Run())
}

func own() {
	server, err := pgtemp.Start(context.Background(), pgtemp.Config{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(server.Socket())
	select {}
}

func TestServerDiesWithItsKilledOwner(t *testing.T) {
	t.Parallel()
	owner := exec.Command(os.Args[0])
	owner.Env = append(os.Environ(), ownerVariable+"=1")
	owner.Stderr = os.Stderr
	output, err := owner.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := owner.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { owner.Process.Kill() })
	lines := bufio.NewScanner(output)
	if !lines.Scan() {
		t.Fatal("the owner printed nothing")
	}
	socket := lines.Text()
	dir := filepath.Dir(socket)
	connection, err := pgx.Connect(t.Context(), fmt.Sprintf("host=%s port=5432 user=postgres dbname=postgres sslmode=disable", dir))
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close(context.Background())

	if err := owner.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := owner.Wait(); err == nil {
		t.Fatal("the owner exited by itself")
	}
	// Waits for the server to cut the connection: it blocks in the server
	// until then, as long as the test binary may run.
	if _, err := connection.Exec(t.Context(), "SELECT pg_sleep(3600)"); err == nil {
		t.Fatal("the server outlived its owner")
	}
	awaitRemoval(t, dir)
}

// awaitRemoval returns once dir is gone; go test's deadline bounds it.
func awaitRemoval(t *testing.T, dir string) {
	t.Helper()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for range ticker.C {
		if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
			return
		}
	}
}
