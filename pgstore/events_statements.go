package pgstore

// tableStatements are the texts that a table of events sends, with its schema
// filled in.
type tableStatements struct {
	join, renew, expel        string
	take, give, leave         string
	read, readOf, readAt      string
	heads, heldBack           string
	remove, bury              string
	letters, requeue, discard string
	lag                       string
}

const (
	// heldSQL is a relay's row, if it still has the ticket's epoch, kept so
	// until the end of the transaction. At READ COMMITTED a row that changed
	// during the wait for it is looked at again, in its new version: so nothing
	// that stands beside held happens after the relay has lost a lane. A key
	// share lets the relay renew meanwhile, see relays_fence_key.
	heldSQL = `held AS MATERIALIZED (
		SELECT id FROM {schema}.relays WHERE id = $1 AND epoch = $2 FOR KEY SHARE
	)`

	joinSQL = `INSERT INTO {schema}.relays (expires_at)
	VALUES (pg_catalog.clock_timestamp() + pg_catalog.make_interval(secs => $1)) RETURNING id, epoch`

	renewSQL = `WITH renewed AS (
		UPDATE {schema}.relays SET expires_at = pg_catalog.clock_timestamp() + pg_catalog.make_interval(secs => $3)
		WHERE id = $1 AND epoch = $2 RETURNING id
	)
	SELECT (SELECT pg_catalog.count(*) FROM renewed),
		(SELECT pg_catalog.count(*) FROM {schema}.relays),
		(SELECT pg_catalog.count(*) FROM {schema}.lanes WHERE relay IS NULL),
		(SELECT count FROM {schema}.requeues),
		(SELECT pg_catalog.count(*) FROM {schema}.relays WHERE id <> $1 AND expires_at < pg_catalog.clock_timestamp())`

	// expelSQL waits for nobody, since it stands between a relay and its own
	// renewals: it passes over the expired that have a write under way, or are
	// about to renew, and leaves them to a later one. The foreign key frees the
	// lanes of the others, when all else is done.
	expelSQL = `WITH expired AS MATERIALIZED (
		SELECT id FROM {schema}.relays WHERE expires_at < pg_catalog.clock_timestamp() FOR UPDATE SKIP LOCKED
	), expelled AS (
		DELETE FROM {schema}.relays AS relay USING expired WHERE relay.id = expired.id RETURNING relay.id
	)
	SELECT pg_catalog.count(*),
		(SELECT pg_catalog.count(*) FROM {schema}.lanes WHERE relay IN (SELECT id FROM expelled))
	FROM expelled`

	// takeSQL takes neighbours where it can, see inLanes. A lane that another
	// relay is about to take is passed over.
	takeSQL = `WITH ` + heldSQL + `, free AS MATERIALIZED (
		SELECT lane FROM {schema}.lanes WHERE relay IS NULL AND EXISTS (SELECT FROM held)
		ORDER BY lane LIMIT $3 FOR UPDATE SKIP LOCKED
	), taken AS (
		UPDATE {schema}.lanes AS lane SET relay = $1 FROM free WHERE lane.lane = free.lane RETURNING lane.lane
	)
	SELECT (SELECT pg_catalog.count(*) FROM held), ARRAY(SELECT lane FROM taken)`

	giveSQL = `WITH raised AS (
		UPDATE {schema}.relays SET epoch = epoch + 1 WHERE id = $1 AND epoch = $2 RETURNING epoch
	), freed AS (
		UPDATE {schema}.lanes SET relay = NULL WHERE relay = $1 AND lane = ANY ($3::smallint[]) AND EXISTS (SELECT FROM raised)
	)
	SELECT pg_catalog.count(*), coalesce(pg_catalog.max(epoch), 0) FROM raised`

	leaveSQL = `DELETE FROM {schema}.relays WHERE id = $1`

	// eventTexts are the columns that scanRow reads.
	eventTexts = `position, lane, ordering_key, partition_key, source, event_id, type, subject, event_time,
	data_schema, data_content_type, data, fingerprint, extensions, tenant, scope, operation, id, recorded_at`

	// inLanes picks lanes. Before PostgreSQL 17 an index scan that keeps the
	// order of the positions tests a set of lanes against the row, and only
	// bounds inside the index: with lanes that lie together the bounds do all
	// the work. The set is one of bits, since a row would be compared with each
	// element of an array, which took longer than everything else about it.
	inLanes = `pg_catalog.get_bit($1::pg_catalog.bytea, lane) = 1 AND lane BETWEEN $2 AND $3`

	readAfterSQL = `SELECT ` + eventTexts + ` FROM {schema}.events
	WHERE position > $4 AND ` + inLanes + ` ORDER BY position LIMIT $5`

	readOfSQL = `SELECT ` + eventTexts + ` FROM {schema}.events
	WHERE position BETWEEN $4 AND $5 AND ` + inLanes + ` AND ordering_key = ANY ($6::text[]) ORDER BY position LIMIT $7`

	readAtSQL = `SELECT ` + eventTexts + ` FROM {schema}.events
	WHERE position = ANY ($1::bigint[]) ORDER BY position`

	headsSQL = `SELECT position, lane, ordering_key FROM {schema}.events
	WHERE position > $4 AND position <= $5 AND ` + inLanes + ` ORDER BY position LIMIT $6`

	heldBackSQL = `SELECT DISTINCT ordering_key FROM {schema}.dead_letters
	WHERE holds_back AND discarded_at IS NULL AND lane = ANY ($1::smallint[])`

	removeSQL = `WITH ` + heldSQL + `, removed AS (
		DELETE FROM {schema}.events WHERE position = ANY ($3::bigint[]) AND EXISTS (SELECT FROM held)
	)
	SELECT pg_catalog.count(*) FROM held`

	// moved are the columns that an event keeps when it dies and when it is
	// requeued.
	moved = `position, recorded_at, ` + eventColumns

	burySQL = `WITH ` + heldSQL + `, removed AS (
		DELETE FROM {schema}.events WHERE position = $3 AND EXISTS (SELECT FROM held) RETURNING ` + moved + `
	), buried AS (
		INSERT INTO {schema}.dead_letters (` + moved + `, reason, attempts, died_at, holds_back)
		SELECT ` + moved + `, $4::pg_catalog.text, $5::bigint, pg_catalog.clock_timestamp(), $6::boolean FROM removed
	)
	SELECT pg_catalog.count(*) FROM held`

	lettersSQL = `SELECT ` + eventTexts + `, reason, attempts, died_at, holds_back, pg_catalog.pg_column_size(letter.*)
	FROM {schema}.dead_letters AS letter
	WHERE discarded_at IS NULL AND position > $1 ORDER BY position LIMIT $2`

	// raisedSQL tells the relays, see the table of requeues. Two operators wait
	// for each other here, and not for long.
	raisedSQL = `raised AS (
		UPDATE {schema}.requeues SET count = count + 1 WHERE EXISTS (SELECT FROM changed)
	)
	SELECT ordering_key FROM changed`

	requeueSQL = `WITH changed AS (
		DELETE FROM {schema}.dead_letters WHERE position = $1 AND discarded_at IS NULL RETURNING ` + moved + `
	), requeued AS (
		INSERT INTO {schema}.events (` + moved + `) OVERRIDING SYSTEM VALUE SELECT ` + moved + ` FROM changed
	), ` + raisedSQL

	discardSQL = `WITH changed AS (
		UPDATE {schema}.dead_letters SET discarded_at = pg_catalog.clock_timestamp(), discard_reason = $2
		WHERE position = $1 AND discarded_at IS NULL RETURNING ordering_key
	), ` + raisedSQL

	// lagFrom is the position after which to look: after $1, unless it is time
	// to look from the start or a dead letter was requeued since. It is the same
	// throughout the statement, so it bounds the index scan.
	lagFrom = `(CASE WHEN ` + lagFull + ` THEN 0 ELSE $1::bigint END)`
	lagFull = `(pg_catalog.now() >= $2 OR (SELECT count FROM {schema}.requeues) <> $3)`

	lagSQL = `SELECT pg_catalog.now(), pg_catalog.clock_timestamp(), ` + lagFull + `, (SELECT count FROM {schema}.requeues),
		coalesce(first.position - 1, (SELECT last_value FROM {schema}.events_position_seq)), first.recorded_at,
		(SELECT pg_catalog.count(*) FROM (SELECT FROM {schema}.events WHERE position > ` + lagFrom + ` ORDER BY position LIMIT $4) AS pending),
		(SELECT pg_catalog.count(*) FROM {schema}.dead_letters WHERE discarded_at IS NULL),
		(SELECT pg_catalog.count(DISTINCT ordering_key) FROM {schema}.dead_letters WHERE holds_back AND discarded_at IS NULL)
	FROM (SELECT) AS once LEFT JOIN LATERAL (
		SELECT position, recorded_at FROM {schema}.events WHERE position > ` + lagFrom + ` ORDER BY position LIMIT 1
	) AS first ON true`
)

func newTableStatements(schema string) *tableStatements {
	fill := func(sql string) string { return fillIn(sql, schema) }
	return &tableStatements{
		join: fill(joinSQL), renew: fill(renewSQL), expel: fill(expelSQL),
		take: fill(takeSQL), give: fill(giveSQL), leave: fill(leaveSQL),
		read: fill(readAfterSQL), readOf: fill(readOfSQL), readAt: fill(readAtSQL),
		heads: fill(headsSQL), heldBack: fill(heldBackSQL),
		remove: fill(removeSQL), bury: fill(burySQL),
		letters: fill(lettersSQL), requeue: fill(requeueSQL), discard: fill(discardSQL),
		lag: fill(lagSQL),
	}
}
