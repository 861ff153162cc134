package receipt

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"time"
)

// NewID returns a new UUIDv7 (RFC 9562) in its text form: 48 bits of
// milliseconds, then 74 random bits. It is what keys should use for their id,
// since it is never given twice, on whatever machine and after whatever loss
// of state.
func NewID() string {
	var id [16]byte
	rand.Read(id[:]) // never fails, see crypto/rand.Read
	var millis [8]byte
	binary.BigEndian.PutUint64(millis[:], uint64(time.Now().UnixMilli()))
	copy(id[:6], millis[2:])
	id[6] = id[6]&0x0f | 0x70 // version 7
	id[8] = id[8]&0x3f | 0x80 // variant of RFC 9562
	digits := hex.EncodeToString(id[:])
	return digits[:8] + "-" + digits[8:12] + "-" + digits[12:16] + "-" + digits[16:20] + "-" + digits[20:]
}
