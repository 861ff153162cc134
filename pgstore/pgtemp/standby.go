package pgtemp

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"
)

// ErrNoStandby is true where a server that is asked about its replay was not
// made by [Server.Standby].
var ErrNoStandby = errors.New("pgtemp: the server is no standby")

// Standby makes a physical streaming standby of s from a base backup, in a
// directory of its own next to s's, and waits until it accepts read-only
// connections. It replicates asynchronously under the application name
// "pgtemp". The caller stops it. An error leaves nothing behind.
func (s *Server) Standby(ctx context.Context) (*Server, error) {
	standby, err := prepare(filepath.Dir(s.dir), s.bin, s.as)
	if err != nil {
		return nil, err
	}
	standby.primary = s
	if err := standby.copyFrom(ctx, s); err != nil {
		return nil, errors.Join(err, standby.Stop(context.WithoutCancel(ctx)))
	}
	return standby, nil
}

func (s *Server) copyFrom(ctx context.Context, primary *Server) error {
	// The copy has the primary's settings; only the address is its own.
	err := s.command(ctx, "pg_basebackup", "--no-sync", "--checkpoint=fast", "--wal-method=stream",
		"--write-recovery-conf", "--dbname="+primary.DSN()+" application_name=pgtemp", "--pgdata="+s.data())
	if err != nil {
		return err
	}
	if err := appendFile(filepath.Join(s.data(), "postgresql.conf"), address(s.dir)); err != nil {
		return err
	}
	return s.up(ctx)
}

// WaitReplayed waits until the standby shows everything that its primary had
// written when the call began. The primary must be up. errors.Is(err,
// [ErrNoStandby]) is true where s was not made by [Server.Standby].
func (s *Server) WaitReplayed(ctx context.Context) error {
	if s.primary == nil {
		return ErrNoStandby
	}
	var written string
	if err := s.primary.query(ctx, &written, "SELECT pg_current_wal_lsn()::text"); err != nil {
		return err
	}
	const interval = 10 * time.Millisecond
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		var replayed bool
		err := s.query(ctx, &replayed, "SELECT coalesce(pg_last_wal_replay_lsn() >= $1::text::pg_lsn, false)", written)
		if err != nil || replayed {
			return err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("pgtemp: wait for replay of %s: %w", written, context.Cause(ctx))
		}
	}
}

// query runs a statement with one result on a connection of its own.
func (s *Server) query(ctx context.Context, result any, statement string, arguments ...any) (err error) {
	connection, err := pgx.Connect(ctx, s.DSN())
	if err != nil {
		return fmt.Errorf("pgtemp: %w", err)
	}
	defer func() { err = errors.Join(err, connection.Close(context.WithoutCancel(ctx))) }()
	if err := connection.QueryRow(ctx, statement, arguments...).Scan(result); err != nil {
		return fmt.Errorf("pgtemp: %w", err)
	}
	return nil
}
