package pgstore

import (
	"slices"

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
