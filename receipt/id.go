package receipt

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"time"
)

// NewID returns a new UUIDv7 (RFC 9562) in its text form: 48 bits of
// milliseconds, then 74 random bits. It is what keys should use for their id:
// two are never expected to be equal, on whatever machines, whatever their
// clocks say and after whatever loss of state. Ids made within one millisecond
// are in no particular order.
//
// Safe for concurrent use.
func NewID() string {
	var id [16]byte
	rand.Read(id[:])                            // never fails, see crypto/rand.Read
	return formatID(time.Now().UnixMilli(), id) //nolint:forbidigo // The time only sorts ids; no outcome depends on it.
}

// formatID puts the time and the marks of a UUIDv7 over random bits: RFC 9562,
// section 5.7.
func formatID(millis int64, id [16]byte) string {
	var clock [8]byte
	binary.BigEndian.PutUint64(clock[:], uint64(millis)) //nolint:gosec // The format has room for 48 bits of it.
	copy(id[:6], clock[2:])
	id[6] = id[6]&0x0f | 0x70 // version 7
	id[8] = id[8]&0x3f | 0x80 // variant of RFC 9562
	digits := hex.EncodeToString(id[:])
	return digits[:8] + "-" + digits[8:12] + "-" + digits[12:16] + "-" + digits[16:20] + "-" + digits[20:]
}
