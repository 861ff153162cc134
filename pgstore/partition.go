package pgstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/settleonce/settleonce/internal/lanes"
)

// PartitionConfig says how [PartitionEvents] divides a table of events.
type PartitionConfig struct {
	// Schema holds the tables. Empty: [DefaultSchema].
	Schema string
	// Partitions is how many parts there are to be, each for a range of lanes:
	// 2 to 256. As many as there are relays in all, or a few times that, lets
	// each relay have parts to itself.
	Partitions int
}

func (c *PartitionConfig) validate() error {
	var broken []error
	if err := validateSchema(c.Schema); err != nil {
		broken = append(broken, fmt.Errorf("pgstore: PartitionConfig.Schema %w", err))
	}
	if c.Partitions < 2 || c.Partitions > lanes.Count {
		broken = append(broken, fmt.Errorf("pgstore: PartitionConfig.Partitions must be 2 to %d, is %d", lanes.Count, c.Partitions))
	}
	return errors.Join(broken...)
}

// ErrPartitioned is true where [PartitionEvents] found the table of events
// divided into another number of parts. Nothing was changed.
var ErrPartitioned = errors.New("pgstore: the table of events is partitioned already")

// PartitionEvents divides the table of events by ranges of lanes, so that vacuum
// works on the parts one by one and relays on parts of their own. It pays where
// tens of thousands of events a second leave more dead rows than one vacuum
// keeps up with; below that it only makes each statement a little dearer.
//
// It is one transaction, which locks the table against everybody and moves what
// is pending, positions included: commits with events, and relays, wait for as
// long as that takes. Owner and grants stay. It refuses a table with triggers,
// policies or publications of others, which would be lost.
//
// Nil: the table has so many parts, be it from an earlier call. An error or a
// crash leaves everything as it was, except that an error of the COMMIT itself
// may hide a success; calling it again is always safe.
func PartitionEvents(ctx context.Context, pool *pgxpool.Pool, cfg PartitionConfig) error {
	cfg.Schema = schemaOrDefault(cfg.Schema)
	if err := cfg.validate(); err != nil {
		return err
	}
	err := pgx.BeginTxFunc(ctx, pool, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, func(tx pgx.Tx) error {
		p := partitioning{tx: tx, schema: cfg.Schema}
		return p.divide(ctx, cfg.Partitions)
	})
	if err != nil {
		return fmt.Errorf("pgstore: partitioning the events of schema %q: %w", cfg.Schema, err)
	}
	return nil
}

// partitioning is the transaction in which a table of events is divided.
type partitioning struct {
	tx     pgx.Tx
	schema string
}

func (p *partitioning) divide(ctx context.Context, partitions int) error {
	if _, err := p.tx.Exec(ctx, "SET LOCAL search_path = pg_catalog, pg_temp"); err != nil {
		return err
	}
	if _, err := p.tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", migrationLock(p.schema)); err != nil {
		return err
	}
	// The transaction has its number before it makes anybody wait: a relay whose
	// snapshot is older than the move finds the new table empty, and must take
	// the events for those of a transaction that was open (I8). Where the server
	// keeps no log for standbys, the lock alone gives none.
	if err := p.execute(ctx, "SELECT pg_current_xact_id()", "LOCK TABLE {schema}.events IN ACCESS EXCLUSIVE MODE"); err != nil {
		return err
	}
	there, err := p.texts(ctx, partsSQL)
	switch {
	case err != nil || len(there) == partitions:
		return err
	case len(there) > 0:
		return fmt.Errorf("%w, into %d parts", ErrPartitioned, len(there))
	}
	attached, err := p.texts(ctx, attachedSQL)
	switch {
	case err != nil:
		return err
	case len(attached) > 0:
		return fmt.Errorf("the table has what would be lost: %q", attached)
	}
	return p.replace(ctx, partitions)
}

// replace puts a partitioned table in the place of the whole one.
func (p *partitioning) replace(ctx context.Context, partitions int) error {
	storage, err := p.texts(ctx, storageSQL)
	if err != nil {
		return err
	}
	outside, err := p.texts(ctx, outsideSQL)
	if err != nil {
		return err
	}
	owner, err := p.texts(ctx, ownerSQL)
	if err != nil {
		return err
	}
	if err := p.execute(ctx, append(owner, replaceSQL)...); err != nil {
		return err
	}
	for part := range partitions {
		from, to := part*lanes.Count/partitions, (part+1)*lanes.Count/partitions
		err := p.execute(ctx, fmt.Sprintf(`CREATE TABLE {schema}.events_lanes_%03d PARTITION OF {schema}.events
			FOR VALUES FROM (%d) TO (%d) %s`, from, from, to, storage[0]))
		if err != nil {
			return err
		}
	}
	return p.execute(ctx, append(outside, moveSQL)...)
}

