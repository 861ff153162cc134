package pgstore

import (
	"archive/zip"
	"bytes"
	"context"
	"embed"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

//go:embed migrations/*.sql
var embedded embed.FS

// schemaMark stands for the quoted schema in the embedded files.
const schemaMark = "{schema}"

// Migrate creates the schema and brings its tables to the version that this
// build needs, all in one transaction and under a lock, so that any number of
// processes may call it at once. Applied migrations are left alone. An empty
// schema is [DefaultSchema].
//
// Nil means that the tables are there. An error or a crash leaves everything
// as it was, except that an error of the COMMIT itself may hide a success;
// calling Migrate again is always safe.
//
// The role needs the right to create the schema, or to create tables in it
// where it exists.
func Migrate(ctx context.Context, pool *pgxpool.Pool, schema string) error {
	migrations, err := loadMigrations(schema)
	if err != nil {
		return err
	}
	schema = schemaOrDefault(schema)
	err = pgx.BeginTxFunc(ctx, pool, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, func(tx pgx.Tx) error {
		return applyMigrations(ctx, tx, schema, migrations)
	})
	if err != nil {
		return fmt.Errorf("pgstore: migrating schema %q: %w", schema, err)
	}
	return nil
}

func applyMigrations(ctx context.Context, tx pgx.Tx, schema string, migrations []migration) error {
	// The types and functions in the files are PostgreSQL's own, whatever the
	// search path of the connection puts before them.
	if _, err := tx.Exec(ctx, "SET LOCAL search_path = pg_catalog, pg_temp"); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", migrationLock(schema)); err != nil {
		return err
	}
	if err := createSchema(ctx, tx, schema); err != nil {
		return err
	}
	applied, err := appliedVersion(ctx, tx, schema)
	if err != nil {
		return err
	}
	for _, migration := range migrations {
		if migration.version <= applied {
			continue
		}
		if _, err := tx.Exec(ctx, migration.sql); err != nil {
			return fmt.Errorf("%s: %w", migration.file, err)
		}
	}
	return nil
}

// createSchema creates what the migrations themselves stand on. It looks for
// the schema first, since CREATE SCHEMA IF NOT EXISTS needs the right to
// create one even where it exists.
func createSchema(ctx context.Context, tx pgx.Tx, schema string) error {
	var exists bool
	err := tx.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = $1)", schema).Scan(&exists)
	if err != nil {
		return err
	}
	if !exists {
		if _, err := tx.Exec(ctx, fillIn(createSchemaSQL, schema)); err != nil {
			return err
		}
	}
	_, err = tx.Exec(ctx, fillIn(createMigrationsSQL, schema))
	return err
}

const (
	createSchemaSQL     = "CREATE SCHEMA IF NOT EXISTS {schema};\n"
	createMigrationsSQL = `CREATE TABLE IF NOT EXISTS {schema}.migrations (
    version    integer PRIMARY KEY,
    name       text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
`
)

func fillIn(sql, schema string) string {
	return strings.ReplaceAll(sql, schemaMark, quoteSchema(schema))
}

type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// appliedVersion returns the newest version in the schema's own list, which
// each migration enters itself, whoever applies it.
func appliedVersion(ctx context.Context, db querier, schema string) (int, error) {
	var version int
	err := db.QueryRow(ctx, "SELECT coalesce(pg_catalog.max(version), 0) FROM "+quoteSchema(schema)+".migrations").Scan(&version)
	return version, err
}

// migration is one numbered file, with the schema filled in.
type migration struct {
	version int
	file    string
	sql     string
}

func loadMigrations(schema string) ([]migration, error) {
	schema = schemaOrDefault(schema)
	if err := validateSchema(schema); err != nil {
		return nil, fmt.Errorf("pgstore: schema %w", err)
	}
	entries, err := embedded.ReadDir("migrations")
	if err != nil {
		return nil, fmt.Errorf("pgstore: reading the embedded migrations: %w", err)
	}
	var migrations []migration
	for _, entry := range entries {
		text, err := embedded.ReadFile("migrations/" + entry.Name())
		if err != nil {
			return nil, fmt.Errorf("pgstore: reading the embedded migrations: %w", err)
		}
		number, _, _ := strings.Cut(entry.Name(), "_")
		version, err := strconv.Atoi(number)
		if err != nil {
			return nil, fmt.Errorf("pgstore: embedded migration %s has no number: %w", entry.Name(), err)
		}
		migrations = append(migrations, migration{version, entry.Name(), fillIn(string(text), schema)})
	}
	return migrations, nil
}

// newestVersion is what Check asks for.
func newestVersion(migrations []migration) int {
	return migrations[len(migrations)-1].version
}

// Migrations returns the migrations for schema as files for goose, tern or
// golang-migrate: numbered from 1 without a gap, named
// "001_receipts_and_events.up.sql" and so on. Each also enters itself into the
// schema's own table of migrations, so that [Store.Check] and [Migrate] know
// about it; the first creates the schema and that table where they are
// missing. There are none for the way back, because dropping receipts lets
// effects happen again. An empty schema is [DefaultSchema].
func Migrations(schema string) (fs.FS, error) {
	migrations, err := loadMigrations(schema)
	if err != nil {
		return nil, err
	}
	// An archive in memory is the standard library's shortest writable fs.FS.
	var archive bytes.Buffer
	writer := zip.NewWriter(&archive)
	for i, migration := range migrations {
		sql := migration.sql
		if i == 0 {
			sql = withBootstrap(sql, schemaOrDefault(schema))
		}
		file, err := writer.Create(migration.file)
		if err != nil {
			return nil, fmt.Errorf("pgstore: packing migrations: %w", err)
		}
		if _, err := file.Write([]byte(sql)); err != nil {
			return nil, fmt.Errorf("pgstore: packing migrations: %w", err)
		}
	}
	if err := writer.Close(); err != nil {
		return nil, fmt.Errorf("pgstore: packing migrations: %w", err)
	}
	files, err := zip.NewReader(bytes.NewReader(archive.Bytes()), int64(archive.Len()))
	if err != nil {
		return nil, fmt.Errorf("pgstore: packing migrations: %w", err)
	}
	return files, nil
}

// gooseMark must stay the first line of a migration for goose to read it.
const gooseMark = "-- +goose Up\n"

func withBootstrap(sql, schema string) string {
	return gooseMark + "\n" + fillIn(createSchemaSQL+createMigrationsSQL, schema) + strings.TrimPrefix(sql, gooseMark)
}

func schemaOrDefault(schema string) string {
	if schema == "" {
		return DefaultSchema
	}
	return schema
}
