package pgstore

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/settleonce/settleonce/receipt"
)

// statements are the texts that a store sends, with its schema filled in. They
// never vary otherwise, so that every connection prepares each of them once.
//
// Functions and types are named with their schema, so that neither the search
// path nor a temporary table of the callback puts another in their place.
type statements struct {
	lock             string
	read             string
	readBeside       textOfCount
	history          string
	historyOfFew     textOfCount
	historyOfMany    string
	insert           string
	lockOrdering     string
	insertEvent      string
	insertEventAlone string
}

// textOfCount holds a text for each number of keys that a claim may name, its
// own and those beside.
type textOfCount [receipt.MaxBeside + 2]string

// attemptSetting is the transaction-local setting that marks the transaction
// which a session began (I2).
const attemptSetting = "settleonce.attempt"

const (
	// lockSQL sets the transaction up, then waits for the key, then looks at
	// the clock. CASE forces the order: the lock timeout must be set before
	// the wait, which then obeys it. client_connection_check_interval came with PostgreSQL 14;
	// a server looks at it when a statement starts, so the wait for the
	// key itself is bounded by the lock timeout alone.
	lockSQL = `SELECT pg_catalog.pg_is_in_recovery(), pg_catalog.current_setting('synchronous_commit'),
	CASE WHEN CASE WHEN pg_catalog.set_config('` + attemptSetting + `', $1, true) IS NOT NULL
		AND pg_catalog.set_config('lock_timeout', $2, true) IS NOT NULL
		AND pg_catalog.set_config('idle_in_transaction_session_timeout', $3, true) IS NOT NULL
		AND CASE WHEN $4 <> '' AND pg_catalog.current_setting('server_version_num')::int >= 140000
			THEN pg_catalog.set_config('client_connection_check_interval', $4, true) IS NOT NULL ELSE true END
	THEN pg_catalog.pg_advisory_xact_lock($5)::pg_catalog.text END IS NOT NULL
	THEN ` + clockText + ` END`

	clockText = `pg_catalog.to_char(pg_catalog.timezone('UTC', pg_catalog.clock_timestamp()), ` + timeFormat + `)`

	timeFormat = `'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'`

	receiptColumns = `tenant, scope, operation, id, revision, requested_kind, outcome_kind, fingerprint,
	value, canonical, ordering_key, attempt, recorded_at`

	// receiptTexts are the same columns to be read. Where pgx has no
	// description of a result it comes as text, and the form of bytea and
	// timestamptz then depends on settings, which a callback may change.
	receiptTexts = `tenant, scope, operation, id, revision, requested_kind, outcome_kind, fingerprint,
	pg_catalog.encode(value, 'hex'), pg_catalog.encode(canonical, 'hex'), ordering_key, attempt, ` + recordedAtText

	recordedAtText = `pg_catalog.to_char(pg_catalog.timezone('UTC', recorded_at), ` + timeFormat + `)`

	ofKey = `tenant = $1 AND scope = $2 AND operation = $3 AND id = $4`

	readSQL = `SELECT ` + receiptTexts + ` FROM {schema}.receipts
	WHERE ` + ofKey + ` AND (revision = $5 OR revision =
		(SELECT pg_catalog.max(revision) FROM {schema}.receipts WHERE ` + ofKey + `))
	ORDER BY revision`

	historySQL = `SELECT ` + receiptTexts + ` FROM {schema}.receipts
	WHERE ` + ofKey + ` ORDER BY revision`

	// wantedColumns name what lookupSQL looks up, be it arrays or values.
	wantedColumns = ` AS wanted (wanted_tenant, wanted_scope, wanted_operation, wanted_id, place)`

	// wantedArrays takes arrays of the keys' parts, whatever their number. For
	// few keys the planner would take the plan that fits all lengths for a worse
	// one, and make another each time: it takes an unknown array for one of ten.
	wantedArrays = `ROWS FROM (
		pg_catalog.unnest($1::pg_catalog.text[]), pg_catalog.unnest($2::pg_catalog.text[]),
		pg_catalog.unnest($3::pg_catalog.text[]), pg_catalog.unnest($4::pg_catalog.text[])
	) WITH ORDINALITY` + wantedColumns

	// anyRevision and claimedOrFirst say what lookupSQL finds. The claim's key
	// is in the first place.
	anyRevision    = `true`
	claimedOrFirst = `(place = 1 OR revision = 0)`

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

	// insertEventSQL takes the position, so it must follow the locks (I8), and a
	// write that gives the transaction its number: a relay takes a position that
	// it doesn't see for one of a transaction that was open, or for none.
	insertEventSQL = `INSERT INTO {schema}.events (` + eventColumns + `, recorded_at)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, pg_catalog.clock_timestamp())`

	// insertEventAloneSQL takes the lock of its ordering key itself, which is
	// cheaper. OFFSET keeps the planner from merging the subquery into the rest:
	// its row, and with it the lock, comes first, and only then the position
	// (I8). The lane, which must not be null, keeps the lock from being left out.
	insertEventAloneSQL = `INSERT INTO {schema}.events (` + eventColumns + `, recorded_at)
	SELECT CASE WHEN held.lock IS NOT NULL THEN $1::smallint END, $2::pg_catalog.text, $3::pg_catalog.text, $4::pg_catalog.text,
		$5::pg_catalog.text, $6::pg_catalog.text, $7::pg_catalog.text, $8::pg_catalog.text, $9::pg_catalog.text,
		$10::pg_catalog.text, $11::pg_catalog.bytea, $12::pg_catalog.text, $13::pg_catalog.text, $14::pg_catalog.text,
		$15::pg_catalog.text, $16::pg_catalog.text, $17::pg_catalog.text, $18::pg_catalog.text, pg_catalog.clock_timestamp()
	FROM (SELECT pg_catalog.pg_advisory_xact_lock($19)::pg_catalog.text AS lock OFFSET 0) AS held`

	// commitSQL differs in case from the text that pgx itself sends, whose
	// cache entry pgx drops whenever a transaction object is closed.
	commitSQL = `COMMIT`
)

