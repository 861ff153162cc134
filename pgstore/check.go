package pgstore

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/settleonce/settleonce/internal/lanes"
)

// Weakness names a property of a server with which it cannot keep what a
// receipt promises.
type Weakness string

const (
	// FsyncOff is fsync=off or full_page_writes=off: a crash of the
	// machine may lose or tear what was committed.
	FsyncOff Weakness = "fsync-off"
	// SynchronousCommitOff is synchronous_commit=off: COMMIT answers before
	// it is durable.
	SynchronousCommitOff Weakness = "synchronous-commit-off"
	// Unlogged is an unlogged table or sequence: a crash of the server
	// empties it.
	Unlogged Weakness = "unlogged"
)

func (w Weakness) validate() error {
	switch w {
	case FsyncOff, SynchronousCommitOff, Unlogged:
		return nil
	default:
		return fmt.Errorf("must hold only weaknesses that this package names, holds %q", string(w))
	}
}

// ErrUnfit is true where [Store.Check] found that the database cannot keep the
// store's promises. The text names every reason. Nothing was changed; it is
// true again until somebody mends the database or adds to Config.Allow.
var ErrUnfit = errors.New("pgstore: the database cannot keep the store's promises")

func (s *Store) allows(weakness Weakness) bool { return slices.Contains(s.config.Allow, weakness) }

// Check reports why the database could not keep what a receipt promises: it is
// a standby, its settings or tables may lose commits in a crash, its encoding
// or the connection's is not UTF-8, its sequence of positions would not follow
// the commits (I8), or a migration or a lane is missing. It changes nothing.
// Config.Allow lists what it is to put up with.
//
// errors.Is(err, [ErrUnfit]) is true where there are such reasons; any other
// error means that Check could not find out. Nil says nothing about a later
// failover: if the primary is lost together with commits that no standby has,
// their receipts are lost with their effects.
func (s *Store) Check(ctx context.Context) error {
	var settings serverSettings
	err := s.config.Pool.QueryRow(ctx, settingsSQL).Scan(&settings.standby, &settings.fsync,
		&settings.fullPages, &settings.synchronousCommit, &settings.serverEncoding, &settings.clientEncoding)
	if err != nil {
		return fmt.Errorf("pgstore: checking the server's settings: %w", err)
	}
	reasons := s.judgeSettings(settings)
	for _, look := range []func(context.Context) (reason, err error){
		s.missingMigration, s.missingLanes, s.unlogged, s.cachingSequences,
	} {
		reason, err := look(ctx)
		if err != nil {
			return fmt.Errorf("pgstore: checking schema %q: %w", s.config.Schema, err)
		}
		if reason != nil {
			reasons = append(reasons, reason)
		}
	}
	if len(reasons) > 0 {
		return fmt.Errorf("%w: %w", ErrUnfit, errors.Join(reasons...))
	}
	return nil
}

// settingsSQL asks for the settings that a new transaction would have.
const settingsSQL = `SELECT pg_catalog.pg_is_in_recovery(), pg_catalog.current_setting('fsync'), pg_catalog.current_setting('full_page_writes'),
	pg_catalog.current_setting('synchronous_commit'), pg_catalog.current_setting('server_encoding'),
	pg_catalog.current_setting('client_encoding')`

type serverSettings struct {
	standby                             bool
	fsync, fullPages, synchronousCommit string
	serverEncoding, clientEncoding      string
}