func (p *partitioning) execute(ctx context.Context, statements ...string) error {
	for _, sql := range statements {
		if _, err := p.tx.Exec(ctx, fillIn(sql, p.schema)); err != nil {
			return err
		}
	}
	return nil
}

// texts returns the only column of a query.
func (p *partitioning) texts(ctx context.Context, sql string) ([]string, error) {
	rows, err := p.tx.Query(ctx, fillIn(sql, p.schema))
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

const (
	partsSQL = `SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = '{schema}.events'::regclass`

	// attachedSQL names what hangs on the table and would not be on the new one.
	// What depends on it, such as a view, makes the removal fail instead.
	attachedSQL = `SELECT 'trigger ' || tgname FROM pg_trigger WHERE tgrelid = '{schema}.events'::regclass AND NOT tgisinternal
	UNION ALL SELECT 'policy ' || polname FROM pg_policy WHERE polrelid = '{schema}.events'::regclass
	UNION ALL SELECT 'publication ' || pubname FROM pg_publication_rel JOIN pg_publication ON pg_publication.oid = prpubid
		WHERE prrelid = '{schema}.events'::regclass
	UNION ALL SELECT 'grants on column ' || attname FROM pg_attribute WHERE attrelid = '{schema}.events'::regclass AND attacl IS NOT NULL`

	// storageSQL is the WITH clause of the table and its TOAST table. A
	// partitioned table takes none, only its parts do.
	storageSQL = `SELECT coalesce('WITH (' || string_agg(option, ', ') || ')', '') FROM (
		SELECT unnest(reloptions) AS option FROM pg_class WHERE oid = '{schema}.events'::regclass
		UNION ALL SELECT 'toast.' || unnest(toast.reloptions) FROM pg_class AS main JOIN pg_class AS toast ON toast.oid = main.reltoastrelid
			WHERE main.oid = '{schema}.events'::regclass
	) AS options`

	// outsideSQL returns the statements that give the new table what LIKE does
	// not: comments and grants.
	outsideSQL = `SELECT format('COMMENT ON TABLE {schema}.events IS %L', obj_description('{schema}.events'::regclass, 'pg_class'))
	UNION ALL SELECT format('COMMENT ON CONSTRAINT %I ON {schema}.events IS %L', conname, obj_description(oid, 'pg_constraint'))
		FROM pg_constraint WHERE conrelid = '{schema}.events'::regclass AND obj_description(oid, 'pg_constraint') IS NOT NULL
	UNION ALL SELECT format('GRANT %s ON {schema}.events TO %s%s', privilege_type,
		CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END,
		CASE WHEN is_grantable THEN ' WITH GRANT OPTION' ELSE '' END)
		FROM pg_class, aclexplode(relacl) WHERE pg_class.oid = '{schema}.events'::regclass AND grantee <> relowner`

	// ownerSQL returns the statement with which everything that follows is the
	// owner's.
	ownerSQL = `SELECT format('SET LOCAL ROLE %I', pg_get_userbyid(relowner)) FROM pg_class WHERE oid = '{schema}.events'::regclass`

	replaceSQL = `ALTER TABLE {schema}.events RENAME TO events_whole;
	ALTER TABLE {schema}.events_whole RENAME CONSTRAINT events_pkey TO events_whole_pkey;
	ALTER SEQUENCE {schema}.events_position_seq RENAME TO events_whole_position_seq;
	CREATE TABLE {schema}.events (LIKE {schema}.events_whole INCLUDING ALL) PARTITION BY RANGE (lane)`

	// moveSQL keeps every position, and has the next one follow the last that was
	// taken.
	moveSQL = `INSERT INTO {schema}.events (position, recorded_at, ` + eventColumns + `) OVERRIDING SYSTEM VALUE
		SELECT position, recorded_at, ` + eventColumns + ` FROM {schema}.events_whole;
	SELECT setval('{schema}.events_position_seq', last_value, is_called) FROM {schema}.events_whole_position_seq;
	DROP TABLE {schema}.events_whole`
)
