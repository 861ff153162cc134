package pgtemp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

const (
	// port only names the socket file; no TCP port is opened.
	port = "5432"

	superuser  = "postgres"
	commandLog = "command.log"
	serverLog  = "server.log"

	// longestSocket is what fits into sun_path on macOS; Linux has four more.
	longestSocket = 103
)

// Server is a running throwaway server, or one that was crashed and can be
// started again. It is safe for concurrent use.
type Server struct {
	dir        string
	bin        string
	as         *syscall.Credential
	supervisor *supervisor
	primary    *Server // nil: this is no standby
}

// Start makes a fresh server and waits until it accepts connections. The
// caller stops it; it also ends with the process. errors.Is(err,
// [ErrNotInstalled]) is true where there are no binaries to start. An error
// leaves nothing behind. ctx bounds the start alone, not the server's life.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	bin, err := findBinaries(ctx, cfg.BinDir)
	if err != nil {
		return nil, err
	}
	as, err := account(cfg.User)
	if err != nil {
		return nil, err
	}
	s, err := prepare(cfg.Dir, bin, as)
	if err != nil {
		return nil, err
	}
	if err := s.create(ctx, cfg.Parameters); err != nil {
		return nil, errors.Join(err, s.Stop(context.WithoutCancel(ctx)))
	}
	return s, nil
}

// prepare makes the directory of a server in parent and the supervisor that
// will remove it.
func prepare(parent, bin string, as *syscall.Credential) (*Server, error) {
	dir, err := os.MkdirTemp(parent, "pgtemp-")
	if err != nil {
		return nil, fmt.Errorf("pgtemp: Dir: %w", err)
	}
	s, err := occupy(dir, bin, as)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return s, nil
}

func occupy(dir, bin string, as *syscall.Credential) (*Server, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("pgtemp: Dir: %w", err)
	}
	s := &Server{dir: dir, bin: bin, as: as}
	if length := len(s.Socket()); length > longestSocket {
		return nil, fmt.Errorf("pgtemp: Dir: must be shorter: the socket's path has %d bytes, more than %d", length, longestSocket)
	}
	if as != nil {
		if err := checkReachable(filepath.Dir(dir), as); err != nil {
			return nil, err
		}
		if err := os.Chown(dir, int(as.Uid), int(as.Gid)); err != nil {
			return nil, fmt.Errorf("pgtemp: Dir: %w", err)
		}
	}
	s.supervisor, err = supervise(dir, bin, as)
	return s, err
}

// create makes the data directory and starts the server. That initdb does not
// sync is no loss: the directory never outlives a crash of the machine.
func (s *Server) create(ctx context.Context, parameters map[string]string) error {
	err := s.command(ctx, "initdb", "--no-sync", "--username="+superuser, "--auth=trust",
		"--encoding=UTF8", "--locale=C", "--pgdata="+s.data())
	if err != nil {
		return err
	}
	if err := appendFile(filepath.Join(s.data(), "postgresql.conf"), settings(parameters)+address(s.dir)); err != nil {
		return err
	}
	return s.up(ctx)
}

// DSN returns a keyword/value connection string for the database "postgres" as
// its superuser. It stays the same over [Server.Restart]. Another
// " dbname=name" may be appended: the last one counts.
func (s *Server) DSN() string {
	return fmt.Sprintf("host=%s port=%s user=%s dbname=postgres sslmode=disable", quoteDSN(s.dir), port, superuser)
}

// Socket returns the path of the Unix socket that the server listens on.
func (s *Server) Socket() string {
	return filepath.Join(s.dir, ".s.PGSQL."+port)
}

// LogFile returns the path of the server's log. It vanishes with the server.
func (s *Server) LogFile() string {
	return filepath.Join(s.dir, serverLog)
}

// Restart shuts the server down in order, cutting its connections, and starts
// it again with the same data and DSN. A crashed server is only started, and
// recovers. If ctx ends first, the server is given up, as by [Server.Stop].
func (s *Server) Restart(ctx context.Context) error {
	return s.command(ctx, "pg_ctl", "restart", "--silent", "--mode=fast",
		"--pgdata="+s.data(), "--log="+s.LogFile())
}

// Crash stops the server as a power cut would seem to its clients: connections
// are cut without a checkpoint or a goodbye, and the next start recovers from
// the log. The data stays, for [Server.Restart]. If ctx ends first, the server
// is given up, as by [Server.Stop].
func (s *Server) Crash(ctx context.Context) error {
	return s.command(ctx, "pg_ctl", "stop", "--silent", "--mode=immediate", "--pgdata="+s.data())
}

// Stop ends the server and removes its directory. Nil means that both are
// done; context.Cause(ctx), that ctx ended first, while they go on in the
// background; another error, that files are left.
// Further calls wait for the same end. Nothing else can be done with the
// server afterwards; standbys made from it are their owners' to stop.
func (s *Server) Stop(ctx context.Context) error {
	s.supervisor.end()
	select {
	case <-s.supervisor.gone:
		// The server's account may empty the directory, but not remove it
		// from a Dir that it can't write to.
		if err := os.RemoveAll(s.dir); err != nil {
			return fmt.Errorf("pgtemp: stop: %w", err)
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("pgtemp: stop: %w", context.Cause(ctx))
	}
}

func (s *Server) up(ctx context.Context) error {
	return s.command(ctx, "pg_ctl", "start", "--silent", "--pgdata="+s.data(), "--log="+s.LogFile())
}

func (s *Server) command(ctx context.Context, program string, arguments ...string) error {
	return s.supervisor.run(ctx, filepath.Join(s.bin, program), arguments...)
}

func (s *Server) data() string {
	return filepath.Join(s.dir, "data")
}

// quoteDSN quotes a value of a keyword/value connection string.
func quoteDSN(value string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(value) + "'"
}
