package pgstore_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// fillEventsSQL adds events past the store, in one statement, as the store would
// commit them: those numbered $1 to $2, without the latter. Number n is the
// (n / $3)th event of line n % $3, and has $4 bytes of data.
const fillEventsSQL = `
INSERT INTO settleonce.events (lane, ordering_key, partition_key, source, event_id, type, subject, event_time,
	data_schema, data_content_type, data, fingerprint, tenant, scope, operation, id, attempt, recorded_at)
SELECT get_byte(sha256(convert_to('tenant//line-' || n % $3, 'UTF8')), 0), 'tenant//line-' || n % $3, 'line-' || n % $3,
	'/test', n::text, 'match.settled', '', '', '', '', convert_to('"' || repeat('x', $4 - 2) || '"', 'UTF8'),
	'test/1:' || repeat('0f', 32), 'tenant', 'match', 'settle', n::text, '01890000-0000-7000-8000-000000000000', clock_timestamp()
FROM generate_series($1::bigint, $2::bigint - 1) n`

// fillEvents adds count events, the first of them numbered first.
func fillEvents(t testing.TB, pool *pgxpool.Pool, first, count, lines, bytes int) {
	t.Helper()
	if _, err := pool.Exec(t.Context(), fillEventsSQL, first, first+count, lines, bytes); err != nil {
		t.Fatal(err)
	}
}

// eventColumns are what a relay reads of an event.
const eventColumns = `position, lane, ordering_key, partition_key, source, event_id, type, subject, event_time,
	data_schema, data_content_type, data, fingerprint, extensions, tenant, scope, operation, id, recorded_at`

// scanEvent reads eventColumns and makes nothing of them but the position.
func scanEvent(rows pgx.Rows) (position int64, err error) {
	var (
		lane             int16
		texts            [14]string
		data, extensions []byte
		recordedAt       time.Time
	)
	return position, rows.Scan(&position, &lane, &texts[0], &texts[1], &texts[2], &texts[3], &texts[4], &texts[5], &texts[6],
		&texts[7], &texts[8], &data, &texts[9], &extensions, &texts[10], &texts[11], &texts[12], &texts[13], &recordedAt)
}

// evenShares holds where that many relays hold all lanes, none more than one
// above another.
func evenShares(relays int) string {
	return fmt.Sprintf(`(SELECT count(*) = %d AND max(held) - min(held) <= 1 AND sum(held) = 256 FROM
		(SELECT count(*) AS held FROM settleonce.lanes WHERE relay IS NOT NULL GROUP BY relay) AS shares)`, relays)
}
