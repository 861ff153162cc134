package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// errNoPooler says how to get what is missing.
var errNoPooler = errors.New("no PgBouncer to test with: install the package pgbouncer (apt-get install pgbouncer, or brew install pgbouncer)")

// poolerPort names the socket in a directory of the pooler's own.
const poolerPort = 6432

// Pooler starts a PgBouncer in transaction mode before the database that dsn
// names, and returns the connection string of that database through it. Each
// transaction gets another of its connections to the server, of which there are
// so many, so that whatever a transaction leaves in a session is another's. It
// ends with the test.
func Pooler(t testing.TB, dsn string, connections int) string {
	t.Helper()
	program, err := findPooler()
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	server, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	dir, err := os.MkdirTemp("", "pooler-") //nolint:usetesting // The name of a socket must be short.
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o777); err != nil { //nolint:gosec // G302: for the account that it changes to
		t.Fatal(err)
	}
	configuration := filepath.Join(dir, "pgbouncer.ini")
	if err := os.WriteFile(configuration, []byte(poolerConfiguration(server, dir, connections)), 0o600); err != nil {
		t.Fatal(err)
	}
	runPooler(t, program, configuration)
	through := fmt.Sprintf("host=%s port=%d dbname=%s user=%s sslmode=disable", dir, poolerPort, server.Database, server.User)
	awaitPooler(t, through)
	return through
}

func findPooler() (string, error) {
	for _, candidate := range []string{"pgbouncer", "/usr/sbin/pgbouncer", "/opt/homebrew/bin/pgbouncer"} {
		if found, err := exec.LookPath(candidate); err == nil {
			return found, nil
		}
	}
	return "", errNoPooler
}

func poolerConfiguration(server *pgx.ConnConfig, dir string, connections int) string {
	quote := func(value string) string { return "'" + strings.ReplaceAll(value, "'", "''") + "'" }
	database := fmt.Sprintf("%s = host=%s port=%d user=%s", server.Database, quote(server.Host), server.Port, quote(server.User))
	if server.Password != "" {
		database += " password=" + quote(server.Password)
	}
	lines := []string{
		"[databases]",
		database,
		"[pgbouncer]",
		"pool_mode = transaction",
		"server_round_robin = 1",
		fmt.Sprintf("default_pool_size = %d", connections),
		"auth_type = any",
		"listen_addr =",
		fmt.Sprintf("listen_port = %d", poolerPort),
		"unix_socket_dir = " + dir,
		"server_tls_sslmode = prefer",
	}
	if os.Geteuid() == 0 { // It refuses to run as root, and must reach the server's socket.
		lines = append(lines, "user = "+ownerOf(server.Host))
	}
	return strings.Join(lines, "\n") + "\n"
}

// ownerOf returns the account that owns a directory, which for that of a
// throwaway server's socket is the server's.
func ownerOf(dir string) string {
	info, err := os.Stat(dir)
	if err != nil {
		return "nobody"
	}
	owner, err := user.LookupId(strconv.FormatUint(uint64(info.Sys().(*syscall.Stat_t).Uid), 10))
	if err != nil {
		return "nobody"
	}
	return owner.Username
}

// whileHeard runs a program until the standard input ends, as it also does when
// the test binary is killed.
const whileHeard = `"$0" "$1" & cat >/dev/null; kill -KILL $!`

func runPooler(t testing.TB, program, configuration string) {
	t.Helper()
	var said strings.Builder
	command := exec.Command("sh", "-c", whileHeard, program, configuration)
	command.Stderr = &said
	input, err := command.StdinPipe()
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	if err := command.Start(); err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	t.Cleanup(func() {
		_ = input.Close()
		_ = command.Wait()
		if t.Failed() {
			t.Logf("PgBouncer said:\n%s", said.String())
		}
	})
}

func awaitPooler(t testing.TB, dsn string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		connection, err := pgx.Connect(ctx, dsn)
		if err == nil {
			_ = connection.Close(ctx)
			return
		}
		if refused := (*pgconn.PgError)(nil); errors.As(err, &refused) {
			t.Fatalf("pgtest: %v", err)
		}
		select {
		case <-ctx.Done():
			t.Fatalf("pgtest: PgBouncer does not answer: %v", err)
		case <-time.After(5 * time.Millisecond):
		}
	}
}