func (s *Store) judgeSettings(settings serverSettings) []error {
	var reasons []error
	if settings.standby {
		reasons = append(reasons, errStandby)
	}
	if settings.fsync == "off" && !s.allows(FsyncOff) {
		reasons = append(reasons, errors.New("fsync is off"))
	}
	if settings.fullPages == "off" && !s.allows(FsyncOff) {
		reasons = append(reasons, errors.New("full_page_writes is off"))
	}
	if settings.synchronousCommit == "off" && !s.allows(SynchronousCommitOff) {
		reasons = append(reasons, errors.New("synchronous_commit is off"))
	}
	if settings.serverEncoding != "UTF8" {
		reasons = append(reasons, fmt.Errorf("server_encoding is %s, must be UTF8, which keys are in", settings.serverEncoding))
	}
	if settings.clientEncoding != "UTF8" {
		reasons = append(reasons, fmt.Errorf("client_encoding is %s, must be UTF8, which keys are in", settings.clientEncoding))
	}
	return reasons
}

// missingMigration returns the reason, nil where nothing is missing. A newer
// version than this build's is fine: migrations only add.
func (s *Store) missingMigration(ctx context.Context) (reason, err error) {
	migrations, err := loadMigrations(s.config.Schema)
	if err != nil {
		return nil, err
	}
	applied := 0
	var exists bool
	err = s.config.Pool.QueryRow(ctx, "SELECT pg_catalog.to_regclass($1) IS NOT NULL", quoteSchema(s.config.Schema)+".migrations").Scan(&exists)
	if err == nil && exists {
		applied, err = appliedVersion(ctx, s.config.Pool, s.config.Schema)
	}
	if err != nil {
		return nil, err
	}
	if newest := newestVersion(migrations); applied < newest {
		return fmt.Errorf("schema %q is at migration %d, must be at %d: call Migrate", s.config.Schema, applied, newest), nil
	}
	return nil, nil
}

// missingLanes returns the reason where rows of lanes are missing: no relay would
// ever take those, and their events would wait for ever.
func (s *Store) missingLanes(ctx context.Context) (reason, err error) {
	var exists bool
	err = s.config.Pool.QueryRow(ctx, "SELECT pg_catalog.to_regclass($1) IS NOT NULL", quoteSchema(s.config.Schema)+".lanes").Scan(&exists)
	if err != nil || !exists {
		return nil, err // the migration is missing
	}
	var rows int
	err = s.config.Pool.QueryRow(ctx, fillIn("SELECT pg_catalog.count(*) FROM {schema}.lanes", s.config.Schema)).Scan(&rows)
	if err != nil {
		return nil, err
	}
	if rows != lanes.Count {
		return fmt.Errorf("the table of lanes has %d rows, must have %d", rows, lanes.Count), nil
	}
	return nil, nil
}

// unlogged returns the reason where tables or sequences in the store's schema
// are unlogged.
func (s *Store) unlogged(ctx context.Context) (reason, err error) {
	if s.allows(Unlogged) {
		return nil, nil
	}
	names, err := s.relations(ctx, `FROM pg_catalog.pg_class WHERE relpersistence = 'u' AND relkind IN ('r', 'p', 'S')`)
	if err != nil || len(names) == 0 {
		return nil, err
	}
	return fmt.Errorf("unlogged: %q", names), nil
}

// cachingSequences returns the reason where sequences in the store's schema give
// each connection several positions at once: of two commits on one ordering key
// the later could then have the lower one.
func (s *Store) cachingSequences(ctx context.Context) (reason, err error) {
	names, err := s.relations(ctx, `FROM pg_catalog.pg_sequence JOIN pg_catalog.pg_class ON pg_class.oid = seqrelid WHERE seqcache > 1`)
	if err != nil || len(names) == 0 {
		return nil, err
	}
	return fmt.Errorf("sequences with a cache above 1: %q", names), nil
}

// relations returns the names of some relations of the store's schema.
func (s *Store) relations(ctx context.Context, which string) ([]string, error) {
	var names []string
	err := s.config.Pool.QueryRow(ctx, `SELECT coalesce(pg_catalog.array_agg(relname::pg_catalog.text ORDER BY relname), '{}') `+
		which+` AND relnamespace = pg_catalog.to_regnamespace($1)`, quoteSchema(s.config.Schema)).Scan(&names)
	return names, err
}
