package pgstore

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"

	"github.com/settleonce/settleonce/outbox/event"
	"github.com/settleonce/settleonce/receipt"
)

// Domains keep the locks apart that share PostgreSQL's one space of advisory
// locks. Processes of different releases must agree on them: do not change.
const (
	keyDomain       = "settleonce/key/1"
	orderingDomain  = "settleonce/ordering/1"
	fenceDomain     = "settleonce/fence/1"
	migrationDomain = "settleonce/migration/1"
)

// advisoryKey returns 64 bits of the SHA-256 of domain, schema and subject,
// the first two with their lengths in front so that no two triples run
// together (I10). Two subjects that share the 64 bits wait for each other
// and are otherwise unharmed: the primary key tells them apart.
func advisoryKey(domain, schema string, subject []byte) int64 {
	framed := make([]byte, 0, 64+len(domain)+len(schema)+len(subject))
	for _, part := range []string{domain, schema} {
		framed = binary.AppendUvarint(framed, uint64(len(part)))
		framed = append(framed, part...)
	}
	framed = append(framed, subject...)
	sum := sha256.Sum256(framed)
	return int64(binary.BigEndian.Uint64(sum[:8])) //nolint:gosec // all 64 bits, whatever the sign
}

// keyLock is the lock that serialises all attempts on a key.
func keyLock(schema string, key receipt.Key) int64 {
	encoded, _ := key.AppendBinary(nil) // never fails
	return advisoryKey(keyDomain, schema, encoded)
}

// migrationLock serialises [Migrate].
func migrationLock(schema string) int64 {
	return advisoryKey(migrationDomain, schema, nil)
}

// orderingLocks returns the locks of the events' ordering keys, distinct and
// sorted, so that no two transactions take them in opposite orders (I8).
func orderingLocks(schema string, events []event.Event) []int64 {
	locks := make([]int64, len(events))
	for i := range events {
		locks[i] = advisoryKey(orderingDomain, schema, []byte(events[i].Ordering()))
	}
	slices.Sort(locks)
	return slices.Compact(locks)
}

// lane returns the lane of an ordering key. It is stored: do not change.
func lane(orderingKey string) int16 {
	return int16(sha256.Sum256([]byte(orderingKey))[0])
}
