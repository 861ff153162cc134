package pgstore

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/settleonce/settleonce/internal/lanes"
)

// table is the outbox table, as the relay logic sees it.
type table struct {
	pool *pgxpool.Pool
	sql  *tableStatements
	// floor is for the lag.
	floor lagFloor
}

var _ lanes.Table = (*table)(nil)

func newTable(pool *pgxpool.Pool, schema string) *table {
	return &table{pool: pool, sql: newTableStatements(schema)}
}

// opening says how a transaction begins.
type opening int

const (
	// lasting is for a write that is durable when it has been answered, be it
	// that the pool's sessions begin otherwise.
	lasting opening = iota
	// fleeting is for a write that may be answered before it is durable, and
	// for reads.
	fleeting
	// viewing is for reads that must know their snapshot.
	viewing
)

const (
	// beginSQL states the level: the pool's may be another, at which a
	// statement that waits for a relay's row fails instead of looking at it
	// again, and at which the scans of a relay make the commits fail that they
	// pass.
	beginSQL = `BEGIN ISOLATION LEVEL READ COMMITTED`
	// beginViewSQL gives the settings and the statement one snapshot.
	beginViewSQL = `BEGIN READ ONLY, ISOLATION LEVEL REPEATABLE READ`

	// planSettings keeps the planner on the keys. The table is empty at one
	// moment and has millions of rows at the next, and a plan that was made for
	// the one outlives it. Compiling pays for no statement of these, and neither
	// do parallel workers, whose start takes longer than a limited scan. The rest
	// are the forms of results that come as text, which depends on pgx's mode.
	planSettings = `pg_catalog.set_config('enable_seqscan', 'off', true), pg_catalog.set_config('enable_sort', 'off', true),
	pg_catalog.set_config('jit', 'off', true), pg_catalog.set_config('max_parallel_workers_per_gather', '0', true), pg_catalog.set_config('bytea_output', 'hex', true),
	pg_catalog.set_config('datestyle', 'ISO', true), pg_catalog.set_config('timezone', 'UTC', true)`

	// standbyText tells a standby in the first column. Its snapshots name no open
	// transactions, and it shows less than the primary has shown already: a
	// relay that read on there would pass over what is late (I8). A pool may
	// have connections to both, made while the primary was away.
	standbyText = `CASE WHEN pg_catalog.pg_is_in_recovery() THEN '` + standbyMark + `' ELSE '' END`
	standbyMark = `standby`

	lastingSettings = `SELECT ` + standbyText + `, ` + planSettings + `,
	CASE WHEN pg_catalog.current_setting('synchronous_commit') = 'off' THEN pg_catalog.set_config('synchronous_commit', 'on', true) END`
	fleetingSettings = `SELECT ` + standbyText + `, ` + planSettings + `, pg_catalog.set_config('synchronous_commit', 'off', true)`

	// viewingSettings takes the snapshot, and only then looks at the number that
	// the next transaction would get: this is what the age of a number tells
	// where the transaction itself has none. 3 is the first number of all.
	viewingSettings = `SELECT ` + standbyText + `, ` + planSettings + `,
	pg_catalog.concat(pg_catalog.pg_current_snapshot(), ':', pg_catalog.age('3'::pg_catalog.xid))`
)

// texts returns the BEGIN and the statement that sets the transaction up, until
// its end. The first column of that one is standbyText, and the last one the
// snapshot, if there is to be one.
func (o opening) texts() (begin, settings string) {
	switch o {
	case fleeting:
		return beginSQL, fleetingSettings
	case viewing:
		return beginViewSQL, viewingSettings
	default:
		return beginSQL, lastingSettings
	}
}

// statement is one that is a transaction of its own, in one flush.
type statement struct {
	// doing says what fails, for its error.
	doing     string
	opening   opening
	sql       string
	arguments []any
	// snapshot is where the opening's goes. Nil: nobody asks.
	snapshot *string
}

// run executes s and hands its rows to read. Nil: it is committed.
func (t *table) run(ctx context.Context, s statement, read func(pgx.Rows) error) error {
	if err := t.send(ctx, s, read); err != nil {
		return fmt.Errorf("pgstore: %s: %w", s.doing, err)
	}
	return nil
}

func (t *table) send(ctx context.Context, s statement, read func(pgx.Rows) error) error {
	conn, err := t.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release() // closes it where the transaction is still open
	if err := checkEncoding(conn.Conn().PgConn()); err != nil {
		return err
	}
	begin, settings := s.opening.texts()
	var batch pgx.Batch
	batch.Queue(begin)
	batch.Queue(settings)
	batch.Queue(s.sql, s.arguments...)
	batch.Queue(commitSQL)
	results := conn.SendBatch(ctx, &batch)
	err = s.readResults(results, read)
	if closeErr := results.Close(); err == nil {
		err = closeErr
	}
	return err
}

// readResults reads the answers to what send sent.
func (s *statement) readResults(results pgx.BatchResults, read func(pgx.Rows) error) error {
	if _, err := results.Exec(); err != nil { // BEGIN
		return err
	}
	if err := readRows(results, s.readSettings); err != nil {
		return err
	}
	if err := readRows(results, read); err != nil {
		return err
	}
	tag, err := results.Exec()
	if err == nil && tag.String() != commitSQL {
		err = fmt.Errorf("the server answered COMMIT with %q", tag)
	}
	return err
}

func (s *statement) readSettings(rows pgx.Rows) error {
	for rows.Next() {
		values := rows.RawValues() // a text is the same in each format
		if string(values[0]) == standbyMark {
			return errStandby
		}
		if s.snapshot != nil {
			*s.snapshot = string(values[len(values)-1])
		}
	}
	return nil
}

// readRows hands the next result to read. The rows' own error goes before what
// read made of it.
func readRows(results pgx.BatchResults, read func(pgx.Rows) error) error {
	rows, err := results.Query()
	if err != nil {
		return err
	}
	err = read(rows)
	rows.Close()
	if rowsErr := rows.Err(); rowsErr != nil {
		return rowsErr
	}
	return err
}

// readOne returns a function that reads the only row into places.
func readOne(places ...any) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		if !rows.Next() {
			return pgx.ErrNoRows
		}
		return rows.Scan(places...)
	}
}

// numbers returns lanes as the server takes them.
func numbers(of []lanes.Lane) []int16 {
	numbers := make([]int16, len(of))
	for i, lane := range of {
		numbers[i] = int16(lane)
	}
	return numbers
}
