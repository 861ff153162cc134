package pgstore

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/settleonce/settleonce/internal/lanes"
	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/receipt"
)

// WithoutOrderingLocks returns the store without what keeps I8.
func WithoutOrderingLocks(s *Store) *Store {
	return &Store{config: s.config, sql: s.sql, withoutOrderingLocks: true}
}

// Lookups returns the statements that look receipts up, each with the
// arguments that are for key alone, over and over.
func Lookups(s *Store, key receipt.Key) map[string][]any {
	lookups := map[string][]any{}
	for beside := range receipt.MaxBeside + 1 {
		claim := receipt.Claim{Key: key, Beside: slices.Repeat([]receipt.Key{key}, beside)}
		read, arguments := s.sql.readOf(&claim)
		lookups[read] = arguments
	}
	for count := 1; count <= receipt.MaxBeside+2; count++ {
		history, arguments := s.sql.historyOf(slices.Repeat([]receipt.Key{key}, count))
		lookups[history] = arguments
	}
	return lookups
}

// KeyLock and OrderingLocks show the numbers that processes must agree on.
func KeyLock(schema string, key receipt.Key) int64 { return keyLock(schema, key) }

func OrderingLocks(schema string, events []event.Event) []int64 {
	return orderingLocks(schema, events)
}

const OrderingDomain = orderingDomain

func AdvisoryKey(domain, schema string, subject []byte) int64 {
	return advisoryKey(domain, schema, subject)
}

func Lane(orderingKey string) int16 { return lane(orderingKey) }

// RefuseTransactionControl and Deferrable show the scanner's judgements.
func RefuseTransactionControl(sql string, plainStrings bool) error {
	return refuseTransactionControl(sql, plainStrings)
}

func Deferrable(sql string, plainStrings bool) (string, error) {
	return deferrable(sql, plainStrings)
}

// CommitResult judges the answer to a COMMIT that came without an error.
func CommitResult(tag string, unreplicated bool) error {
	return (&flush{commitTag: tag}).commitResult(unreplicated)
}

// InsertEvents does in tx what a session's last flush does about events.
func InsertEvents(ctx context.Context, s *Store, tx pgx.Tx, attempt string, events []event.Event) error {
	var batch pgx.Batch
	session := &session{store: s, claim: receipt.Claim{Attempt: attempt}}
	if err := session.queueEvents(&batch, events); err != nil {
		return err
	}
	return tx.SendBatch(ctx, &batch).Close()
}

// Table returns the table of events of a schema, as relays use it.
func Table(pool *pgxpool.Pool, schema string) lanes.Table { return newTable(pool, schema) }

// TableStatement is one about events, with arguments as EXECUTE takes them.
type TableStatement struct{ SQL, Settings, Arguments string }

// TableStatements returns those that must go by the key.
func TableStatements(schema string) map[string]TableStatement {
	sql := newTableStatements(schema)
	_, settings := fleeting.texts()
	statements := make(map[string]TableStatement)
	for name, statement := range map[string][2]string{
		"Read":   {sql.read, "('\\x06', 1, 2, 10, 500)"},
		"ReadOf": {sql.readOf, "('\\x06', 1, 2, 10, 1000, '{a,b}', 500)"},
		"ReadAt": {sql.readAt, "('{1,2}')"},
		"Heads":  {sql.heads, "('\\x06', 1, 2, 10, 1000, 500)"},
		"Delete": {sql.remove, "(1, 1, '{1,2}')"},
		"Bury":   {sql.bury, "(1, 1, 1, 'no', 1, true)"},
		"Lag":    {sql.lag, "(10, now(), 0, 500)"},
	} {
		statements[name] = TableStatement{statement[0], settings, statement[1]}
	}
	return statements
}

// RaiseLagFloor has the next count begin after position, as if it had been clear
// up to there for long.
func RaiseLagFloor(e *Events, position int64) {
	e.table.floor.mu.Lock()
	defer e.table.floor.mu.Unlock()
	e.table.floor.start.position = position
}

// EndLagPause has the next count begin at the very start.
func EndLagPause(e *Events) {
	e.table.floor.mu.Lock()
	defer e.table.floor.mu.Unlock()
	e.table.floor.start.fullAt = time.Unix(1, 0)
}

// ForgetLagFloor has the next count be the first.
func ForgetLagFloor(e *Events) {
	e.table.floor.mu.Lock()
	defer e.table.floor.mu.Unlock()
	e.table.floor.start, e.table.floor.next, e.table.floor.nextAt = lagStart{}, 0, time.Time{}
}

// LagClear is up to where the first count found nothing pending.
func LagClear(e *Events) int64 {
	e.table.floor.mu.Lock()
	defer e.table.floor.mu.Unlock()
	return e.table.floor.next
}
