package pgstore

import (
	"strconv"
	"time"
)

// statements are the texts that a store sends, with its schema filled in. They
// never vary otherwise, so that every connection prepares each of them once.
//
// Functions and types are named with their schema, so that neither the search
// path nor a temporary table of the callback puts another in their place.
type statements struct {
	lock         string
	read         string
	history      string
	insert       string
	lockOrdering string
	insertEvent  string
}

// attemptSetting is the transaction-local setting that marks the transaction
// which a session began (I2).
const attemptSetting = "settleonce.attempt"

const (
	// lockSQL sets the transaction up, then waits for the key. CASE forces
	// the order: the lock timeout must be set before the wait, which then
	// obeys it. client_connection_check_interval came with PostgreSQL 14;
	// a server looks at it when a statement starts, so the wait for the
	// key itself is bounded by the lock timeout alone.
	lockSQL = `SELECT pg_catalog.pg_is_in_recovery(), pg_catalog.current_setting('synchronous_commit'),
	CASE WHEN pg_catalog.set_config('` + attemptSetting + `', $1, true) IS NOT NULL
		AND pg_catalog.set_config('lock_timeout', $2, true) IS NOT NULL
		AND pg_catalog.set_config('idle_in_transaction_session_timeout', $3, true) IS NOT NULL
		AND CASE WHEN $4 <> '' AND pg_catalog.current_setting('server_version_num')::int >= 140000
			THEN pg_catalog.set_config('client_connection_check_interval', $4, true) IS NOT NULL ELSE true END
	THEN pg_catalog.pg_advisory_xact_lock($5)::pg_catalog.text END`

	receiptColumns = `tenant, scope, operation, id, revision, requested_kind, outcome_kind, fingerprint,
	value, canonical, ordering_key, attempt, recorded_at`

	// receiptTexts are the same columns to be read. Where pgx has no
	// description of a result it comes as text, and the form of bytea and
	// timestamptz then depends on settings, which a callback may change.
	receiptTexts = `tenant, scope, operation, id, revision, requested_kind, outcome_kind, fingerprint,
	pg_catalog.encode(value, 'hex'), pg_catalog.encode(canonical, 'hex'), ordering_key, attempt, ` + recordedAtText

	recordedAtText = `pg_catalog.to_char(pg_catalog.timezone('UTC', recorded_at), 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`

	ofKey = `tenant = $1 AND scope = $2 AND operation = $3 AND id = $4`

	// readSQL is a statement of its own, so that at READ COMMITTED it sees
	// what the lock waited for.
	readSQL = `SELECT ` + receiptTexts + ` FROM {schema}.receipts
	WHERE ` + ofKey + ` AND (revision = $5 OR revision =
		(SELECT pg_catalog.max(revision) FROM {schema}.receipts WHERE ` + ofKey + `))
	ORDER BY revision`

	historySQL = `SELECT ` + receiptTexts + ` FROM {schema}.receipts
	WHERE ` + ofKey + ` ORDER BY revision`

	// insertSQL writes the receipt. Its attempt is null, which the table
	// refuses, unless the transaction is still the one that the session
	// began. The check stands inside this statement because anything may
	// end a transaction between two (I2). Whatever the callback did to
	// synchronous_commit ends here too: a COMMIT that does not wait for
	// the disk would answer before it is durable.
	insertSQL = `INSERT INTO {schema}.receipts (` + receiptColumns + `)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11,
		CASE WHEN pg_catalog.current_setting('` + attemptSetting + `', true) = $12 THEN $12 END, pg_catalog.clock_timestamp())
	RETURNING ` + recordedAtText + `, pg_catalog.set_config('synchronous_commit', $13, true)`

	// lockOrderingSQL takes the locks in the order of the array.
	lockOrderingSQL = `SELECT pg_catalog.pg_advisory_xact_lock(lock)::pg_catalog.text FROM pg_catalog.unnest($1::bigint[]) AS lock`

	// insertEventSQL takes the position, so it must follow the locks (I8).
	insertEventSQL = `INSERT INTO {schema}.events (lane, ordering_key, source, event_id,
		tenant, scope, operation, id, attempt, recorded_at, envelope)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, pg_catalog.clock_timestamp(), $10)`

	// commitSQL differs in case from the text that pgx itself sends, whose
	// cache entry pgx drops whenever a transaction object is closed.
	commitSQL = `COMMIT`
)

func newStatements(schema string) statements {
	return statements{
		lock:         lockSQL,
		read:         fillIn(readSQL, schema),
		history:      fillIn(historySQL, schema),
		insert:       fillIn(insertSQL, schema),
		lockOrdering: lockOrderingSQL,
		insertEvent:  fillIn(insertEventSQL, schema),
	}
}

// milliseconds writes a duration as PostgreSQL's settings take it. It rounds
// up: to those settings zero means for ever.
func milliseconds(duration time.Duration) string {
	rounded := (duration + time.Millisecond - 1) / time.Millisecond
	return strconv.FormatInt(int64(rounded), 10) + "ms"
}

// constraint names, as the first migration gives them.
const (
	receiptsTable   = "receipts"
	receiptsPrimary = "receipts_pkey"
	attemptColumn   = "attempt"
)