func newStatements(schema string) statements {
	texts := statements{
		lock:             lockSQL,
		read:             fillIn(readSQL, schema),
		history:          fillIn(historySQL, schema),
		historyOfMany:    fillIn(lookupSQL(wantedArrays, anyRevision), schema),
		insert:           fillIn(insertSQL, schema),
		lockOrdering:     lockOrderingSQL,
		insertEvent:      fillIn(insertEventSQL, schema),
		insertEventAlone: fillIn(insertEventAloneSQL, schema),
	}
	for count := 2; count < len(textOfCount{}); count++ {
		texts.readBeside[count] = fillIn(lookupSQL(wantedValues(count), claimedOrFirst), schema)
		texts.historyOfFew[count] = fillIn(lookupSQL(wantedValues(count), anyRevision), schema)
	}
	return texts
}

// lookupSQL returns a statement that finds the receipts of several keys. Its
// subquery is sorted so that the planner keeps it, and looks every key up in
// the primary key's index whatever it takes the table's size for.
func lookupSQL(wanted, condition string) string {
	return `SELECT ` + receiptTexts + ` FROM ` + wanted + `
	CROSS JOIN LATERAL (SELECT * FROM {schema}.receipts
		WHERE tenant = wanted_tenant AND scope = wanted_scope AND operation = wanted_operation AND id = wanted_id
			AND ` + condition + `
		ORDER BY revision) AS found
	ORDER BY place, revision`
}

// wantedValues takes the parts of so many keys, key by key. Up to a claim's
// number of keys that costs less than arrays, and much less than a lookup for
// each key, be it a statement or a part of one.
func wantedValues(count int) string {
	rows := make([]string, count)
	for i := range rows {
		part := 4*i + 1
		rows[i] = fmt.Sprintf("($%d::pg_catalog.text, $%d::pg_catalog.text, $%d::pg_catalog.text, $%d::pg_catalog.text, %d)",
			part, part+1, part+2, part+3, i+1)
	}
	return `(VALUES ` + strings.Join(rows, ", ") + `)` + wantedColumns
}

// readOf returns the statement that reads what a claim must know of, and its
// arguments: of its own key the claimed receipt and the newest one at least,
// then of each key beside the first one. It is a statement of its own, so that
// at READ COMMITTED it sees what the lock waited for.
func (s *statements) readOf(claim *receipt.Claim) (sql string, arguments []any) {
	if len(claim.Beside) == 0 {
		return s.read, append(partsOf(claim.Key), claim.Revision)
	}
	keys := append([]receipt.Key{claim.Key}, claim.Beside...)
	return s.readBeside[len(keys)], partsOf(keys...)
}

// historyOf returns the statement that reads the history of the keys, and its
// arguments.
func (s *statements) historyOf(keys []receipt.Key) (sql string, arguments []any) {
	switch {
	case len(keys) == 1:
		return s.history, partsOf(keys...)
	case len(keys) < len(s.historyOfFew):
		return s.historyOfFew[len(keys)], partsOf(keys...)
	}
	var tenants, scopes, operations, ids []string
	for _, key := range keys {
		tenants, scopes = append(tenants, key.Tenant), append(scopes, key.Scope)
		operations, ids = append(operations, key.Operation), append(ids, key.ID)
	}
	return s.historyOfMany, []any{tenants, scopes, operations, ids}
}

// partsOf returns the parts of the keys, key by key.
func partsOf(keys ...receipt.Key) []any {
	parts := make([]any, 0, 4*len(keys)+1)
	for i := range keys {
		parts = append(parts, keys[i].Tenant, keys[i].Scope, keys[i].Operation, keys[i].ID)
	}
	return parts
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
